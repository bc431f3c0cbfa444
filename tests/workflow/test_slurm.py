"""Smoke cells through a real Slurm: one job is cancelled, the node is lost once, all is finished.

Needs Slurm's daemons (Debian: munge slurmctld slurmd slurm-client); skipped where they are not.
"""

import json
import os
import signal
import subprocess
import sys

import pytest
import slurm
import yaml
from project import Project

from eowm.paths import CHECKOUT as ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(slurm.missing()),
        reason=f"Slurm is not installed ({', '.join(slurm.missing())}): see .ci/run",
    ),
]

SCENARIO, METHODS = "shuffled-mnist-3", ["finetune", "owm"]
PROFILE = {
    "default-resources": {"mem_mb": 500, "runtime": 5},
    "slurm-init-seconds-before-status-checks": 1,
    "seconds-between-status-checks": 1,
    "latency-wait": 10,
}


@pytest.fixture
def cluster(tmp_path_factory):
    """Sockets have short names, so the folder must have one, too."""
    made = slurm.Cluster(tmp_path_factory.mktemp("s"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def project(tmp_path) -> Project:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    smoke = config["presets"]["smoke"]
    smoke["families"]["shuffled-mnist"]["limits"] |= {"epochs": 30, "train_images": 4000}
    table = {"scenarios": [SCENARIO], "methods": METHODS, "references": []}
    made = Project(
        tmp_path, tables={"table2": table}, presets=config["presets"], preset="smoke",
        data={"source": "standin"}, jobs=config["jobs"] | {"costs": small(config)},
    )  # fmt: skip
    folder = made.folder / "profiles/here"
    folder.mkdir()
    shipped = yaml.safe_load((ROOT / "profiles/slurm-no-accounting/config.yaml").read_text())
    (folder / "config.yaml").write_text(yaml.safe_dump(shipped | PROFILE))
    return made


def small(config: dict) -> dict:
    """Fits two jobs on a small machine, one of them with its only GPU."""
    costs = config["jobs"]["costs"]
    return costs | {
        "mnist": {
            "default": {"images_per_second": 10000, "mem_mb": 700, "gpu": 0},
            "owm": {"images_per_second": 10000, "mem_mb": 700, "gpu": 1},
        }
    }


def test_cells_survive_a_cancelled_job_and_a_lost_node(cluster, project) -> None:
    fetched = project.eowm("data", "fetch", "mnist", "--source", "standin")
    assert fetched.returncode == 0, fetched.stdout
    log = project.folder / "snakemake.log"
    targets = [f"table2_{SCENARIO}_{method}" for method in METHODS]
    with log.open("w") as out:
        snakemake = subprocess.Popen(
            [sys.executable, "-m", "snakemake", *targets, "--workflow-profile", "profiles/here"],
            cwd=project.folder, env=project.environment() | slurm_environment(cluster, project),
            stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    try:
        trainers = hold_after_first_checkpoint(project)
        cancel_the_gpu_job(cluster, trainers["owm"])
        cluster.lose_node()
        cluster.start_node()
        assert snakemake.wait(900) == 0, log.read_text()
    finally:
        if snakemake.poll() is None:
            snakemake.kill()
            snakemake.wait()
    for method in METHODS:
        record = json.loads(project.record(f"table2/{SCENARIO}/{method}").read_text())
        assert record["status"] == "complete"
        assert record["timing"]["interruptions"] >= 1, f"{method} did not go on from a checkpoint"
    assert "Trying to restart" in log.read_text()


def slurm_environment(cluster, project) -> dict[str, str]:
    path = f"{cluster.folder / 'bin'}:{project.environment()['PATH']}:{slurm.SEARCHED}"
    return cluster.environment | {"PATH": path}


def hold_after_first_checkpoint(project) -> dict[str, int]:
    """Stop the trainers where a retry has something to go on from, however fast they are."""
    trainers: dict[str, int] = {}

    def all_are_held() -> bool:
        for method in set(METHODS) - trainers.keys():
            cell = f"table2/{SCENARIO}/{method}"
            if project.checkpoint(cell).exists():
                note = json.loads(project.record(cell).with_suffix(".note").read_text())
                os.kill(note["pid"], signal.SIGSTOP)
                trainers[method] = note["pid"]
        return len(trainers) == len(METHODS)

    slurm.wait_until(all_are_held, 600, f"only {list(trainers)} wrote checkpoints")
    return trainers


def cancel_the_gpu_job(cluster, trainer: int) -> None:
    """As its user would, or a time limit."""
    running = cluster.run("squeue", "-h", "-t", "running", "-O", "jobid,tres-per-job").splitlines()
    (on_gpu,) = [line.split()[0] for line in running if "gpu" in line]
    cluster.run("scancel", on_gpu)
    slurm.wait_until(lambda: not slurm.lives(trainer), 60, "Slurm does not end the job")
