"""Intervals, paired differences and verdicts, by hand."""

import math

import pytest
from made_records import GRID, fill, make_record, matrix, runs_with, store
from scipy import stats

from eowm import paper
from eowm.analysis import collect, statistics, tables
from eowm.analysis.statistics import CLOSE, NOT_COMPARABLE, NOT_REPLICATED, REPLICATED, Paired
from eowm.analysis.summary import summarise
from eowm.settings.config import load_config

T_975 = {1: 12.7062, 2: 4.30265, 4: 2.77645}  # of printed tables, by degrees of freedom
CELL = "table2/cifar10-5/owm"


@pytest.fixture(scope="module")
def both():
    """The fixed grid with EOWM and its control."""
    grid = {"table2": GRID["table2"] | {"methods": ["owm", "eowm"], "references": ["owm:matched"]}}
    return load_config(overlay={"tables": grid})


@pytest.mark.parametrize("values", [(0.2, 0.4), (0.1, 0.2, 0.6), (0.5, 0.6, 0.7, 0.8, 0.4)])
def test_t_interval_by_hand(values):
    n, mean = len(values), sum(values) / len(values)
    half = T_975[n - 1] * math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)
    assert statistics.t_interval(values) == pytest.approx((mean - half, mean + half), abs=1e-5)


def test_paired_difference_by_hand():
    """0.01, 0.02, 0.03: mean 0.02, s = 0.01, half-width 4.30265 · 0.01/√3; t = 2√3 = 3.4641."""
    found = Paired("AA", (0, 1, 2), (0.01, 0.02, 0.03))
    assert found.mean == pytest.approx(0.02)
    assert found.interval[0] == pytest.approx(0.02 - 4.30265 * 0.01 / math.sqrt(3), abs=1e-6)
    t = 2 * math.sqrt(3)  # for two degrees of freedom P(|T| > t) = 1 − t/√(t² + 2)
    assert found.p == pytest.approx(1 - t / math.sqrt(t**2 + 2))
    assert found.sign == 0


@pytest.mark.parametrize(
    ("differences", "sign", "p"),
    [
        ((0.010, 0.011, 0.012), 1, None),
        ((-0.010, -0.011, -0.012), -1, None),
        ((0.02, 0.02), 1, 0.0),
        ((0.0, 0.0), 0, 1.0),
        ((0.02,), None, None),
        ((), None, None),
    ],
)
def test_sign_of_a_paired_difference(differences, sign, p):
    found = Paired("AA", tuple(range(len(differences))), differences)
    assert found.sign == sign
    if len(differences) != 3:
        assert found.p == p


