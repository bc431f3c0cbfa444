"""From record files to one table of runs: the only place that opens records to analyse them.

One line per run. Everything that is drawn or judged starts from this table.
"""

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from eowm import paths, records
from eowm.errors import ConfigError, RecordError, nearest
from eowm.jobs import costs, holds
from eowm.jobs.status import is_current
from eowm.records.consistency import refuse_contradiction
from eowm.records.metrics import all_metrics, average_accuracy_so_far
from eowm.records.record import Record
from eowm.settings.cells import Cell
from eowm.settings.config import Config

COMPLETE, NOT_RUN = "complete", "not run"  # status of a run; a failed one has `failed: why`
HERE, PUBLISHED = "here", "published"  # origin of a run, in a preset whose rest is published
# Of a net that chooses among the classes of an image's own task.
TASK_KNOWN = {"AA": "AA_task_known", "MRR": "MRR_task_known"}
METRICS = ("AA", "MRR", "BWT", "FM", "plasticity", *TASK_KNOWN.values())

COLUMNS = [  # of results.csv
    "preset", "table", "scenario", "method", "variant", "row", "cell", "seed", "status", *METRICS,
    "train_seconds", "eval_seconds", "images_per_second", "peak_memory_bytes",
    "estimated_core_hours", "estimated_gpu_hours", "dataset", "data_source", "sha256",
    "comparable", "budget", "standin", "stale", "selection", "precision", "in_grid",
    "origin", "settings_hash", "commit", "python", "torch", "device", "threads", "machine", "path",
]  # fmt: skip
OBJECTS = ["accuracy", "task_known", "best_epoch_accuracy", "curves", "settings"]
FLAGS = ["comparable", "standin", "stale", "in_grid"]
NUMBERS = [
    *METRICS, "train_seconds", "eval_seconds", "images_per_second", "peak_memory_bytes",
    "estimated_core_hours", "estimated_gpu_hours", "threads",
]  # fmt: skip


def collect(config: Config, preset: str, folder: Path) -> pd.DataFrame:
    """Every run of the preset's grid, also those without a record, and every record in `folder`.

    In a preset with a `rest`, a cell without a run in `folder` is that of the published records.
    """
    if preset not in config.presets:
        raise ConfigError(f"preset '{preset}' is unknown{nearest(preset, config.presets)}.")
    lines = _lines(config, preset, folder)
    rest = config.presets[preset].rest
    if rest is None:
        return _frame(lines)
    here = {line["cell"] for line in lines if line["status"] != NOT_RUN}
    trained = [line | {"origin": HERE} for line in lines if line["cell"] in here]
    others = [
        line | {"origin": PUBLISHED, "preset": preset}
        for line in _lines(config, rest, published_folder(rest))
        if line["cell"] not in here
    ]
    order = {cell.name: number for number, cell in enumerate(config.cells(preset))}
    return _frame(sorted([*trained, *others], key=lambda line: order.get(line["cell"], len(order))))


def _lines(config: Config, preset: str, folder: Path) -> list[dict[str, Any]]:
    """A record that is not what its place says is refused: it would count for another cell."""
    grid = {cell.name: cell for cell in config.cells(preset)}
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for path, record in records.read_all(folder):
        _refuse_misplaced(record, path, folder, preset)
        refuse_contradiction(record, path)
        name = record.cell.name
        found[name, record.cell.seed] = _line(record, path, config, in_grid=name in grid)
    lines = []
    for name, cell in grid.items():
        for seed in config.seeds(cell, preset):
            known = found.pop((name, seed), None)
            lines.append(known or _missing(cell, seed, config, preset, folder))
    return [*lines, *found.values()]


def published_folder(preset: str) -> Path:
    """The records that came with the project, wherever this run writes its own."""
    return paths.ROOT / paths.records(preset)


