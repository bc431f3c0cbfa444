"""Every folder and file pattern of the project, named once."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent  # where the source stands; the project may be another folder (ROOT)


def find_root() -> Path:
    """The project: the nearest folder upwards that has a config.yaml and a Snakefile."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "config.yaml").is_file() and (folder / "Snakefile").is_file():
            return folder
    return CHECKOUT


# Environment variable: the folder for all that runs write. The workflow sets it to its working
# folder, which then says nothing about where the project is.
OUT_ROOT = "EOWM_OUT"
ROOT = CHECKOUT if os.environ.get(OUT_ROOT) else find_root()
OUT = Path(os.environ.get(OUT_ROOT) or ROOT).resolve()
CONFIG = ROOT / "config.yaml"
MERGED_CONFIG = "EOWM_CONFIG_JSON"  # environment variable: the config of a workflow's jobs, as JSON

# Where prepared datasets live; one cache can serve several checkouts.
DATA = Path(os.environ.get("EOWM_CACHE_DIR") or OUT / "data")

FIGURES = Path("paper_figures")  # relative to OUT: these are names in the DAG
RESULTS = Path("results")


def outputs(preset: str) -> Path:
    """Tables, figures, notebooks, report and records of one preset."""
    return FIGURES / preset


def records(preset: str) -> Path:
    return outputs(preset) / "records"


def record(preset: str, cell: str, seed: int | str) -> Path:
    """`cell` is a cell name such as `table2/cifar10-5/eowm:paper`."""
    return records(preset) / place(cell, seed)


def place(cell: str, seed: int | str) -> Path:
    """Of a record in the records folder of its preset."""
    return Path(cell_path(cell)) / f"seed{seed}.json"


def checkpoint(preset: str, cell: str, seed: int | str) -> Path:
    return RESULTS / preset / "checkpoints" / cell_path(cell) / f"seed{seed}.pt"


def previous(checkpoint: Path) -> Path:
    """The checkpoint before the newest one."""
    return checkpoint.with_suffix(".previous.pt")


def finished(checkpoint: Path) -> Path:
    """Where a job of several runs keeps a finished record until all of them are finished."""
    return checkpoint.with_suffix(".finished.json")


def forget(checkpoint: Path) -> None:
    """Delete what is half done: the next run starts from the beginning."""
    for path in (checkpoint, previous(checkpoint), finished(checkpoint)):
        path.unlink(missing_ok=True)


def tried(preset: str, cell: str, seed: int | str, settings_hash: str) -> Path:
    """A run with settings changed on the command line; it never takes the place of a record."""
    return RESULTS / preset / "tried" / cell_path(cell) / f"seed{seed}-{settings_hash}.json"


def cell_path(cell: str) -> str:
    """`method:variant` on the command line is `method/variant` in a path."""
    return cell.replace(":", "/")


def checksum(files: Iterable[Path]) -> str:
    """Of the content of source files, whatever they are called or when they were written."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
