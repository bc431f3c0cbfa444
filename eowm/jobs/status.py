"""The state of each run: done, stale, running, failed or not run. Never imports torch."""

import re
from dataclasses import dataclass
from typing import Literal

from eowm import paths, records
from eowm.errors import ConfigError, RecordError
from eowm.jobs import holds
from eowm.settings.cells import Cell
from eowm.settings.config import Config
from eowm.settings.run import RunSettings

State = Literal["done", "stale", "running", "failed", "not run"]


@dataclass(frozen=True)
class Run:
    """One seed of one cell."""

    cell: Cell
    seed: int
    state: State
    reason: str = ""  # why it failed
    seconds: float | None = None  # training and evaluation
    machine: str = ""
    commit: str = ""


def of_cell(config: Config, cell: Cell, preset: str, seeds: tuple[int, ...] = ()) -> list[Run]:
    """Of these seeds; else of the preset's, and of others that have run."""
    if not seeds:
        folder = (paths.OUT / paths.record(preset, cell.name, 0)).parent
        have_run = {
            int(file.stem.removeprefix("seed"))
            for file in folder.glob("seed*.*")
            if re.fullmatch(r"seed\d+\.(json|note)", file.name)
        }
        planned = config.seeds(cell, preset)
        seeds = (*planned, *sorted(have_run.difference(planned)))
    return [of_run(config, cell, seed, preset) for seed in seeds]


def is_current(config: Config, record: records.Record) -> bool:
    """Are its settings those that the config gives this run?"""
    try:
        return expected(config, record).hash() == record.settings_hash
    except (ConfigError, KeyError):  # a preset, scenario or method that the config has no more
        return False


def expected(config: Config, record: records.Record) -> RunSettings:
    """The settings that the config gives this run; of precisions, a cell accepts either."""
    run = record.cell
    cell = Cell(run.table, run.scenario, run.method, run.variant)
    return config.resolve(cell, run.seed, run.preset, {"precision": record.settings.precision})


def of_run(config: Config, cell: Cell, seed: int, preset: str) -> Run:
    path = paths.OUT / paths.record(preset, cell.name, seed)
    if holds.is_running(path):
        return Run(cell, seed, "running", holds.holder(path))
    if not path.exists():
        why = holds.failure(path)
        return Run(cell, seed, "failed", why) if why else Run(cell, seed, "not run")
    try:
        record = records.read(path)
    except RecordError as error:
        return Run(cell, seed, "failed", str(error))
    seconds = record.timing.train_seconds + record.timing.eval_seconds
    machine, commit = (str(record.environment.get(key) or "") for key in ("device", "commit"))
    if not record.complete:
        why = record.status.removeprefix("failed: ")
        return Run(cell, seed, "failed", why, seconds, machine, commit)
    state: State = "done" if is_current(config, record) else "stale"
    return Run(cell, seed, state, "", seconds, machine, commit)
