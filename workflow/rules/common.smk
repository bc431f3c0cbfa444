# The config, checked and typed, and the names that all rules share.

import hashlib
import json
import os
import sys
from pathlib import Path

from snakemake.utils import validate

sys.path.insert(0, str(Path(workflow.basedir)))  # the package beside this Snakefile

from eowm import claims, jobs, paths
from eowm.config import parse_config
from eowm.errors import UserError

try:
    CONFIG = parse_config(config)
except UserError as error:
    raise WorkflowError(str(error)) from None
validate(config, "../schemas/config.schema.json", set_default=False)
PRESET = CONFIG.preset
CELLS = list(CONFIG.cells())
OUT = paths.outputs(PRESET)
WORK = paths.RESULTS / PRESET


def share_config() -> None:
    """Let jobs read the config as merged here (file, --configfile, --config), not as on disk.

    Named by its content: a dry run with another config changes nothing for jobs that run.
    """
    text = json.dumps(config, indent=1, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    merged = (WORK / "config" / f"{digest}.json").absolute()
    if not merged.exists():
        merged.parent.mkdir(parents=True, exist_ok=True)
        part = merged.with_suffix(f".{os.getpid()}")
        part.write_text(text)
        part.replace(merged)
    os.environ.update(
        EOWM_CONFIG=str(merged)
    )  # every job parses this file, so every job has it


def use_this_python() -> None:
    """`.venv/bin/snakemake` works without activating .venv: `python` in rules is its own."""
    folder, path = str(Path(sys.executable).parent), os.getenv("PATH", "")
    if not path.startswith(folder):
        os.environ.update(PATH=f"{folder}{os.pathsep}{path}")


share_config()
use_this_python()


def record(cell, seed) -> str:
    return str(paths.record(PRESET, cell.name, seed))


def records_of(cell) -> list[str]:
    return [record(cell, seed) for seed in CONFIG.seeds(cell, PRESET)]


def grid(table=None) -> list[str]:
    """The records of a table, or of all."""
    cells = [cell for cell in CELLS if table in (None, cell.table)]
    return [path for cell in cells for path in records_of(cell)]


def wanted_records(table=None) -> list[str]:
    """Every record of the grid; or those at hand, and those that `records` names."""
    if CONFIG.records == "all":
        return grid(table)
    folder = paths.records(PRESET) / (table or "")
    at_hand = [str(path) for path in folder.rglob("seed*.json")]
    named = [] if CONFIG.records == "existing" else CONFIG.records.split()
    return sorted({*at_hand, *(path for path in named if Path(path).is_relative_to(folder))})


def failure_notes(table=None) -> list[str]:
    """What became of runs without a record; of interest where nothing will train them now."""
    if CONFIG.records == "all":
        return []
    lost = (Path(path) for path in sorted({*grid(table)} - {*wanted_records(table)}))
    return [str(claims.note_path(path)) for path in lost if claims.failure(path)]


wildcard_constraints:
    seed=r"\d+",
    dataset="mnist|cifar10|cifar100",
