"""Verdicts about the theorems follow from the numbers; the notebook shows them."""

import csv
import io
from dataclasses import replace

import pytest
from pages import external_references

import notebooks
from eowm import paths
from eowm.analysis import figures, theorem_figures
from eowm.theory import cost, figure1, projectors, theorems

IDS = [
    "theorem3", "equation10", "theorem4", "theorem5", "capacity", "order", "initial-beta",
    "figure1-similar", "figure1-dissimilar", "mean-weight",
]  # fmt: skip
COST = cost.Cost(
    batch=100,
    outputs=100,
    widths=(256, 512, 1024, 2048),
    published=(0.001, 0.008, 0.064, 0.512),
    ours=(0.001, 0.004, 0.016, 0.064),
    difference=1e-15,
    more_outputs=800,
    outputs_ratio=1.5,
)
RECURSION = projectors.theorem3(size=6, steps=4)
Q_RECURSION = projectors.q_recursions(size=6, steps=4)
RANKS = projectors.theorem5()
LEAKS = projectors.leaks()


@pytest.fixture(scope="module")
def cases():
    return [figure1.learn(similar) for similar in (True, False)]


def gained(*ranks):
    return [projectors.Rank(True, 0.9, 0.1, 30, 30 + gain, 50) for gain in ranks]


@pytest.mark.parametrize(
    ("finding", "status", "verdict"),
    [
        (theorems.theorem3(RECURSION), "holds", "confirmed"),
        (theorems.theorem3(replace(RECURSION, q_ort=1e-6)), "fails", "refuted"),
        (theorems.equation10(Q_RECURSION), "fails", "refuted as printed; right with the new Q_ort"),
        (theorems.equation10(replace(Q_RECURSION, old=0.0, new=0.2)), "holds",
         "confirmed as printed"),
        (theorems.theorem4(COST), "holds", "an upper bound, but not tight"),
        (theorems.theorem5(RANKS), "holds", "the bound holds, but EOWM gains no rank"),
        (theorems.theorem5(gained(51)), "fails",
         "the bound fails, and EOWM gains rank in 1 of 1 combinations"),
        (theorems.capacity(gained(0, 0)), "fails", "refuted: the rank is never larger"),
        (theorems.capacity(gained(1, 2)), "holds", "confirmed"),
        (theorems.capacity(gained(0, 2)), "undecided", "true for some combinations only"),
        (theorems.order(LEAKS), "fails", "true if P acts last, false for Eq. 8 taken literally"),
        (theorems.order([replace(leak, q_last=0.0) for leak in LEAKS]), "holds",
         "true in both orders"),
        (theorems.initial_beta(projectors.initial_beta(betas=(0.1, 1.0))), "fails",
         "refuted for small β: only the start I agrees with Eq. 4"),
        (theorems.initial_beta(projectors.initial_beta(betas=(1.0, 10.0))), "holds",
         "harmless in all settings tried"),
    ],
)  # fmt: skip
def test_verdicts_follow_the_numbers(finding, status, verdict):
    assert (finding.status, finding.verdict) == (status, verdict)


def test_theorem4_is_judged_by_operations_and_tells_no_time():
    slower = replace(COST, published=(9.0,) * 4, ours=(9.0,) * 4, outputs_ratio=9.0)
    assert theorems.theorem4(slower) == theorems.theorem4(COST)


def test_the_caption_of_figure1_is_judged_by_distances(cases):
    ends = [end for case in cases for end in figure1.ends(case)]
    assert [theorems.caption(ends, similar).status for similar in (True, False)] == ["fails"] * 2
    as_printed = [
        replace(end, to_b=0.1, to_ab=0.5) if end.method == "owm" else replace(end, to_ab=0.1)
        for end in ends
    ]
    assert theorems.caption(as_printed, True).status == "holds"
    assert theorems.mean_weight(cases).status == "fails"


def test_figure1_draws_walks_from_a_the_same_way_every_time(tmp_path, cases):
    panels = [figure1.landscape(case, points=5) for case in cases]
    for panel in theorem_figures.figure1(panels).axes:
        walks = [line for line in panel.lines if len(line.get_xdata()) > 1]
        assert len(walks) == 4  # SGD, OWM and two of EOWM
        assert all(abs(walk.get_xydata()[0]).max() < 1e-9 for walk in walks)
    files = [figures.save(theorem_figures.figure1(panels), tmp_path / name) for name in "ab"]
    first, second = ([path.read_bytes() for path in pair] for pair in files)
    assert first == second


def test_the_notebook_runs_and_reads_offline(tmp_path):
    notebooks.execute(
        paths.ROOT / "notebooks" / "theorems.ipynb",
        {"preset": "smoke", "out": tmp_path},
        tmp_path / "logs" / "theorems.ipynb",
        tmp_path / "theorems.html",
        log=io.StringIO(),
    )
    for name in ("figures/figure1", "figures/theorem4"):
        assert all((tmp_path / f"{name}.{kind}").stat().st_size for kind in ("pdf", "png"))
    with (tmp_path / "tables" / "theorems.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "claim", "measured", "verdict", "status"]
    assert [row["id"] for row in rows] == IDS
    page = (tmp_path / "theorems.html").read_text()
    assert external_references(page) == []
    assert "<script" not in page
    assert "<math" in page
    assert page.count("Verdict: ") == len(IDS)
