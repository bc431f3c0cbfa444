"""Choosing a setting without looking at test images.

A sweep trains the first few tasks of a scenario for each value of one setting and reports mean
validation accuracy over those tasks, and nothing measured on test images.
"""

from collections.abc import Sequence

import pandas as pd
from rich.progress import track

from eowm.errors import ConfigError
from eowm.settings.cells import Cell
from eowm.settings.config import Config, parse_overrides, parse_value
from eowm.training import run as runs

COLUMNS = ["scenario", "method", "tasks", "setting", "value", "seed", "validation_accuracy"]


def sweep(
    config: Config,
    cell: Cell,
    preset: str,
    key: str,
    values: Sequence[str],
    seeds: Sequence[int],
    first_tasks: int,
) -> pd.DataFrame:
    """One line per value and seed."""
    lines = []
    grid = {
        (value, seed): config.resolve(cell, seed, preset, parse_overrides([f"{key}={value}"]))
        for value in values
        for seed in seeds
    }
    tasks = next(iter(grid.values())).tasks
    if first_tasks > tasks:
        raise ConfigError(f"{cell.scenario} has {tasks} tasks, so no first {first_tasks}.")
    for (value, seed), settings in track(grid.items(), description=f"{key} of {cell.row}"):
        record = runs.train(config, cell, settings, preset, quiet=True, first_tasks=first_tasks)
        row = record.validation[first_tasks - 1]
        accuracy = sum(row[:first_tasks]) / first_tasks if row else None
        lines.append(
            (cell.scenario, cell.row, first_tasks, key, parse_value(value), seed, accuracy)
        )
    return pd.DataFrame(lines, columns=COLUMNS)
