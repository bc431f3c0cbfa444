"""Sentences, tables and figures about the theorems, and the notebook that shows them."""

import csv
import io
import re
from dataclasses import replace

import pytest
from matplotlib import colors
from pages import external_references

import notebooks
from eowm import paths
from eowm.analysis import figures, style
from eowm.theory import measure, theorems

IDS = [
    "theorem3", "equation10", "theorem4", "theorem5", "capacity", "order", "initial-beta",
    "figure1-similar", "figure1-dissimilar", "mean-weight",
]  # fmt: skip


@pytest.fixture(scope="module")
def cases():
    return [measure.learn(similar) for similar in (True, False)]


@pytest.fixture(scope="module")
def ends(cases):
    return [end for case in cases for end in measure.ends(case)]


@pytest.fixture(scope="module")
def figure1(cases):
    return theorems.figure1([measure.landscape(case, points=21) for case in cases])


COST = measure.Cost(
    batch=100,
    outputs=100,
    widths=(256, 512, 1024, 2048),
    published=(0.001, 0.008, 0.064, 0.512),
    ours=(0.001, 0.004, 0.016, 0.064),
    difference=1e-15,
    more_outputs=800,
    outputs_ratio=1.5,
)


# --- verdicts follow the numbers -------------------------------------------------------------


def test_theorem3_is_confirmed_only_by_rounding_errors():
    good = measure.theorem3(size=6, steps=4)
    assert theorems.theorem3(good).verdict == "confirmed"
    assert theorems.theorem3(replace(good, q_ort=1e-6)).verdict == "refuted"
    assert theorems.theorem3(good).status == "holds"
    assert theorems.theorem3(replace(good, q_ort=1e-6)).status == "fails"


@pytest.mark.parametrize(
    ("gains", "status"), [((0, 0), "fails"), ((1, 2), "holds"), ((0, 2), "undecided")]
)
def test_capacity_is_the_rank_beyond_owm(gains, status):
    ranks = [measure.Rank(True, 0.9, 0.1, 30, 30 + gain, 50) for gain in gains]
    assert theorems.capacity(ranks).status == status
    assert theorems.theorem5(ranks).status == "holds"
    assert theorems.theorem5([replace(ranks[0], eowm=51)]).status == "fails"


def test_the_wrong_q_recursion_is_never_called_right():
    measured = measure.q_recursions(size=6, steps=4)
    assert theorems.equation10(measured).verdict.startswith(
        "refuted as printed; right with the new"
    )
    assert "one task late" in theorems.equation10(measured).measured
    swapped = replace(measured, new=measured.old, old=measured.new)
    assert theorems.equation10(swapped).verdict == "confirmed as printed"
    assert theorems.equation10(replace(measured, new=0.2)).verdict == "neither form holds"


def test_theorem4_names_slopes_and_is_tight_only_if_neurons_multiply():
    finding = theorems.theorem4(COST)
    assert finding.verdict == "an upper bound, but not tight"
    assert "power 3.00 of the width" in finding.measured
    assert "8.0 times faster at width 2048" in finding.measured
    assert theorems.theorem4(replace(COST, outputs_ratio=7.9)).verdict == "confirmed"
    steep = replace(COST, published=(0.001, 0.016, 0.256, 4.096))
    assert theorems.theorem4(steep).verdict == "refuted"


def test_theorem5_counts_the_gains():
    ranks = measure.theorem5()
    assert theorems.theorem5(ranks).verdict == "the bound holds, but EOWM gains no rank"
    assert "10 of 10 combinations" in theorems.theorem5(ranks).measured
    gained = [replace(ranks[0], eowm=ranks[0].owm + 1), *ranks[1:]]
    assert "gains rank in 1 of 10" in theorems.theorem5(gained).verdict
    broken = [replace(ranks[0], eowm=ranks[0].bound + 1), *ranks[1:]]
    assert "the bound fails" in theorems.theorem5(broken).verdict


def test_the_order_of_p_and_q():
    leaks = measure.leaks()
    assert theorems.order(leaks).verdict == "true if P acts last, false for Eq. 8 taken literally"
    tight = [replace(leak, q_last=leak.p_last) for leak in leaks]
    assert theorems.order(tight).verdict == "true in both orders"
    assert theorems.order([replace(leak, p_last=0.1) for leak in leaks]).verdict == "false"


def test_ascent_is_named_with_its_settings():
    finding = theorems.initial_beta(measure.initial_beta(betas=(0.1, 1.0)))
    assert "in 1 of 6 settings (β = 0.1 with c2 = 0.15)" in finding.measured
    assert "in 1 (β = 0.1 with c2 = 0.1)" in finding.measured  # zero: learning stops
    assert finding.measured.endswith("exactly where β < c2.")
    harmless = theorems.initial_beta(measure.initial_beta(betas=(1.0, 10.0)))
    assert harmless.verdict == "harmless in all settings tried"


