"""One process a run: the second waits, a dead one blocks nobody, and a note says what happened."""

import os
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from eowm import records
from eowm.data import store
from eowm.errors import DataError
from eowm.jobs import holds
from eowm.training import run as runs

HOLD = """
import sys, time
from pathlib import Path
from eowm.jobs import holds
with holds.hold(Path(sys.argv[1]), Path(sys.argv[2]), print):
    print("holds", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def files(tmp_path):
    return tmp_path / "work/seed0.lock", tmp_path / "records/seed0.json"


@pytest.fixture
def other(files):
    """Another process that holds the run until it is told to end, or killed."""
    command = [sys.executable, "-c", HOLD, *map(str, files)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "holds\n"
        yield process
        process.kill()


def test_the_second_waits_and_says_for_whom(files, other) -> None:
    _, record = files
    assert holds.is_running(record)
    assert holds.failure(record) is None
    assert holds.holder(record).startswith(f"process {other.pid} on {os.uname().nodename}")
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        other.communicate("end\n")

    with holds.hold(*files, tell) as waited:
        assert waited
    assert told == [text for text in told if f"process {other.pid} on " in text] != []


def test_a_killed_process_blocks_nobody_and_is_seen(files, other) -> None:
    _, record = files
    other.kill()
    other.wait()
    assert not holds.is_running(record)
    assert "ended without an error message" in holds.failure(record)
    with holds.hold(*files, pytest.fail) as waited:
        assert not waited
    assert holds.failure(record) is None


@pytest.mark.parametrize(
    ("error", "words"),
    [(DataError("mnist is gone."), "mnist is gone."), (MemoryError(), "MemoryError")],
)
def test_a_failure_leaves_its_reason(files, error, words) -> None:
    _, record = files
    with pytest.raises(type(error)), holds.hold(*files, pytest.fail):
        raise error
    assert holds.failure(record).startswith(words)


def test_a_note_that_is_rubbish_is_no_news(files) -> None:
    _, record = files
    record.parent.mkdir()
    holds.note_path(record).write_text("[]")
    assert holds.failure(record) is None
    assert holds.holder(record) == "another process"


def test_what_another_process_finished_meanwhile_is_taken(
    config, files, tmp_path, monkeypatch
) -> None:
    """Trained once, not twice; but only if it is the same run."""
    cell = config.cell("table2/shuffled-mnist-3/owm")
    settings = config.resolve(cell, 0, "smoke")
    manifest = SimpleNamespace(sha256="1" * 64)
    found, trained = SimpleNamespace(settings_hash=settings.hash(), data=manifest), []
    monkeypatch.setattr(store, "read_manifest", lambda *_: manifest)
    monkeypatch.setattr(records, "read", lambda path: found)
    monkeypatch.setattr(records, "write", lambda *_: None)
    monkeypatch.setattr(runs, "train", lambda *_, **__: trained.append(1))
    monkeypatch.setattr(holds, "hold", lambda *_: nullcontext(True))  # it has waited
    arguments = (config, cell, settings, "smoke", files[1], tmp_path / "seed0.pt")
    assert runs.run(*arguments) is found
    found.settings_hash = "of other settings"
    runs.run(*arguments)
    assert trained == [1]
