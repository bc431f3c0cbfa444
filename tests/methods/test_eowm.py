"""EOWM: coefficients by hand, fast forms against explicit products, and each reading."""

import math

import pytest
import torch
from steps import batches, network

from eowm import nets
from eowm.methods.eowm.plain import PlainEOWM
from eowm.methods.owm import coefficients as rules
from eowm.training.loop import Loop
from eowm.training.progress import Reporter

NO_Q = {"coefficients": "constant", "w2": 0.0}


# --- coefficients ------------------------------------------------------------------------------


def test_published_coefficients_by_hand() -> None:
    """Values of the formulas as computed independently from their text."""
    assert rules.published_c1(0.0, 0.99, 0.0) == 1.0
    assert rules.published_c1(0.0, 0.99, 1.0) == pytest.approx(0.99)
    assert rules.published_c1(0.02, 0.99, 0.95) == pytest.approx(0.9907, abs=2e-4)
    assert rules.published_c1(0.95, 0.99, 99.83) == pytest.approx(0.537, abs=1e-3)
    c1 = rules.published_c1(0.5, 0.99, 1.0)
    hand = (0.5 + 0.99 * math.exp(0.5)) / (0.5 + math.exp(0.5))
    assert c1 == pytest.approx(hand)
    assert rules.published_c2(c1, 0.5, 5, similar=True) == pytest.approx((1 - hand) * (1 - 1.5**-5))
    assert rules.published_c2(c1, 0.5, 5, similar=False) == pytest.approx(
        (1 - hand) * (1 + 1.5**-5)
    )


@pytest.mark.parametrize(("tasks", "expected"), [(3, 0.0087), (10, 0.0100), (20, 0.0100)])
def test_the_slip_of_the_published_code_makes_c2_one_per_cent(tasks: int, expected: float) -> None:
    assert rules.published_c2(0.99, 0.95, tasks, similar=True) == pytest.approx(expected, abs=5e-5)


def test_raw_progress_runs_over_each_epoch_up_to_the_batch_size(resolve) -> None:
    settings = resolve("shuffled-mnist-3", "eowm:code-raw", epochs=30, batch_size=100)
    raw = rules.Coefficients(settings.typed_options(), settings)
    raw.similarity = 0.95
    last = (3 + 599 / 600) / 30  # the last batch of the fourth epoch
    assert raw.c1(3 / 30) == pytest.approx(1.0)
    assert raw.c1(last) == pytest.approx(rules.published_c1(0.95, 0.99, 99.8333), abs=1e-4)
    assert raw.c2(0.0, True) == raw.c2(last, True)


def test_similarity_of_shuffled_tasks_says_nothing_about_them(learner) -> None:
    """Mean pixels do not see a permutation: all pairs are alike, near 1."""
    _, stream, settings = learner("shuffled-mnist-3", "eowm")
    found = rules.Coefficients(settings.typed_options(), settings)
    assert found.similarity == 0.0
    values = []
    for i in range(3):
        found.begin_task(stream.task(i))
        values.append(found.similarity)
    assert values[0] == 0.0
    assert values[1] == pytest.approx(values[2], abs=0.02)
    assert values[1] > 0.9


# --- equality of forms --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [
        ("shuffled-mnist-3", {}),
        ("shuffled-mnist-3", {"norm_penalty": 0.0, "batch_size": 10}),
        ("cifar10-5", {"dropout": 0.0, "batch_size": 10, "learning_rate": 0.02}),
    ],
)
@pytest.mark.parametrize("w2", [None, 0.15])
def test_fast_eowm_equals_the_published_formulation(learner, scenario, overrides, w2) -> None:
    """Explicit P·Q and loops of rank-1 updates, with the published and with large coefficients."""
    if w2 is not None:
        overrides = overrides | {"coefficients": "constant", "w2": w2}
    method, stream, settings = learner(scenario, "eowm", **overrides)
    method.begin_task(stream.task(0))
    method.coefficients.similarity = 0.3
    plain = PlainEOWM(network(settings, stream), settings, method.coefficients, method._is_similar)
    steps = 20
    for i, (x, y) in enumerate(batches(stream, steps, settings.training.batch_size)):
        method.observe(x, y, i / steps)
        plain.step(x, y, i / steps)
    for name, layer in nets.layers(plain.net):
        scale = layer.weight.abs().max()
        assert (method.layers[name].weight - layer.weight).abs().max() / scale < 5e-4, name
        assert (method.weight_space[name].matrix - plain.q_ort[name]).abs().max() < 1e-4, name


