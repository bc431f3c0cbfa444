# What the rules share: the config, checked and typed; which records are wanted; folders.

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir)))  # the package beside this Snakefile

from eowm import paths
from eowm.errors import UserError
from eowm.jobs import holds
from eowm.settings.cells import parse_seeds, select
from eowm.settings.config import parse_config

try:
    CONFIG = parse_config(config)
    PRESET = CONFIG.preset
    CELLS = list(CONFIG.cells(PRESET))
    SEEDS = parse_seeds(CONFIG.run_seeds)  # none: the preset's
    if CONFIG.records != "existing":  # a misspelt selection is refused here
        select(CONFIG, PRESET, "" if CONFIG.records == "all" else CONFIG.records)
except UserError as error:
    raise WorkflowError(str(error)) from None
OUT = paths.outputs(PRESET)
WORK = paths.RESULTS / PRESET

# Every job parses this file: it sees the config as merged here (file, --configfile, --config),
# all that runs write goes below the working folder (`--directory`), and `python` is the one that
# runs Snakemake, whether or not its environment is active.
PYTHON = Path(sys.executable).parent
os.environ.update(
    {
        paths.MERGED_CONFIG: json.dumps(config),
        paths.OUT_ROOT: os.getcwd(),
        "PYTHONPATH": str(workflow.basedir),
        "PATH": f"{PYTHON}{os.pathsep}{os.getenv('PATH', '')}",
    }
)


def record(cell, seed) -> str:
    return str(paths.record(PRESET, cell.name, seed))


def records_of(cell) -> list[str]:
    return [record(cell, seed) for seed in CONFIG.seeds(cell, PRESET)]


def grid(table=None) -> list[str]:
    """The records of a table, or of all."""
    cells = [cell for cell in CELLS if table in (None, cell.table)]
    return [path for cell in cells for path in records_of(cell)]


def wanted_records(table=None) -> list[str]:
    """Those of the cells to train, and those at hand."""
    trained = [
        cell
        for cell in CELLS
        if CONFIG.trains(cell, PRESET) and table in (None, cell.table)
    ]
    at_hand = (paths.records(PRESET) / (table or "")).rglob("seed*.json")
    return sorted(
        {*map(str, at_hand), *(path for cell in trained for path in records_of(cell))}
    )


def failure_notes(table=None) -> list[str]:
    """Notes on runs without a record, where nothing will train them now."""
    lost = (Path(path) for path in sorted({*grid(table)} - {*wanted_records(table)}))
    return [str(holds.note_path(path)) for path in lost if holds.failure(path)]


def records_beside() -> list[str]:
    """Published ones, in a preset that shows them; those of presets that alone run some tables."""
    rest = CONFIG.presets[PRESET].rest
    root = Path(workflow.basedir) if rest else Path()
    names = [*CONFIG.presets_beside(PRESET), *([rest] if rest else [])]
    folders = (root / paths.records(name) for name in names)
    return sorted(
        str(path) for folder in folders for path in folder.rglob("seed*.json")
    )


def drawing_code() -> str:
    """A checksum of the code that draws: drawings are made again when it changes.

    The findings are not part of the workflow (`eowm findings`).
    """
    folders = (paths.PACKAGE / name for name in ("analysis", "paper", "theory"))
    files = [path for folder in folders for path in folder.rglob("*.*")]
    files += (Path(workflow.basedir) / "docs").glob("verdict.*")
    return paths.checksum(
        path
        for path in files
        if path.suffix != ".pyc" and not path.name.startswith("findings.")
    )


def shown(product):
    """In Snakemake's own report, what a browser can show."""
    path = OUT / product
    if path.suffix not in (".png", ".csv"):
        return path
    kind = "table" if path.suffix == ".csv" else "figure"
    return report(
        path,
        caption=f"../report/{kind}.rst",
        category=f"{kind.capitalize()}s",
        labels={kind: path.stem},
    )


wildcard_constraints:
    seed="|".join(map(str, SEEDS)) or r"\d+",
    dataset="mnist|cifar10|cifar100",
