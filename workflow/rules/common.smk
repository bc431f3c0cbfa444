# The config, checked and typed, and the names that all rules share.

import json
import os
import sys
from pathlib import Path

from snakemake.utils import validate

sys.path.insert(0, str(Path(workflow.basedir)))  # the package beside this Snakefile

from eowm import paths
from eowm.config import parse_config
from eowm.errors import UserError

try:
    CONFIG = parse_config(config)
except UserError as error:
    raise WorkflowError(str(error)) from None
validate(config, "../schemas/config.schema.json", set_default=False)
PRESET = CONFIG.preset
CELLS = list(CONFIG.cells(PRESET))
OUT = paths.outputs(PRESET)
WORK = paths.RESULTS / PRESET


def share_config() -> None:
    """Let jobs read the config as merged here (file, --configfile, --config), not as on disk.

    Written only when it changed, so that the jobs of a cluster do not race over it.
    """
    merged = (WORK / "config.json").absolute()
    text = json.dumps(config, indent=1, sort_keys=True)
    if not merged.exists() or merged.read_text() != text:
        merged.parent.mkdir(parents=True, exist_ok=True)
        merged.write_text(text)
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


def record(cell, seed="{seed}") -> str:
    return str(paths.record(PRESET, cell.name, seed))


def records_of(cell) -> list[str]:
    return [record(cell, seed) for seed in CONFIG.seeds(cell, PRESET)]


def dataset(cell) -> str:
    return CONFIG.resolve(cell, 0, PRESET).dataset


def dataset_for(cell):
    """The manifest a run needs first, as an input function.

    It is `ancient`: fetching again retrains nothing. A record that came with the repository needs
    no dataset: without one, Snakemake would fetch it and train again.
    """

    def manifest(wildcards):
        path = WORK / "data" / f"{dataset(cell)}.json"
        came_with_the_clone = (
            Path(record(cell, wildcards.seed)).exists() and not path.exists()
        )
        return [] if came_with_the_clone else ancient(str(path))

    return manifest


def wanted_records() -> list[str]:
    """Every record of the grid, or those that exist where nothing is to be trained."""
    every = [path for cell in CELLS for path in records_of(cell)]
    if CONFIG.records == "existing":
        return [path for path in every if Path(path).exists()]
    return every


wildcard_constraints:
    seed=r"\d+",
    dataset="mnist|cifar10|cifar100",