@pytest.mark.parametrize("margin", [0.0005, 0.002, 0.01])
@pytest.mark.parametrize(
    "differences",
    [(-0.0005, -0.0011, -0.0006), (0.0001, 0.0003), (0.004, -0.001, 0.002, 0.003, -0.002)],
)
def test_equivalence_is_two_one_sided_tests(differences, margin):
    found = Paired("AA", tuple(range(len(differences))), differences)
    above = stats.ttest_1samp(differences, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(differences, margin, alternative="less").pvalue
    assert found.equivalence_p(margin) == pytest.approx(max(above, below))
    assert found.equivalent(margin) == (max(above, below) < 0.05)


@pytest.mark.parametrize(
    ("differences", "p", "equivalent"),
    [
        ((), None, None),
        ((0.0,), None, None),  # one pair decides nothing, however close
        ((0.001, 0.001), 0.0, True),
        ((0.002, 0.002), 1.0, False),  # the margin itself is not inside
        ((0.003, 0.003), 1.0, False),
    ],
)
def test_equivalence_without_spread_or_pairs(differences, p, equivalent):
    found = Paired("AA", tuple(range(len(differences))), differences, margin=0.002)
    assert found.equivalence_p() == p
    assert found.equivalent() is equivalent


def test_only_seeds_that_both_have_are_paired(tmp_path, both):
    accuracies = {("owm", 0): 0.5, ("owm", 1): 0.6, ("eowm", 1): 0.7, ("eowm", 2): 0.9}
    for (method, seed), accuracy in accuracies.items():
        name = f"table2/cifar10-5/{method}"
        store(make_record(both, name, seed, accuracy=matrix(5, accuracy, 0.0)), tmp_path)
    runs = collect.collect(both, "paper", tmp_path)
    found = statistics.paired(runs, "table2/cifar10-5/eowm", "table2/cifar10-5/owm", "AA")
    assert found.seeds == (1,)
    assert found.mean == pytest.approx(0.1)
    assert "one pair" in str(found)


def test_paired_table_has_the_papers_differences(tmp_path, both):
    runs = collect.collect(both, "paper", tmp_path)
    table = statistics.paired_table(runs, paper.table2())
    assert len(table) == 8 * 2 * 2
    gain = table[(table.second == "owm") & (table.metric == "AA")].set_index("scenario").paper
    assert gain["shuffled-mnist-10"] == 0.0058  # as the paper's text says
    assert table[table.second == "owm:matched"].paper.isna().all()
    assert not table.comparable.any()


@pytest.mark.parametrize(
    ("ours", "low", "high", "published", "comparable", "expected"),
    [
        (0.505, 0.504, 0.506, 0.500, True, REPLICATED),  # 0.005 away, outside the interval
        (0.515, 0.495, 0.535, 0.500, True, REPLICATED),  # inside the interval of ±0.02
        (0.515, 0.490, 0.540, 0.500, True, CLOSE),  # inside, but ±0.025 is too wide to count
        (0.515, 0.510, 0.520, 0.500, True, CLOSE),  # outside, but within 0.02
        (0.520, None, None, 0.500, True, CLOSE),  # one run, no interval
        (0.505, None, None, 0.500, True, REPLICATED),
        (0.521, None, None, 0.500, True, NOT_REPLICATED),
        (0.600, 0.400, 0.800, 0.500, True, NOT_COMPARABLE),  # far away, yet inside: too few runs
        (0.600, 0.590, 0.610, 0.500, True, NOT_REPLICATED),
        (0.500, 0.490, 0.510, 0.500, False, NOT_COMPARABLE),
        (None, None, None, 0.500, False, NOT_COMPARABLE),
    ],
)
def test_each_verdict(ours, low, high, published, comparable, expected):
    assert statistics.verdict(ours, low, high, published, comparable) == expected


def verdict_of(runs, config):
    summary = summarise(runs[runs.cell == CELL], config)
    return summary.set_index("metric").verdict["AA"]


def published(metric="AA"):
    table = paper.table2().set_index(["metric", "method", "scenario"]).value
    return float(table[metric, "owm", "cifar10-5"])


@pytest.mark.parametrize(
    ("off", "how", "expected"),
    [
        (0.004, {}, REPLICATED),
        (0.015, {}, CLOSE),
        (0.1, {}, NOT_REPLICATED),
        (0.0, {"source": "standin"}, NOT_COMPARABLE),
        (0.0, {"overrides": {"epochs": 1}}, NOT_COMPARABLE),  # stale
        (0.0, {"status": "failed: diverged"}, NOT_COMPARABLE),
        (0.0, {"preset": "tenth"}, ""),  # never beside the paper's number
    ],
)
def test_verdict_of_a_cell(tmp_path, config, off, how, expected):
    runs = runs_with(tmp_path, config, {CELL: [published() + off]}, **how)
    assert verdict_of(runs, config) == expected


def test_one_failed_seed_makes_a_cell_not_comparable(tmp_path, config):
    store(make_record(config, CELL, 2, status="failed: diverged"), tmp_path)
    runs = runs_with(tmp_path, config, {CELL: [published()] * 2})
    assert verdict_of(runs, config) == NOT_COMPARABLE


def test_a_row_that_the_paper_does_not_have_has_no_verdict(tmp_path, config):
    fill(tmp_path, config, "paper")
    summary = summarise(collect.collect(config, "paper", tmp_path), config)
    assert set(summary[summary.row == "joint"].verdict) == {""}
    assert set(summary[summary.metric == "BWT"].verdict) == {""}


# --- the joint ceiling ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "preset", "joint", "ours", "ours_above", "paper_above"),
    [
        ("cifar10-5", "paper", 0.51, 0.60, True, True),  # the paper's OWM: 0.5316
        ("cifar10-5", "paper", 0.52, 0.55, True, False),  # one run is a ceiling with a margin
        ("cifar10-5", "paper", 0.80, 0.60, False, False),
        ("cifar10-5", "tenth", 0.30, 0.60, True, False),  # a reduced ceiling judges ours only
        ("shuffled-mnist-3", "paper", 0.30, 0.60, False, False),  # no ceiling
    ],
)
def test_numbers_above_joint_training_are_flagged(
    tmp_path, config, scenario, preset, joint, ours, ours_above, paper_above
):
    cells = {f"table2/{scenario}/joint": [joint], f"table2/{scenario}/owm": [ours]}
    summary = summarise(runs_with(tmp_path, config, cells, preset), config)
    here = summary[(summary.scenario == scenario) & (summary.metric == "AA")].set_index("row")
    owm = here.loc["owm"]
    assert (owm.ours_above, owm.paper_above) == (ours_above, paper_above)
    assert ("j" in owm.marks, f"above joint ({joint:.4f})" in owm.note) == (ours_above, ours_above)
    assert math.isnan(owm.ceiling) if scenario.startswith("shuffled") else owm.ceiling == joint
    assert not here.loc["joint", "ours_above"]
    assert not summary[summary.metric == "MRR"].ours_above.any()
    legend = dict(tables.layout(summary, config).legend)
    assert ("j" in legend) == (ours_above or paper_above)
