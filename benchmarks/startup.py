"""How long a run takes to start: config, imports, network and one step, against torch alone."""

import subprocess
import sys
from pathlib import Path

from common import Effort, Row, Rows, figure, interleaved, median, milliseconds

TORCH = "import torch"
RUN = """
import eowm.cli, eowm.training.run
from common import batch, learner, resolve
settings = resolve("finetune", "shuffled-mnist-3")
learner(settings).observe(*batch(settings), 0.0)
"""


def rows(effort: Effort) -> Rows:
    rounds = interleaved(
        {"torch": lambda: python(TORCH), "run": lambda: python(RUN)}, effort.repeats
    )
    run, torch = (milliseconds(median(rounds, name)) for name in ("run", "torch"))
    yield Row(
        "start", "the start of a run, to its first step", "`import torch` alone",
        **figure(rounds, lambda s: s["run"] / s["torch"]),
        detail=f"{run}, torch {torch}",
    )  # fmt: skip


def python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, check=True)
