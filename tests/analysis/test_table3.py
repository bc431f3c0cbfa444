"""Table 3: its rows are variants of EOWM, and its cells are named by w2 alone."""

import pytest
from conftest import make_record, store

from eowm import paper
from eowm.analysis import collect, tables
from eowm.analysis.summary import summarise
from eowm.settings.config import load_config

NAME = "table3/shuffled-mnist-2/eowm:w2-0.10"


@pytest.fixture(scope="module")
def whole():
    return load_config()


def test_cells_are_named_by_w2(whole) -> None:
    cell = whole.cell(NAME)
    assert (cell.name, cell.row, cell.rule) == (
        NAME, "eowm:w2-0.10", "table3_shuffled-mnist-2_eowm_w2-0.10",
    )  # fmt: skip
    assert whole.seeds(cell, "paper") == (0, 1, 2, 3, 4)
    assert whole.resolve(cell, 0, "paper").options["w2"] == 0.10


def test_our_mean_stands_beside_the_papers_value(whole, tmp_path) -> None:
    for seed, start in enumerate([0.90, 0.92]):
        matrix = [[start, 0.0], [start, start]]
        store(make_record(whole, NAME, seed, "paper", matrix), tmp_path)
    summary = summarise(collect.collect(whole, "paper", tmp_path), whole)
    line = summary[(summary.table == "table3") & (summary.metric == "AA")
                   & (summary.row == "eowm:w2-0.10") & (summary.n > 0)].iloc[0]  # fmt: skip
    assert line["mean"] == pytest.approx(0.91)
    published = paper.table3()
    value = published[(published.metric == "AA") & (published.w2 == 0.10)
                      & (published.scenario == "shuffled-mnist-2")].value.item()  # fmt: skip
    assert line.paper == value
    text = tables.to_markdown(tables.layout(summary, whole, "table3"))
    assert "w2 = 0 (OWM)" in text
    assert f"{value:.4f}" in text
