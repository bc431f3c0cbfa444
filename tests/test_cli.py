"""The real command line on the smoke preset, and what it does when it is killed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eowm.paths import CHECKOUT as ROOT
from eowm.settings.cells import select

ARGUMENTS = ["train", "table2/shuffled-mnist-10/owm", "--preset", "smoke", "--set", "epochs=8"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    result = run(folder, "data", "fetch", "mnist", "--source", "standin")
    assert result.returncode == 0, result.stderr
    return folder


def environment(cache: Path) -> dict[str, str]:
    ours = {"EOWM_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return os.environ | ours


def run(cache: Path, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "eowm", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=environment(cache), capture_output=True, text=True, timeout=300
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
        place = ["--preset", "smoke", "--precision", out.stem, "--out", out]
        result = run(cache, "train", "other/shuffled-mnist-3/owm", *place)
        assert result.returncode == 0, result.stderr
        assert f"products in {out.stem}" in " ".join(run(cache, "show", out).stdout.split())
    plain, rounded = (json.loads(out.read_text()) for out in outs)
    assert plain["cell"]["table"] == "other"
    assert plain["settings_hash"] != rounded["settings_hash"]
    assert rounded["settings"] == plain["settings"] | {"precision": "bfloat16"}
    assert plain["curves"] != rounded["curves"]
    assert "float16" in run(cache, "train", "a", "--precision", "half").stderr


def test_a_run_with_changed_settings_takes_no_records_place(cache, tmp_path) -> None:
    for name in ("config.yaml", "Snakefile"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    result = run(cache, *ARGUMENTS[:-1], "epochs=1", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert not (tmp_path / "paper_figures").exists()
    (made,) = (tmp_path / "results/smoke/tried/table2/shuffled-mnist-10/owm").glob("seed0-*.json")
    assert json.loads(made.read_text())["settings"]["training"]["epochs"] == 1
    assert "settings changed on the command line" in run(cache, "show", made).stdout


def test_cells_lists_every_cell_with_its_command(cache, config) -> None:
    lines = run(cache, "cells", "--names").stdout.split()
    assert lines == [cell.name for cell in select(config, "quick", "")]
    shown = run(cache, "cells", "table2/cifar10-5/owm*").stdout
    assert "make cell CELL=table2/cifar10-5/owm PRESET=quick" in shown
    assert "cifar100" not in shown


def test_cells_and_show_need_no_torch_and_are_quick(cache) -> None:
    code = (
        "import sys\nfrom eowm import cli\nsys.argv = ['eowm', *{}]\n"
        "try: cli.main()\nexcept SystemExit: pass\nassert 'torch' not in sys.modules"
    )
    for arguments in (["cells"], ["show", "table2/shuffled-mnist-3/owm"]):
        command = [sys.executable, "-c", code.format([*arguments, "--preset", "paper"])]
        start = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, env=environment(cache), capture_output=True)
        assert done.returncode == 0, done.stderr
        assert b"table2/shuffled-mnist-3/owm" in done.stdout
        assert time.monotonic() - start < 5


def test_status_tells_what_is_done_and_what_is_left(cache) -> None:
    lines = run(cache, "cells", "--status", "--preset", "paper").stdout.splitlines()
    done, planned = zip(*(map(int, line.split()[1].split("/")) for line in lines[1:]), strict=True)
    assert sum(done[:-1]) == done[-1] > 0
    assert sum(planned[:-1]) == planned[-1]
    assert lines[-1].split()[0] == "all"


def test_a_sweep_reports_validation_accuracy_only(cache, tmp_path) -> None:
    out = tmp_path / "sweep.csv"
    result = run(cache, "sweep", "table2/shuffled-mnist-3/ewc", "strength", "0", "1e4", "--preset",
                 "smoke", "--out", out)  # fmt: skip
    assert result.returncode == 0, result.stderr
    lines = out.read_text().splitlines()
    assert lines[0].endswith("setting,value,seed,validation_accuracy")
    assert len(lines) == 3
    assert "test" not in out.read_text()
