"""The records in the repository: real runs at the budget they name, made by committed code."""

import statistics

import pytest

from eowm import records
from eowm.paths import CHECKOUT
from eowm.settings.cells import Cell

FIGURES = CHECKOUT / "paper_figures"
FOLDER = FIGURES / "paper/records"
BUDGETS = {"paper": "paper", "tenth": "reduced"}
FOUND = sorted(path for name in BUDGETS for path in (FIGURES / name).rglob("seed*.json"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: str(path.relative_to(FIGURES)))
def test_a_record_is_what_it_claims(path, config) -> None:
    record = records.read(path)
    run, preset = record.cell, path.relative_to(FIGURES).parts[0]
    cell = Cell(run.table, run.scenario, run.method, run.variant)  # also of no table
    assert run.preset == preset
    assert run.budget == BUDGETS[preset]
    assert record.data.comparable
    assert record.complete
    own = {"precision": record.settings.precision}
    assert record.settings == config.resolve(cell, run.seed, preset, own), "stale"
    assert not record.environment["commit"].endswith("+"), "made by uncommitted code"


def mean_aa(cell: str) -> float:
    found = [records.read(path) for path in sorted((FOLDER / cell).glob("seed*.json"))]
    if not found:
        pytest.skip(f"{cell} has not been run at the paper's budget")
    return statistics.mean(record.metrics["AA"] for record in found)


def test_owm_reaches_what_its_authors_report() -> None:
    """784-100-10, 10 tasks, rate 3, 35 epochs, α = 1: 95.2 % in OWM's README."""
    assert mean_aa("table2/shuffled-mnist-10/owm") == pytest.approx(0.952, abs=0.005)


def test_a_record_survives_writing_and_reading(tmp_path) -> None:
    record, path = records.read(FOUND[0]), tmp_path / "folder" / "seed0.json"
    records.write(record, path)
    assert records.read(path) == record
    assert [p.name for p in path.parent.iterdir()] == ["seed0.json"]
    assert '"accuracy": [\n  [0.' in path.read_text()  # a matrix looks like one
