"""Runs of every method, stopped at random points: the record must be that of a quiet run.

Most stops are exceptions at a random step or in the middle of writing a checkpoint, which is
cheap; tests/test_cli.py and tests/workflow/test_kills.py kill real processes.
"""

import functools
import itertools
import json
import random

import pytest

from eowm import methods, records
from eowm.data import store
from eowm.settings.config import Config
from eowm.settings.options import known_methods
from eowm.training import checkpoint
from eowm.training import run as runs

pytestmark = pytest.mark.slow

EPOCHS = 3
WRITING = ["torch.save", "os.fsync", "os.replace"]  # where a checkpoint is half written


class PowerCut(BaseException):
    """No `except Exception` may save anything."""


@pytest.fixture(scope="module")
def made_up(arrays):
    return functools.cache(arrays)


@pytest.fixture(autouse=True)
def _made_up_data(monkeypatch, made_up) -> None:
    def manifest(name, *_, **__) -> store.Manifest:
        return store.Manifest(name=name, source="standin", origin="test", sha256="0" * 64,
                              comparable=False, files={}, train=600, test=10_000)  # fmt: skip

    monkeypatch.setattr(store, "read_manifest", manifest)
    monkeypatch.setattr(store, "load", lambda name, *_, **__: (made_up(name), manifest(name)))
    monkeypatch.setattr(checkpoint, "WRITE_SHARE", 1e9)  # a checkpoint after every epoch


def lasting(record: records.Record) -> str:
    content = json.loads(record.model_dump_json())
    return json.dumps({k: v for k, v in content.items() if k not in ("timing", "environment")})


def stop_at(monkeypatch, owner, name: str, number: int) -> None:
    """The `number`-th call of `owner.name` is the last thing that happens."""
    calls, real = itertools.count(1), getattr(owner, name)

    def stopping(*args, **kwargs):
        if next(calls) == number:
            raise PowerCut
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, stopping)


def stop_while_writing(monkeypatch, where: str, number: int) -> None:
    """In the `number`-th checkpoint; half of the file is there where torch writes it."""
    if where == "torch.save":
        calls, real = itertools.count(1), checkpoint.torch.save

        def half(content, file):
            if next(calls) == number:
                file.write(b"half of")
                raise PowerCut
            real(content, file)

        monkeypatch.setattr(checkpoint.torch, "save", half)
    else:
        stop_at(monkeypatch, checkpoint.os, where.removeprefix("os."), number)


def parts(steps: int) -> list[tuple[int, int]]:
    """Where to stop, counted from the last start: each stop comes before the end of the run, and
    the second one after an epoch at least."""
    return [(1, steps // 2), (steps // 3 + 1, steps // 2), (1, steps // 9)]


@pytest.mark.parametrize("scenario", ["shuffled-mnist-3", "cifar10-2"])
@pytest.mark.parametrize("method", known_methods())
def test_a_run_stopped_anywhere_ends_in_the_same_record(
    config: Config, tmp_path, monkeypatch, method: str, scenario: str
) -> None:
    dice = random.Random(f"{method} {scenario}")  # noqa: S311
    cell = config.cell(f"table2/{scenario}/{method}")
    settings = config.resolve(cell, 0, "smoke", {"epochs": EPOCHS})
    learner = methods.find(method)
    calls, observe = itertools.count(), learner.observe

    def go(name: str) -> records.Record:
        return runs.run(config, cell, settings, "smoke", tmp_path / f"{name}.json",
                        tmp_path / f"{name}.pt")  # fmt: skip

    with monkeypatch.context() as patch:
        patch.setattr(learner, "observe", lambda *args: (next(calls), observe(*args))[1])
        expected = go("whole")
    steps = next(calls)
    for first, last in parts(steps):
        with monkeypatch.context() as patch:
            stop_at(patch, learner, "observe", dice.randint(first, last))
            with pytest.raises(PowerCut):
                go("stopped")
    with monkeypatch.context() as patch:
        stop_while_writing(patch, dice.choice(WRITING), 1)
        with pytest.raises(PowerCut):
            go("stopped")
    assert not (tmp_path / "stopped.json").exists()

    resumed = go("stopped")
    assert lasting(resumed) == lasting(expected)
    assert resumed.timing.interruptions > 0
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".pt", ".note")]
