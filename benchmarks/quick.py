"""The whole preset `quick`, from nothing to the report, against its training alone.

    python benchmarks/quick.py      # some minutes; leave the machine alone meanwhile

The committed files are cloned into a temporary folder, without records, and Snakemake runs there
with all cores; prepared datasets are taken from this project's folder. The row is

    wall time / (seconds of training and evaluation in all records / cores)

and joins the others in results.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import plot
import report
from common import Row, processors

from eowm import paths

LIMIT = 1.6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="quick")
    preset = parser.parse_args().preset
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "eowm"
        clone = ["git", "clone", "--quiet", str(paths.CHECKOUT), str(copy)]
        subprocess.run(clone, check=True)
        wall = run(copy, preset)
        found = row(copy / paths.records(preset), preset, wall, processors())
    print(f"{found.value:.2f}×  {found.detail}")
    if preset == "quick":
        report.save("quick", [found])
        plot.draw(json.loads(report.RESULTS.read_text()), report.HERE)


def run(project: Path, preset: str) -> float:
    """Seconds of `make replicate`, its environment apart."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PATH": path, "PYTHONPATH": str(project), "EOWM_CACHE_DIR": str(paths.DATA.absolute()),
    }  # fmt: skip
    command = f"snakemake --workflow-profile profiles/default --config preset={preset}"
    started = time.perf_counter()
    subprocess.run(command.split(), cwd=project, env=environment, check=True)
    return time.perf_counter() - started


def row(records: Path, preset: str, wall: float, cores: int) -> Row:
    trained = list(seconds(records))
    least = sum(trained) / cores
    return Row(
        "quick-wall", f"wall time of the whole preset `{preset}`",
        f"its training and evaluation alone, on {cores} cores",
        wall / least, sign="≤", limit=LIMIT,
        detail=f"{wall:.0f} s; {len(trained)} runs of {sum(trained):.0f} s together",
        reason="each run starts a Python with torch, and notebooks, tables and report follow",
    )  # fmt: skip


def seconds(records: Path) -> Iterator[float]:
    for path in records.rglob("seed*.json"):
        timing = json.loads(path.read_text())["timing"]
        yield timing["train_seconds"] + timing["eval_seconds"]


if __name__ == "__main__":
    main()
