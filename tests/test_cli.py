"""The real command line on the smoke preset, and what it does when it is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eowm.paths import CHECKOUT as ROOT

ARGUMENTS = ["train", "shuffled-mnist-10", "owm", "--preset", "smoke", "--set", "epochs=8"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    result = run(folder, "data", "fetch", "mnist", "--source", "standin")
    assert result.returncode == 0, result.stderr
    return folder


def environment(cache: Path) -> dict[str, str]:
    return os.environ | {"EOWM_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}


def run(cache: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "eowm", *map(str, arguments)],
        cwd=ROOT,
        env=environment(cache),
        capture_output=True,
        text=True,
        timeout=300,
    )


def lasting(path: Path) -> dict:
    """A record without what may differ between two equal runs."""
    record = json.loads(path.read_text())
    record.pop("timing")
    record.pop("environment")
    return record


def test_train_show_and_repeat(cache, tmp_path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for out in (first, second):
        result = run(cache, *ARGUMENTS, "--out", out, "--checkpoint", tmp_path / "c.pt")
        assert result.returncode == 0, result.stderr
        assert "AA" in result.stdout
    assert lasting(first) == lasting(second)
    assert not (tmp_path / "c.pt").exists()  # a finished run leaves no checkpoint
    shown = run(cache, "show", first).stdout
    assert "stand-in data" in shown
    assert "MRR" in shown


def test_rounded_products_are_in_the_record(cache, tmp_path) -> None:
    outs = [tmp_path / f"{precision}.json" for precision in ("float32", "bfloat16")]
    for out in outs:
        place = ["--table", "other", "--precision", out.stem, "--out", out]
        result = run(cache, "train", "shuffled-mnist-3", "owm", "--preset", "smoke", *place)
        assert result.returncode == 0, result.stderr
        assert f"products in {out.stem}" in " ".join(run(cache, "show", out).stdout.split())
    plain, rounded = (json.loads(out.read_text()) for out in outs)
    assert plain["cell"]["table"] == "other"
    assert plain["settings_hash"] != rounded["settings_hash"]
    assert rounded["settings"] == plain["settings"] | {"precision": "bfloat16"}
    assert plain["curves"] != rounded["curves"]
    assert "float16" in run(cache, "train", "a", "b", "--precision", "half").stderr


def test_kill_9_and_restart_gives_the_same_record(cache, tmp_path) -> None:
    whole, resumed = tmp_path / "whole.json", tmp_path / "resumed.json"
    assert run(cache, *ARGUMENTS, "--out", whole, "--checkpoint", tmp_path / "a.pt").returncode == 0

    checkpoint, kills = tmp_path / "b.pt", 0
    command = [sys.executable, "-m", "eowm", *ARGUMENTS, "--out", str(resumed)]
    command += ["--checkpoint", str(checkpoint)]
    for _ in range(3):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, cwd=ROOT, env=environment(cache), **quiet)
        while process.poll() is None:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns > before:
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.002)
        process.wait()
        assert not resumed.exists()
    result = run(cache, *ARGUMENTS, "--out", resumed, "--checkpoint", checkpoint)
    assert result.returncode == 0
    assert "resuming from a checkpoint" in result.stderr
    assert kills == 3
    assert json.loads(resumed.read_text())["timing"]["interruptions"] == 3
    assert lasting(whole) == lasting(resumed)


def test_a_run_with_changed_settings_takes_no_records_place(cache, tmp_path) -> None:
    for name in ("config.yaml", "Snakefile"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    result = subprocess.run(
        [sys.executable, "-m", "eowm", *ARGUMENTS[:-1], "epochs=1"],
        cwd=tmp_path,
        env=environment(cache),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert not (tmp_path / "paper_figures").exists()
    (made,) = (tmp_path / "results/smoke/tried/table2/shuffled-mnist-10/owm").glob("seed0-*.json")
    assert json.loads(made.read_text())["settings"]["training"]["epochs"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "cifar10-5", "own"], ["own", "did you mean 'owm'"]),
        (["train", "cifar10-6", "owm"], ["cifar10-6", "did you mean"]),
        (["train", "cifar10-5", "owm", "--preset", "fast"], ["fast", "quick"]),
        (["train", "cifar10-5", "owm", "--set", "epcohs=3"], ["epcohs", "did you mean 'epochs'"]),
        (["train", "cifar10-5", "owm", "--set", "epochs"], ["key=value"]),
        (["train", "cifar10-5", "owm", "--set", "epochs=-3"], ["epochs", "greater than 0"]),
        (["show", "nothing.json"], ["nothing.json", "does not exist"]),
        (["data", "fetch", "imagenet"], ["imagenet"]),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(cache, arguments, words) -> None:
    result = run(cache, *arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr


def test_help_lists_the_commands(cache) -> None:
    text = run(cache, "--help").stdout
    for command in ["cells", "data", "train", "show", "collect", "outputs", "schema"]:
        assert command in text


def test_cells_lists_every_cell_with_its_command(cache, config) -> None:
    lines = run(cache, "cells", "--names").stdout.split()
    assert lines == [cell.name for cell in config.cells("quick")]
    assert "make cell CELL=table2/cifar10-5/owm PRESET=quick" in run(cache, "cells").stdout


def test_status_tells_what_is_done_and_what_is_left(cache) -> None:
    lines = run(cache, "cells", "--status", "--preset", "paper").stdout.splitlines()
    done, planned = zip(*(map(int, line.split()[1].split("/")) for line in lines[1:]), strict=True)
    assert sum(done[:-1]) == done[-1] > 0
    assert sum(planned[:-1]) == planned[-1]
    assert lines[-1].split()[0] == "all"


def test_a_sweep_reports_validation_accuracy_only(cache, tmp_path) -> None:
    out = tmp_path / "sweep.csv"
    result = run(cache, "sweep", "shuffled-mnist-3", "ewc", "strength", "0", "1e4", "--preset",
                 "smoke", "--out", out)  # fmt: skip
    assert result.returncode == 0, result.stderr
    lines = out.read_text().splitlines()
    assert lines[0].endswith("setting,value,seed,validation_accuracy")
    assert len(lines) == 3
    assert "test" not in out.read_text()
