"""Choosing a setting without looking at test images.

A sweep trains the first few tasks of a scenario for each value of one setting and reports mean
validation accuracy over those tasks, and nothing measured on test images.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from rich.progress import track

from eowm import runs
from eowm.config import Cell, Config

COLUMNS = ["scenario", "method", "tasks", "setting", "value", "seed", "validation_accuracy"]


def sweep(
    config: Config,
    cell: Cell,
    preset: str,
    key: str,
    values: Sequence[Any],
    seeds: Sequence[int],
    first_tasks: int,
) -> pd.DataFrame:
    """One line per value and seed."""
    lines = []
    grid = [(value, seed) for value in values for seed in seeds]
    for value, seed in track(grid, description=f"{key} of {cell.row}"):
        settings = config.resolve(cell, seed, preset, {key: value})
        record = runs.train(config, cell, settings, preset, quiet=True, first_tasks=first_tasks)
        row = record.validation[first_tasks - 1]
        accuracy = sum(row[:first_tasks]) / first_tasks if row else None
        lines.append((cell.scenario, cell.row, first_tasks, key, value, seed, accuracy))
    return pd.DataFrame(lines, columns=COLUMNS)