def of_files(config: Config, files: Iterable[Path]) -> pd.DataFrame:
    """One line per record file, wherever it lies."""
    grid = {preset: {cell.name for cell in config.cells(preset)} for preset in config.presets}
    lines = []
    for file in files:
        record = records.read(file)
        in_grid = record.cell.name in grid.get(record.cell.preset, ())
        lines.append(_line(record, file, config, in_grid))
    return _frame(lines)


def write(runs: pd.DataFrame, folder: Path, json_folder: Path | None = None) -> tuple[Path, Path]:
    """`results.csv`, for people; `runs.json`, with matrices and curves, for `read`."""
    table, everything = folder / "results.csv", (json_folder or folder) / "runs.json"
    table.parent.mkdir(parents=True, exist_ok=True)
    runs[COLUMNS].to_csv(table, index=False, lineterminator="\n")
    write_json(runs, everything)
    return table, everything


def write_json(runs: pd.DataFrame, file: Path) -> None:
    lines = [
        {key: _plain(value) for key, value in line.items()} for line in runs.to_dict("records")
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(lines, separators=(",", ":")) + "\n", encoding="utf-8")


def read(file: Path) -> pd.DataFrame:
    """What `write` wrote; opens no record."""
    try:
        lines = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(f"{file} does not exist: run `eowm collect` first.") from None
    except ValueError:
        raise RecordError(f"{file} is damaged: run `eowm collect` again.") from None
    if any(line.keys() != {*COLUMNS, *OBJECTS} for line in lines):
        raise RecordError(f"{file} was written by another version: run `eowm collect` again.")
    return _frame(lines)


def load(config: Config, preset: str, root: Path | None = None) -> pd.DataFrame:
    """The collected runs of a preset, or the records themselves where one of them is newer."""
    root = root or paths.OUT
    folder, file = root / paths.records(preset), collected_file(preset, root)
    if preset in config.presets and _newest(file, _folders(config, preset, folder)):
        with suppress(RecordError):  # damaged, or written by another version
            return read(file)
    return collect(config, preset, folder)


def beside(config: Config, preset: str) -> dict[str, pd.DataFrame]:
    """By preset: the runs of `config.presets_beside`, which alone run some tables."""
    root = paths.ROOT if config.presets[preset].rest else paths.OUT
    return {name: load(config, name, root) for name in config.presets_beside(preset)}


def collected_file(preset: str, root: Path | None = None) -> Path:
    return (root or paths.OUT) / paths.RESULTS / preset / "runs.json"


def accuracy_so_far(runs: pd.DataFrame) -> pd.DataFrame:
    """Figure 3's curves: per complete run, the mean accuracy of the tasks learnt so far."""
    lines = []
    for run in runs[runs.status == COMPLETE].itertuples():
        for tasks, accuracy in enumerate(average_accuracy_so_far(run.accuracy), start=1):
            if accuracy is not None:
                lines.append((run.table, run.scenario, run.row, run.seed, tasks, accuracy))
    return pd.DataFrame(lines, columns=["table", "scenario", "row", "seed", "tasks", "accuracy"])


# --- One line ---------------------------------------------------------------------------------


def _frame(lines: list[dict[str, Any]]) -> pd.DataFrame:
    runs = pd.DataFrame(lines, columns=[*COLUMNS, *OBJECTS], dtype=object)
    runs = runs.where(runs.notna(), None)
    kinds = {**dict.fromkeys(NUMBERS, float), **dict.fromkeys(FLAGS, bool), "seed": int}
    return runs.astype(kinds)


