"""Runs of every method, stopped in a step and while a checkpoint is written, end in the record of
a quiet run. Stops are exceptions, which is cheap; tests/workflow/test_dag_kills.py kills processes.
"""

import itertools

import pytest

from eowm import methods, records
from eowm.data import store
from eowm.settings.config import Config
from eowm.settings.options import known_methods
from eowm.training import checkpoint
from eowm.training import run as runs

pytestmark = pytest.mark.slow

EPOCHS = 3


class PowerCut(BaseException):
    """No `except Exception` may save anything."""


@pytest.fixture(autouse=True)
def _made_up_data(monkeypatch, arrays) -> None:
    def manifest(name, *_, **__) -> store.Manifest:
        return store.Manifest(name=name, source="standin", origin="test", sha256="0" * 64,
                              comparable=False, files={}, train=600, test=10_000)  # fmt: skip

    monkeypatch.setattr(store, "read_manifest", manifest)
    monkeypatch.setattr(store, "load", lambda name, *_, **__: (arrays(name), manifest(name)))
    monkeypatch.setattr(checkpoint, "WRITE_SHARE", 1e9)  # a checkpoint after every epoch


def lasting(record: records.Record) -> dict:
    return record.model_dump(mode="json", exclude={"timing", "environment"})


def stop_at(monkeypatch, owner, name: str, number: int) -> None:
    """The `number`-th call of `owner.name` is the last thing that happens."""
    calls, real = itertools.count(1), getattr(owner, name)

    def stopping(*args):
        if next(calls) == number:
            if name == "save":
                args[1].write(b"half of a checkpoint")
            raise PowerCut
        return real(*args)

    monkeypatch.setattr(owner, name, stopping)


@pytest.mark.parametrize("scenario", ["shuffled-mnist-3", "cifar10-2"])
@pytest.mark.parametrize("method", known_methods())
def test_a_run_stopped_anywhere_ends_in_the_same_record(
    config: Config, tmp_path, monkeypatch, method: str, scenario: str
) -> None:
    cell = config.cell(f"table2/{scenario}/{method}")
    settings = config.resolve(cell, 0, "smoke", {"epochs": EPOCHS})
    learner = methods.find(method)

    def go(name: str) -> records.Record:
        return runs.run(config, cell, settings, "smoke", tmp_path / f"{name}.json",
                        tmp_path / f"{name}.pt")  # fmt: skip

    expected = go("whole")
    stops = [(learner, "observe", 2), (checkpoint.torch, "save", 2), (checkpoint.os, "fsync", 1),
             (checkpoint.os, "replace", 1), (learner, "observe", 3)]  # fmt: skip
    for stop in stops:
        with monkeypatch.context() as patch:
            stop_at(patch, *stop)
            with pytest.raises(PowerCut):
                go("stopped")
    assert not (tmp_path / "stopped.json").exists()

    resumed = go("stopped")
    assert lasting(resumed) == lasting(expected)
    assert resumed.timing.interruptions > 0
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".pt", ".note")]
