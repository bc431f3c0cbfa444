"""`make replicate OUT=folder`: a replication from zero in another file system, killed on its way
and continued, that leaves the clone as it was."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from project import SMALL, Project

from eowm.paths import CHECKOUT as ROOT

pytestmark = pytest.mark.slow

CELL = "table2/shuffled-mnist-3/owm"
MEMORY = Path("/dev/shm")  # noqa: S108 a file system of its own
EPOCHS = 60


@pytest.fixture
def clone(tmp_path) -> Project:
    presets = yaml.safe_load((ROOT / "config.yaml").read_text())["presets"]
    presets["smoke"]["families"]["shuffled-mnist"]["limits"]["epochs"] = EPOCHS
    return Project(
        tmp_path, tables=SMALL, presets=presets, preset="smoke", data={"source": "standin"}
    )


@pytest.fixture
def out():
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place, prefix="a folder ") as folder:
        yield Path(folder) / "replication"


def files(folder: Path) -> dict[str, int]:
    """But for compiled Python."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def make(clone: Project, *arguments: str) -> subprocess.Popen:
    stamp = clone.folder / "stamp"
    environment = clone.environment()
    environment.pop("EOWM_CACHE_DIR")
    command = ["make", f"VENV={sys.prefix}", f"STAMP={stamp}", "PRESET=smoke", *arguments]
    return subprocess.Popen(
        command, cwd=clone.folder, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_from_zero_in_another_file_system_killed_and_continued(clone, out) -> None:
    stamp = clone.folder / "stamp"
    stamp.touch()
    before = files(clone.folder)
    clone.pretend_theorems(root=out)

    first = make(clone, "replicate", f"OUT={out}")
    checkpoint = out / f"results/smoke/checkpoints/{CELL}/seed0.pt"
    end = time.monotonic() + 300
    while not checkpoint.exists():
        assert first.poll() is None, first.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    record = out / f"paper_figures/smoke/records/{CELL}/seed0.json"
    assert not record.exists()

    unlocked = make(clone, "unlock", f"OUT={out}")
    assert unlocked.communicate()[0] is not None
    assert unlocked.returncode == 0
    second = make(clone, "replicate", f"OUT={out}")
    told = second.communicate(timeout=600)[0]
    assert second.returncode == 0, told
    assert "3 of 3 runs of preset 'smoke' are done." in told
    assert json.loads(record.read_text())["timing"]["interruptions"] == 1
    made = files(out)
    for name in ("paper_figures/smoke/report/index.html", "paper_figures/smoke/tables/table2.md",
                 "results/smoke/runs.json", "data/mnist.pt"):  # fmt: skip
        assert name in made, name
    assert str(out / "paper_figures/smoke/report/index.html") in told
    assert files(clone.folder) == before
