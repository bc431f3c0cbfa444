"""How far equal runs differ between machines: the cells of `quick`, seed 0, trained again with one
and two threads and with other instruction sets. Writes eowm/analysis/reruns.csv.

    python benchmarks/reruns.py        # about 90 minutes on two cores; resumes where it stopped

`ATEN_CPU_CAPABILITY` limits torch's own kernels, `MKL_CBWR` the matrix products, to instruction
sets that other processors have.
"""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

from eowm import paths, records
from eowm.analysis.agreement import RERUNS
from eowm.settings.cells import select
from eowm.settings.config import load_config

FOLDER = paths.OUT / paths.RESULTS / "reruns"
SEED = 0
CONDITIONS: dict[str, tuple[int, dict[str, str]]] = {  # threads, environment
    "one thread": (1, {}),
    "two threads": (2, {}),
    "AVX2": (1, {"ATEN_CPU_CAPABILITY": "avx2"}),
    "no vector instructions": (1, {"ATEN_CPU_CAPABILITY": "default"}),
    "products without AVX": (1, {"MKL_CBWR": "COMPATIBLE"}),
}


def main() -> None:
    lines = []
    for condition, (threads, changed) in CONDITIONS.items():
        for cell in select(load_config(), "quick", ""):
            out = FOLDER / condition.replace(" ", "-") / f"{cell.rule}.json"
            if not out.exists():
                train(cell.name, threads, out, os.environ | changed)
            lines.append(line(records.read(out), condition))
    pd.DataFrame(lines).to_csv(RERUNS, index=False, lineterminator="\n")


def train(cell: str, threads: int, out: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "eowm", "train", cell, "--preset", "paper"]
    command += ["--seed", str(SEED), "--threads", str(threads), "--device", "cpu"]
    command += ["--out", str(out), "--checkpoint", str(out.with_suffix(".pt"))]
    subprocess.run(command, env=environment, check=True)


def line(record: records.Record, condition: str) -> dict[str, object]:
    made_with = record.environment
    return {
        "cell": record.cell.name,
        "seed": record.cell.seed,
        "condition": condition,
        "AA": record.metrics["AA"],
        "MRR": record.metrics["MRR"],
        **{key: made_with[key] for key in ("threads", "device", "torch", "commit")},
    }


if __name__ == "__main__":
    main()
