# The config, checked and typed, and the names that all rules share.

import hashlib
import json
import os
import sys
from pathlib import Path

from snakemake.utils import validate

sys.path.insert(0, str(Path(workflow.basedir)))  # the package beside this Snakefile

from eowm import paths
from eowm.jobs import holds
from eowm.jobs import costs
from eowm.settings.config import parse_config
from eowm.errors import UserError

try:
    CONFIG = parse_config(config)
except UserError as error:
    raise WorkflowError(str(error)) from None
try:  # as read by the package: to Snakemake, numbers in --config jobs='{threads: 2}' are texts
    read = CONFIG.model_dump(mode="json", exclude_unset=True)
    validate(read, "../schemas/config.schema.json", set_default=False)
except WorkflowError:  # the package has no objection, so it is the schema that is wrong
    file = "workflow/schemas/config.schema.json"
    raise WorkflowError(
        f"{file} is out of date: run `eowm schema config > {file}`."
    ) from None
PRESET = CONFIG.preset
CELLS = list(CONFIG.cells(PRESET))
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
    return sorted(
        {*at_hand, *(path for path in named if Path(path).is_relative_to(folder))}
    )


def failure_notes(table=None) -> list[str]:
    """What became of runs without a record; of interest where nothing will train them now."""
    if CONFIG.records == "all":
        return []
    lost = (Path(path) for path in sorted({*grid(table)} - {*wanted_records(table)}))
    return [str(holds.note_path(path)) for path in lost if holds.failure(path)]


def records_beside() -> list[str]:
    """Those at hand of the presets that alone run some tables."""
    folders = (paths.records(name) for name in CONFIG.presets_beside(PRESET))
    return sorted(
        str(path) for folder in folders for path in folder.rglob("seed*.json")
    )


def drawing_code() -> str:
    """A checksum of the code that draws: drawings are made again when it changes.

    The findings are not part of the workflow (`eowm findings`).
    """
    folders = (paths.PACKAGE / name for name in ("analysis", "paper", "theory"))
    files = [path for folder in folders for path in folder.rglob("*.*")]
    return paths.checksum(
        path
        for path in files
        if path.suffix != ".pyc" and not path.name.startswith("findings.")
    )


def drawn_from(files, table):
    """`files` of a table, of all tables, or none."""
    if table is None:
        return []
    return files() if table == "all" else files(table)


# --- Training -------------------------------------------------------------------------------


def batches(cell) -> list[tuple]:
    """Seeds by job: any one seed, or several together where the config asks for it.

    Where `records` does not say `all`, only what it names has a rule: drawing must train nothing.
    """
    size = CONFIG.jobs.seeds_per_job
    if CONFIG.records != "all":
        return costs.batches(named_seeds(cell), size)
    seeds = CONFIG.seeds(cell, PRESET)
    return costs.batches(seeds, size) if size > 1 else [("{seed}",)]


def named_seeds(cell) -> tuple[int, ...]:
    folder = Path(record(cell, 0)).parent
    files = (Path(word) for word in CONFIG.records.split())
    return tuple(
        int(file.stem.removeprefix("seed")) for file in files if file.parent == folder
    )


def train_rule(cell, batch) -> str:
    """`train_table2_cifar10-5_owm`, with the first seed where a cell has several rules."""
    several = len(batches(cell)) > 1
    return f"train_{cell.rule}" + (f"_seed{batch[0]}" if several else "")


def manifest_of(cell, batch):
    """The dataset a run needs first, as an input function.

    It is `ancient`: fetching again retrains nothing. A record that came with the repository needs
    no dataset: without one, Snakemake would fetch it and train again.
    """
    path = WORK / "data" / f"{CONFIG.resolve(cell, 0, PRESET).dataset}.json"

    def manifest(wildcards):
        made = [record(cell, seed).format(**wildcards) for seed in batch]
        came_with_the_clone = not path.exists() and all(
            Path(file).exists() for file in made
        )
        return [] if came_with_the_clone else ancient(str(path))

    return manifest


def needs_of(cell, batch, what):
    """A resource from the measured costs; a further attempt gets more."""

    def amount(wildcards, attempt):
        return getattr(costs.needs(CONFIG, cell, PRESET, len(batch), attempt), what)

    return amount


def runs_of(wildcards, output):
    """Not a cause to train again: how seeds are put into jobs changes no number."""
    names = ((Path(file).stem.removeprefix("seed"), file) for file in output)
    return " ".join(f"--seed {seed} --out {file}" for seed, file in names)


def device_of(wildcards, resources):
    return "auto" if resources.gpu else "cpu"


# --- Tables and figures ---------------------------------------------------------------------


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
    seed=r"\d+",
    dataset="mnist|cifar10|cifar100",