def test_the_caption_of_figure1_is_judged_by_distances(ends):
    for similar in (True, False):
        finding = theorems.caption(ends, similar)
        assert finding.verdict == (
            "not reproduced: OWM ends nearer to the joint optimum than to B's, and EOWM gets no "
            "nearer to the joint one than OWM"
        )
    as_printed = [
        replace(end, to_b=0.1, to_ab=0.5) if end.method == "owm" else replace(end, to_ab=0.1)
        for end in ends
    ]
    assert theorems.caption(as_printed, True).verdict == (
        "confirmed: OWM ends nearer to B's optimum than to the joint one, and EOWM gets nearer to "
        "the joint one for c2 = 0.1, 0.9 than OWM"
    )


def test_findings_are_written_as_rows(tmp_path, cases):
    findings = [theorems.mean_weight(cases), theorems.order(measure.leaks())]
    path = theorems.write(findings, tmp_path / "tables" / "theorems.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "claim", "measured", "verdict", "status"]
    assert [row["id"] for row in rows] == ["mean-weight", "order"]
    assert rows[0]["verdict"] == "refuted for softmax output layers"
    assert theorems.summary(findings).endswith(f"{findings[1].claim} → **{findings[1].verdict}.**")


# --- figures ---------------------------------------------------------------------------------


def test_figure1_has_its_parts(figure1):
    a, b = figure1.axes
    assert a.get_title(loc="left") == "(a) similar tasks: shared labels"
    assert b.get_title(loc="left") == "(b) dissimilar tasks: disjoint labels"
    assert figure1.get_figwidth() == figures.COLUMN_WIDTH
    legend = [text.get_text() for text in figure1.legends[0].get_texts()]
    assert legend == [
        "SGD", "OWM", "EOWM, $c_2$ = 0.1", "EOWM, $c_2$ = 0.9", "loss of A", "loss of B",
        "low loss of A and B",
    ]  # fmt: skip
    for panel in (a, b):
        texts = [text.get_text() for text in panel.texts]
        assert texts[:3] == ["$W^*_{A}$", "$W^*_{B}$", "$W^*_{AB}$"]
        assert re.fullmatch(r"out of this plane: ≤ \d+ % at the ends, ≤ \d+ % before", texts[3])
        assert panel.get_aspect() == 1


def test_figure1_draws_walks_from_a_over_two_kinds_of_contours(figure1):
    for panel in figure1.axes:
        walks = [line for line in panel.lines if len(line.get_xdata()) > 1]
        assert [line.get_color() for line in walks[1:]] == [
            style.LOOKS[method][0] for method in ("owm", "eowm", "eowm")
        ]
        for walk in walks:
            assert abs(walk.get_xdata()[0]) + abs(walk.get_ydata()[0]) < 1e-9
        contours = [c for c in panel.collections if len(c.get_edgecolor())]
        looks = {(colors.to_hex(c.get_edgecolor()[0]).upper(), c.get_linestyle()[0][1] is None)
                 for c in contours}  # fmt: skip
        assert looks == {(theorems.AREAS["A"], False), (theorems.AREAS["B"], True)}


def test_figure1_can_fill_a_text_width(cases):
    wide = theorems.figure1([measure.landscape(case, points=5) for case in cases], columns=2)
    assert wide.get_figwidth() == figures.TEXT_WIDTH


def test_the_cost_figure_is_log_log_and_names_the_slopes():
    figure = theorems.cost_figure(COST)
    (panel,) = figure.axes
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [label[-12:] for label in labels] == ["(slope 3.00)", "(slope 2.00)"]
    assert [text.get_text() for text in panel.get_xticklabels()] == ["256", "512", "1024", "2048"]


def test_the_same_numbers_give_the_same_bytes(tmp_path, cases):
    panels = [measure.landscape(case, points=5) for case in cases]
    files = [figures.save(theorems.figure1(panels), tmp_path / name) for name in "ab"]
    first, second = ([path.read_bytes() for path in pair] for pair in files)
    assert first == second


# --- the notebook ----------------------------------------------------------------------------


def test_the_notebook_runs_and_reads_offline(tmp_path):
    log = io.StringIO()
    notebooks.execute(
        paths.ROOT / "notebooks" / "theorems.ipynb",
        {"preset": "smoke", "out": tmp_path},
        tmp_path / "logs" / "theorems.ipynb",
        tmp_path / "theorems.html",
        log=log,
    )
    for name in ("figures/figure1", "figures/theorem4"):
        assert all((tmp_path / f"{name}.{kind}").stat().st_size for kind in ("pdf", "png"))
    with (tmp_path / "tables" / "theorems.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == IDS
    page = (tmp_path / "theorems.html").read_text()
    assert external_references(page) == []
    assert "<script" not in page
    assert "<math" in page
    assert "$$" not in page
    assert page.count("Verdict: ") == len(IDS)
    assert "tables/theorems.csv" in log.getvalue()