def _line(record: Record, path: Path, config: Config, in_grid: bool) -> dict[str, Any]:
    cell, data, timing = record.cell, record.data, record.timing
    stale = not is_current(config, record)
    standin = data.source == "standin" or not data.comparable
    environment = ("commit", "python", "torch", "device", "threads")
    return {
        **cell.model_dump(),
        "row": cell.row,
        "cell": cell.name,
        "status": record.status,
        **(_metrics(record) if record.complete else {}),
        "train_seconds": timing.train_seconds,
        "eval_seconds": timing.eval_seconds,
        "images_per_second": timing.images_per_second,
        "peak_memory_bytes": timing.peak_memory_bytes,
        "dataset": data.name,
        "data_source": data.source,
        "sha256": data.sha256,
        # `stale` too: a run with `--set epochs=1` still carries its preset's budget.
        "comparable": record.complete and cell.budget == "paper" and not standin and not stale,
        "standin": standin,
        "stale": stale,
        "selection": record.settings.training.selection,
        "precision": record.settings.precision,
        "in_grid": in_grid,
        "settings_hash": record.settings_hash,
        **{key: record.environment.get(key) for key in environment},
        "machine": _machine(record),
        "path": shown(path),
        "accuracy": record.accuracy,
        "task_known": record.task_known,
        "best_epoch_accuracy": record.best_epoch_accuracy,
        "curves": [epoch.model_dump() for epoch in record.curves],
        "settings": record.settings.model_dump(mode="json"),
    }


def _metrics(record: Record) -> dict[str, float | None]:
    known = all_metrics(record.task_known) if record.task_known else {}
    return record.metrics | {ours: known.get(name) for name, ours in TASK_KNOWN.items()}


def _machine(record: Record) -> str:
    """What decides a run's speed, in turn where it changed on the way."""
    parts = [
        f"{part.get('device', 'unknown')}, threads: {part.get('threads')}"
        for part in record.environments
    ]
    rounded = ", bfloat16" if record.settings.precision == "bfloat16" else ""
    return ", then ".join(dict.fromkeys(parts)) + rounded


def _missing(cell: Cell, seed: int, config: Config, preset: str, folder: Path) -> dict[str, Any]:
    """Never run, or failed: then its note says why."""
    expected = costs.estimate(config, cell, preset)
    path = folder / paths.place(cell.name, seed)
    why = holds.failure(path)
    return {
        "preset": preset,
        "table": cell.table,
        "scenario": cell.scenario,
        "method": cell.method,
        "variant": cell.variant,
        "row": cell.row,
        "cell": cell.name,
        "seed": seed,
        "status": f"failed: {why}" if why else NOT_RUN,
        "estimated_core_hours": round(expected.core_hours, 3),
        "estimated_gpu_hours": round(expected.gpu_hours, 3),
        "comparable": False,
        "standin": False,
        "stale": False,
        "in_grid": True,
        "path": shown(path),
    }


def _refuse_misplaced(record: Record, path: Path, folder: Path, preset: str) -> None:
    cell = record.cell
    if cell.preset != preset:
        raise RecordError(
            f"{path} is a record of preset '{cell.preset}', not of '{preset}': move it away."
        )
    place = paths.place(cell.name, cell.seed)
    if path.relative_to(folder) != place:
        raise RecordError(
            f"{path} is the record of {cell.name}, seed {cell.seed}: "
            f"it belongs in {folder / place}."
        )


def shown(path: Path) -> str:
    """From the working folder where it can be: a table then names no folder of this machine."""
    full, here = path.absolute(), Path.cwd()
    return str(full.relative_to(here) if full.is_relative_to(here) else path)


def _plain(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _folders(config: Config, preset: str, own: Path) -> list[Path]:
    """Where the records of a preset's table of runs are."""
    rest = config.presets[preset].rest
    return [own] if rest is None else [own, published_folder(rest)]


def _newest(file: Path, folders: list[Path]) -> bool:
    """Is the collected file newer than every record and note, the folders and config.yaml?

    A record that was deleted leaves its folder newer. `ctime`: a copy may keep an old `mtime`.
    """
    if not (file.is_file() and all(folder.is_dir() for folder in folders)):
        return False
    made = file.stat().st_ctime
    read = [paths.CONFIG, *folders, *(path for folder in folders for path in folder.rglob("*"))]
    return all(path.stat().st_ctime < made for path in read)
