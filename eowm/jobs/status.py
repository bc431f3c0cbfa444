"""What each run of the grid is: done, stale, running, failed or not run. Never imports torch."""

from dataclasses import dataclass
from typing import Literal

from eowm import paths, records
from eowm.errors import RecordError
from eowm.jobs import holds
from eowm.settings.cells import Cell
from eowm.settings.config import Config

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


def of_cell(config: Config, cell: Cell, preset: str) -> list[Run]:
    return [of_run(config, cell, seed, preset) for seed in config.seeds(cell, preset)]


def of_run(config: Config, cell: Cell, seed: int, preset: str) -> Run:
    path = paths.ROOT / paths.record(preset, cell.name, seed)
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
    own = {"precision": record.settings.precision}  # a cell accepts either
    current = config.resolve(cell, seed, preset, own).hash() == record.settings_hash
    return Run(cell, seed, "done" if current else "stale", "", seconds, machine, commit)