@pytest.mark.parametrize("scenario", ["shuffled-mnist-3", "cifar10-5"])
@pytest.mark.parametrize("case", ["published", "labels"])
def test_without_q_every_batch_variant_is_owm(learner, scenario, case) -> None:
    """c1 = 1, c2 = 0 over a whole short run (method-spec §15: to 1e-6)."""
    shared = {"epochs": 2, "batch_size": 20, "learning_rate": 0.1}
    alpha = {"conv": [1, 0.01], "fc": [1, 1], "fc1": [1, 0.1], "fc2": [1, 0.5], "fc3": [1, 0.5]}
    nets_after = []
    for method, extra in (("owm", {}), ("eowm", NO_Q | {"case": case})):
        made, stream, settings = learner(scenario, method, **shared, alpha=alpha, **extra)
        reporter = Reporter("test", settings.tasks, 2, quiet=True)
        loop = Loop(made, stream, settings, reporter)
        matrix = loop.run().accuracy
        nets_after.append((loop.method.net, matrix))
    (owm, owm_matrix), (eowm, eowm_matrix) = nets_after
    for (name, first), (_, second) in zip(nets.layers(owm), nets.layers(eowm), strict=True):
        assert (first.weight - second.weight).abs().max() < 1e-6, name
    assert owm_matrix == eowm_matrix


# --- readings ---------------------------------------------------------------------------------


def test_which_projector_where(learner) -> None:
    """Paper, Training Details: conv P_ds and linear P_s on disjoint tasks, P_s on shuffled ones."""
    method, *_ = learner("cifar10-5", "eowm")
    assert [method._is_similar(n) for n in ("conv1", "conv3", "fc1", "fc3")] == [
        False, False, True, True,
    ]  # fmt: skip
    assert learner("shuffled-mnist-3", "eowm")[0]._is_similar("fc1")


@pytest.mark.parametrize(
    ("scenario", "similar"), [("shuffled-mnist-3", True), ("cifar10-5", False)]
)
def test_definition_5_compares_labels(learner, scenario, similar) -> None:
    method, stream, _ = learner(scenario, "eowm:paper")
    for i in range(2):
        method.begin_task(stream.task(i))
    assert method._is_similar("fc1") == similar


@pytest.mark.parametrize("variant", ["paper", "literal", "literal-q-last"])
def test_the_text_freezes_projectors_and_leaves_task_1_alone(learner, variant) -> None:
    method, stream, _ = learner("shuffled-mnist-3", f"eowm:{variant}", learning_rate=0.1)
    sgd, *_ = learner("shuffled-mnist-3", "finetune", learning_rate=0.1)
    for each in (method, sgd):
        each.begin_task(stream.task(0))
        for x, y in batches(stream, 5, 50):
            each.observe(x, y, 0.0)
    assert torch.allclose(method.net.fc1.weight, sgd.net.fc1.weight, atol=1e-6)
    assert torch.equal(method.input_space["fc1"].matrix, torch.eye(784, dtype=torch.float64))
    method.end_task(stream.task(0))
    frozen = method.input_space["fc1"].matrix
    assert not torch.equal(frozen, torch.eye(784, dtype=torch.float64))
    method.begin_task(stream.task(1))
    for x, y in batches(stream, 3, 50):
        method.observe(x, y, 0.0)
    assert torch.equal(method.input_space["fc1"].matrix, frozen)


def test_one_mean_a_task_leaves_all_but_one_direction_free(learner) -> None:
    """Why the literal text cannot give the table: n tasks protect n directions."""
    method, stream, _ = learner("shuffled-mnist-3", "eowm:literal", learning_rate=0.1)
    for i in range(2):
        method.begin_task(stream.task(i))
        method.end_task(stream.task(i))
    change = torch.eye(784, dtype=torch.float64) - method.input_space["fc1"].matrix
    assert torch.linalg.matrix_rank(change) == 2
    mean = stream.task(0).train.batch(slice(None))[0].flatten(1).double().mean(0)
    damped = method.input_space["fc1"].project(mean[None])
    assert damped.norm() / mean.norm() < 0.1


def test_order_of_multiplication_decides_what_is_protected(learner) -> None:
    """P last keeps old inputs safe; Eq. 8 taken literally leaks by c2."""
    leaks = {}
    for order in ("p-last", "q-last"):
        method, stream, _ = learner(
            "shuffled-mnist-3", "eowm", order=order, coefficients="constant", w2=0.1,
            alpha={"fc": [1e-9, 1e-9]}, norm_penalty=0.0,
        )  # fmt: skip
        method.begin_task(stream.task(0))
        x = stream.task(0).train.batch(slice(0, 5))[0].flatten(1)
        method.input_space["fc1"].update(x, 1e-9)
        method.weight_space["fc1"].update(torch.rand(3, 784) + 1, 1e-3)
        step = method.project("fc1", torch.randn(10, 784, dtype=torch.float64), 0.0)
        leaks[order] = ((step @ x.double().T).norm() / step.norm() / x.norm()).item()
    assert leaks["p-last"] < 1e-7
    assert leaks["q-last"] > 1e-4
