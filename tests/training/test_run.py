"""What a run says as it begins, and the budget that its record claims."""

import pytest

from eowm.data import store
from eowm.data.store import Manifest
from eowm.training import run

CELL = "table2/shuffled-mnist-3/finetune"
STANDIN = Manifest(name="mnist", source="standin", origin="test", sha256="0" * 64,
                   comparable=False, files={}, train=60_000, test=10_000)  # fmt: skip


@pytest.fixture
def train(config, arrays, monkeypatch):
    """`train(epochs=2)`: with the paper's budget otherwise, on few images."""
    monkeypatch.setattr(store, "load", lambda *_, **__: (arrays("mnist"), STANDIN))

    def start(quiet: bool = False, **changes):
        cell = config.cell(CELL)
        settings = config.resolve(cell, 0, "paper", changes)
        return run.train(config, cell, settings, "paper", device="cpu", quiet=quiet)

    return start


def test_a_run_with_set_is_never_of_the_papers_budget(train, capsys) -> None:
    record = train(epochs=2)
    assert record.cell.budget == "reduced"
    told = capsys.readouterr().err
    assert f"{CELL} seed 0: settings: net=mlp, hidden=[100]" in told
    assert "epochs=2, batch_size=100" in told
    assert f"{CELL} seed 0: budget: reduced; changed: epochs=2 instead of 30\n" in told


def test_a_run_as_planned_is_of_the_presets_budget(train, capsys) -> None:
    assert train().cell.budget == "paper"
    assert f"{CELL} seed 0: budget: paper\n" in capsys.readouterr().err


def test_a_quiet_run_says_nothing(train, capsys) -> None:
    train(quiet=True, epochs=1)
    assert capsys.readouterr().err == ""
