"""kill -9 of a trainer, of Snakemake, and of both: what the next call finds, and the same record.

The tests of this file run in order and share one project folder.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml
from project import SMALL, Project

from eowm.paths import CHECKOUT as ROOT

pytestmark = pytest.mark.slow

CELL = "table2/shuffled-mnist-3/owm"
TARGET = "table2_shuffled-mnist-3_owm"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    presets = yaml.safe_load((ROOT / "config.yaml").read_text())["presets"]
    presets["smoke"]["families"]["shuffled-mnist"]["limits"]["epochs"] = 10
    return Project(
        tmp_path_factory.mktemp("project"), tables=SMALL, presets=presets, preset="smoke",
        data={"source": "standin"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def expected(project) -> dict:
    """The record of a run that nobody disturbs."""
    assert project.eowm("data", "fetch", "mnist").returncode == 0
    out = project.folder / "quiet.json"
    result = project.eowm("train", CELL, "--out", str(out), "--threads", "1")
    assert result.returncode == 0, result.stdout
    return lasting(out)


def lasting(path) -> dict:
    record = json.loads(path.read_text())
    return {k: v for k, v in record.items() if k not in ("timing", "environment")}


def interruptions(project) -> int:
    return json.loads(project.record(CELL).read_text())["timing"]["interruptions"]


def start(project, log) -> tuple[subprocess.Popen, int]:
    """Snakemake, and the trainer that it started, held after its first checkpoint."""
    project.record(CELL).unlink(missing_ok=True)
    with log.open("w") as out:
        snakemake = subprocess.Popen(
            [sys.executable, "-m", "snakemake", TARGET, "--cores", "1"], cwd=project.folder,
            env=project.environment(), stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    end = time.monotonic() + 600
    while not project.checkpoint(CELL).exists():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.01)
    trainer = json.loads(project.record(CELL).with_suffix(".note").read_text())["pid"]
    os.kill(trainer, signal.SIGSTOP)
    return snakemake, trainer


def test_a_killed_trainer_is_started_again_and_goes_on(project, expected, tmp_path) -> None:
    log = tmp_path / "log"
    snakemake, trainer = start(project, log)
    os.kill(trainer, signal.SIGKILL)
    assert snakemake.wait(600) == 0, log.read_text()
    assert "Trying to restart" in log.read_text()
    assert interruptions(project) == 1
    assert lasting(project.record(CELL)) == expected


def test_a_killed_snakemake_leaves_a_lock_and_a_trainer(project, expected, tmp_path) -> None:
    """The orphan is seen, named and waited for; its record is taken, not made a second time."""
    snakemake, trainer = start(project, tmp_path / "log")
    snakemake.kill()
    snakemake.wait()
    assert "running 0" in project.eowm("cells", CELL).stdout
    refused = project.eowm("forget", CELL)
    assert refused.returncode == 2
    assert f"process {trainer} on" in refused.stdout
    locked = project.make("replicate", "PRESET=smoke")
    assert locked.returncode != 0
    assert "run: make unlock" in locked.stdout
    assert project.make("unlock", "PRESET=smoke").returncode == 0

    log = project.folder / "results/smoke/logs" / CELL / "seed0.log"
    log.unlink()
    command = [sys.executable, "-m", "snakemake", TARGET, "--cores", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        command, cwd=project.folder, env=project.environment(), **quiet
    ) as second:
        end = time.monotonic() + 600
        while not (log.exists() and "waiting for it" in log.read_text()):
            assert time.monotonic() < end
            time.sleep(0.05)
        os.kill(trainer, signal.SIGCONT)
        assert second.wait(600) == 0
    assert f"process {trainer} on" in log.read_text()
    assert interruptions(project) == 0
    assert lasting(project.record(CELL)) == expected


def test_both_killed_and_the_newest_checkpoint_cut_off(project, expected, tmp_path) -> None:
    snakemake, trainer = start(project, tmp_path / "log")
    os.kill(trainer, signal.SIGCONT)
    previous = project.checkpoint(CELL).with_suffix(".previous.pt")
    while not previous.exists():
        time.sleep(0.005)
    os.killpg(snakemake.pid, signal.SIGKILL)
    os.kill(trainer, signal.SIGKILL)
    snakemake.wait()
    newest = project.checkpoint(CELL)
    newest.write_bytes(newest.read_bytes()[:1000])
    assert "ended without an error message" in project.eowm("cells", CELL).stdout
    assert project.make("unlock", "PRESET=smoke").returncode == 0
    result = project.run("snakemake", TARGET, "--cores", "1")
    assert result.returncode == 0, result.stdout
    log = project.folder / "results/smoke/logs" / CELL / "seed0.log"
    assert "resuming from the previous checkpoint" in log.read_text()
    assert interruptions(project) == 1
    assert lasting(project.record(CELL)) == expected
