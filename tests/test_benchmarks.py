"""The benchmarks measure what they say: forms that are set against each other agree, goals are
judged right, and the committed table is that of the committed figures."""

import json
import math

import baselines
import cnn
import common
import growth
import loop
import projection
import pytest
import quick
import report
import torch
from common import Effort, Row

pytestmark = pytest.mark.slow

TINY = Effort(threads=1, repeats=1, small=True)


@pytest.fixture(scope="module")
def results() -> dict:
    return json.loads(report.RESULTS.read_text())


# --- rows and goals -------------------------------------------------------------------------------


def test_a_goal_is_met_missed_or_absent() -> None:
    for value, sign, met in [(3.9, "≤", True), (4.1, "≤", False), (4.0, "≥", True),
                             (3.9, "≥", False), (None, "≥", None)]:  # fmt: skip
        assert Row("a", "b", "c", value, sign=sign, limit=4.0).met is met
    assert Row("a", "b", "c", 3.9).met is None


def test_a_figure_is_the_median_of_rounds_that_took_turns() -> None:
    order: list[str] = []
    steps = {name: lambda name=name: order.append(name) for name in "ab"}
    rounds = common.interleaved(steps, 2, {"a": 2})
    assert "".join(order) == "ab" + "aab" + "aab"  # the first round warms up
    assert len(rounds) == 2
    told = [{"a": 2.0, "b": 1.0}, {"a": 9.0, "b": 3.0}, {"a": 100.0, "b": 1.0}]
    assert common.figure(told, lambda s: s["a"] / s["b"])["value"] == 3.0


def test_a_tiny_run_gives_rows_of_the_right_form() -> None:
    found = [
        *projection.network_rows("shuffled-mnist-3", TINY),
        *cnn.network_rows("cifar10-5", "CIFAR-10", TINY),
        *baselines.rows(TINY),
        growth.by_tasks("owm", (1, 2), TINY),
        growth.by_tasks("ogd", (1, 2), TINY),
        growth.by_width("eowm", (10, 20), TINY),
        next(loop.rows(TINY)),
    ]
    assert len({row.name for row in found}) == len(found)
    for row in found:
        assert math.isfinite(row.value)
        assert all((row.what, row.against, row.detail))
        assert (row.limit is None) == (row.sign == "")
        assert json.dumps(row.as_dict())


# --- forms that are compared agree ----------------------------------------------------------------


def test_ogd_off_explicit_vectors_is_ours() -> None:
    method = baselines.ogd_after("shuffled-mnist-10", 2, TINY)
    gradients = baselines.batch_gradients(
        method, *common.random_task("mnist").train.batch(slice(10))
    )
    inputs = {name: (tap.x, tap.delta) for name, tap in method.taps.items()}
    ours = torch.cat([g.flatten() for g in method.span.project(inputs, gradients).values()])
    whole = torch.cat([g.flatten() for g in gradients.values()])
    plain = baselines.project_off(baselines.explicit_basis(method), whole)
    assert (whole - plain).norm() > 0.01 * whole.norm()  # something is projected off
    torch.testing.assert_close(ours, plain, rtol=1e-3, atol=1e-4 * float(whole.abs().max()))


def test_mir_scores_of_a_copied_network_are_ours() -> None:
    method, slots = baselines.mir_with_memory()
    ours, plain = baselines.scores(method, slots), baselines.plain_scores(method, slots)
    torch.testing.assert_close(ours, plain, rtol=1e-3, atol=1e-5)


def test_variants_of_the_cnn_step_are_the_same_function() -> None:
    """Without dropout all are equal; with it, all that draw the same mask."""
    settings = common.resolve("finetune", "cifar10-5", filters=(4, 4, 4), hidden=(20,))
    net = common.learner(settings).net.train()
    x, _ = common.batch(settings)

    def outputs(name: str, rate: float) -> torch.Tensor:
        net.dropout = rate
        torch.manual_seed(0)
        return cnn.forward(cnn.LADDER[name])(net, x)[0].detach()

    for name in cnn.LADDER:
        torch.testing.assert_close(outputs(name, 0.0), outputs("textbook", 0.0))
    for name in ("pooling before ReLU", "channels last", "mask in place"):
        torch.testing.assert_close(outputs(name, 0.2), outputs("cheap dropout masks", 0.2))


def test_network_arithmetic_is_counted_right() -> None:
    settings = common.resolve("finetune", "shuffled-mnist-3")
    x, _ = common.batch(settings)
    found = common.network_flops(common.learner(settings).net, x)
    first, second = 2 * len(x) * 784 * 100, 2 * len(x) * 100 * 10
    assert found == 2 * first + 3 * second


# --- committed files ------------------------------------------------------------------------------


def test_the_committed_table_is_that_of_the_committed_figures(results) -> None:
    assert report.RESULTS.with_suffix(".md").read_text() == report.markdown(
        results, report.earlier()
    )


def test_what_is_missed_or_not_measured_says_why(results) -> None:
    for row in results["rows"]:
        assert row["met"] == Row(**{key: row[key] for key in Row.__annotations__}).met
        if row["met"] is False or row["value"] is None:
            assert row["reason"], row["name"]


def test_quick_divides_wall_time_by_training(tmp_path) -> None:
    for seed, seconds in enumerate((30.0, 50.0)):
        timing = {"timing": {"train_seconds": seconds - 10, "eval_seconds": 10.0}}
        (tmp_path / f"seed{seed}.json").write_text(json.dumps(timing))
    row = quick.row(tmp_path, "quick", wall=60.0, cores=2)
    assert (row.value, row.met) == (1.5, True)
