"""How long Snakemake takes to lay out the whole grid of the paper, all seeds, before it starts."""

import os
import re
import subprocess
import sys
from pathlib import Path

from common import Effort, Row, Rows, figure, interleaved, milliseconds

from eowm.paths import CHECKOUT

# `make replicate PRESET=paper ARGS=-n`, with every job in it whether or not its record is here.
COMMAND = "snakemake --workflow-profile profiles/default -n --config preset={} --forceall"


def rows(effort: Effort) -> Rows:
    """In seconds: there is nothing to set it against."""
    preset = "smoke" if effort.small else "paper"
    jobs: list[str] = []
    rounds = interleaved({"dry run": lambda: jobs.append(dry_run(preset))}, min(effort.repeats, 3))
    found = figure(rounds, lambda s: s["dry run"])
    yield Row(
        "dry-run", f"dry run of the whole `{preset}` grid, all seeds", "",
        **found, unit=" s", sign="≤", limit=10.0, detail=f"{jobs[-1]} jobs",
        reason=f"Snakemake spends {milliseconds(found['value'] / int(jobs[-1]))} on a job",
    )  # fmt: skip


def dry_run(preset: str) -> str:
    """The number of jobs."""
    # Snakemake stands beside this Python, or, in an environment built on top, on the path.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(CHECKOUT)}
    told = subprocess.run(
        COMMAND.format(preset).split(), cwd=CHECKOUT, env=environment, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    found = re.search(r"^total\s+(\d+)$", told.stdout + told.stderr, re.MULTILINE)
    assert found, told.stderr[-2000:]
    return found[1]
