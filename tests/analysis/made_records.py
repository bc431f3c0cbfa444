"""Made-up but valid records: every one passes the model that real ones pass."""

import math
from pathlib import Path
from typing import Any

import pandas as pd

from eowm import paths, records
from eowm.analysis import collect
from eowm.records.metrics import all_metrics
from eowm.settings.config import Config

# A fixed grid, so that a method added to config.yaml changes no test here.
GRID = {
    "table2": {
        "scenarios": [
            "shuffled-mnist-3", "shuffled-mnist-10", "shuffled-mnist-20", "cifar10-5",
            "cifar100-2", "cifar100-5", "cifar100-10", "cifar100-20",
        ],
        "methods": ["owm"],
        "references": ["finetune", "joint"],
    }
}  # fmt: skip

Matrix = list[list[float] | None]


def matrix(tasks: int, start: float, slope: float, method: str = "owm") -> Matrix:
    """Accuracies that fall by `slope` with every later task; joint training has one row only."""
    rows: Matrix = [
        [max(0.0, start - slope * (t - i)) if i <= t else 0.0 for i in range(tasks)]
        for t in range(tasks)
    ]
    return [None] * (tasks - 1) + [[start] * tasks] if method == "joint" else rows


def make_record(
    config: Config,
    name: str,
    seed: int = 0,
    preset: str = "paper",
    accuracy: Matrix | None = None,
    source: str = "local",
    status: str = "complete",
    overrides: dict[str, Any] | None = None,
) -> records.Record:
    cell = config.cell(name)
    settings = config.resolve(cell, seed, preset, overrides)
    accuracy = accuracy or matrix(settings.tasks, 0.9, 0.05, cell.method)
    return records.Record(
        schema_version=1,
        cell=records.CellOfRun(
            table=cell.table,
            scenario=cell.scenario,
            method=cell.method,
            variant=cell.variant,
            seed=seed,
            preset=preset,
            budget=config.presets[preset].budget,
        ),
        settings=settings,
        settings_hash=settings.hash(),
        data=records.DataOfRun(
            name=settings.dataset, source=source, sha256="0" * 64, comparable=source != "standin"
        ),
        accuracy=accuracy,
        validation=accuracy,
        best_epoch_accuracy=[None] * settings.tasks,
        curves=[],
        metrics=all_metrics(accuracy) if status == "complete" else {},
        timing=records.Timing(
            train_seconds=12.5,
            eval_seconds=1.5,
            images_per_second=4000.0,
            peak_memory_bytes=10**9,
            interruptions=0,
        ),
        environment={"python": "3.11.7", "torch": "2.13.0", "device": "a test", "commit": "c0ffee"},
        status=status,
    )


def store(record: records.Record, folder: Path) -> Path:
    """Where `collect` expects it."""
    cell = record.cell
    path = folder / paths.cell_path(cell.name) / f"seed{cell.seed}.json"
    records.write(record, path)
    return path


def fill(
    folder: Path, config: Config, preset: str, source: str = "local", skip: str | None = None
) -> None:
    """A record for every run of the grid, with some spread between seeds and methods."""
    slopes = {"owm": 0.02, "finetune": 0.3, "joint": 0.0}
    for cell in config.cells():
        if cell.row == skip:
            continue
        for seed in config.seeds(cell, preset):
            tasks = config.resolve(cell, seed, preset).tasks
            start = 0.9 + 0.02 * math.sin(seed + len(cell.scenario))
            accuracy = matrix(tasks, start, slopes[cell.method], cell.method)
            store(make_record(config, cell.name, seed, preset, accuracy, source), folder)


def runs_with(
    folder: Path, config: Config, cells: dict[str, Any], preset: str = "paper", **how: Any
) -> pd.DataFrame:
    """Collected: for each cell, one run a seed with this accuracy, (accuracy, slope) or matrix."""
    for name, values in cells.items():
        tasks = int(name.split("/")[1].rpartition("-")[2])
        for seed, value in enumerate(values):
            if not isinstance(value, list):
                start, slope = value if isinstance(value, tuple) else (value, 0.0)
                value = matrix(tasks, start, slope, config.cell(name).method)
            store(make_record(config, name, seed, preset, value, **how), folder)
    return collect.collect(config, preset, folder)
