"""One record for a reader: accuracies, the paper's numbers beside ours, settings, machine."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from rich.table import Table

from eowm.analysis import collect, results
from eowm.analysis.summary import summarise
from eowm.errors import ConfigError
from eowm.jobs.status import is_current
from eowm.records.metrics import average_accuracy
from eowm.records.record import Record
from eowm.settings.cells import Cell
from eowm.settings.config import Config
from eowm.settings.effective import changed, written

Part = Table | str


def show(config: Config, word: str, seed: int, preset: str | None) -> Iterator[Part]:
    """The record of a cell or in a file, in parts to print one after the other."""
    record, place = results.read(config, word, seed, preset)
    yield from _head(config, record, place)
    yield from ("", _matrix(record), "")
    yield from _metrics(config, record, _runs_beside(config, record, word, place, preset))
    yield from ("", *_settings(config, record), "")
    yield _machine(record)
    if not results.is_path(config, word):
        yield from _tried(record)


def _head(config: Config, record: Record, place: Path) -> Iterator[str]:
    cell, data = record.cell, record.data
    standin = "" if data.comparable else " (stand-in data)"
    yield f"{cell.name} seed {cell.seed}, preset {cell.preset}: {record.status}"
    yield (
        f"{data.name} from {data.source}{standin}; budget: {cell.budget}; "
        f"settings {record.settings_hash}; commit {record.environment.get('commit')}"
    )
    yield f"from {collect.shown(place)}"
    if not is_current(config, record):
        yield "settings changed on the command line, or in config.yaml since then: see below"


def _matrix(record: Record) -> Table:
    tasks = len(record.accuracy)
    table = Table("after task", *(str(i + 1) for i in range(tasks)), box=None)
    for t, row in enumerate(record.accuracy):
        table.add_row(str(t + 1), *(["–"] * tasks if row is None else map(_four, row)))
    return table


def _runs_beside(
    config: Config, record: Record, word: str, place: Path, preset: str | None
) -> pd.DataFrame:
    """All runs of the cell, also those that failed; of a file, the one in it."""
    if results.is_path(config, word):
        return collect.of_files(config, [place])
    runs = results.load(config, preset)
    return runs[runs.cell == record.cell.name]


def _metrics(config: Config, record: Record, runs: pd.DataFrame) -> Iterator[Part]:
    """This run's, the mean over the cell's runs, the paper's number and the verdict."""
    summary = summarise(runs, config).set_index("metric")
    table = Table("metric", "this run", "mean (runs)", "the paper", "verdict", box=None)
    for metric, value in record.metrics.items():
        line = summary.loc[metric]
        table.add_row(metric, _four(value), _mean(line), _four(line.paper), line.verdict)
    yield table
    if record.task_known and (known := average_accuracy(record.task_known)) is not None:
        yield f"AA with the task known at test: {known:.4f}"
    if summary.note["AA"]:
        yield f"limits of this AA: {summary.note['AA']}"


def _mean(line: pd.Series) -> str:
    """`0.9491 ± 0.0022 (3)`."""
    spread = "" if pd.isna(line.low) else f" ± {(line.high - line.low) / 2:.4f}"
    return f"{_four(line['mean'])}{spread} ({line.n})"


def _settings(config: Config, record: Record) -> Iterator[Part]:
    """What differs from the method without variant at the paper's budget (config.yaml)."""
    run = record.cell
    cell, plain = (Cell(run.table, run.scenario, run.method, v) for v in (run.variant, None))
    precision = {"precision": record.settings.precision}  # a cell accepts either
    try:
        default = config.resolve(plain, run.seed, results.PUBLISHED)
        own = config.resolve(cell, run.seed, run.preset, precision)
    except (ConfigError, KeyError):  # a preset, scenario, method or variant of another config
        yield f"config.yaml has no settings for {run.name} with preset {run.preset}"
        return
    from_default, from_own = changed(record.settings, default), changed(record.settings, own)
    default_of = f"{run.method} at the paper's budget"
    if not from_default | from_own:
        yield f"settings: those of {default_of}"
        return
    heads = ("setting", "this run", default_of, *["this cell in config.yaml"] * bool(from_own))
    table = Table(*heads, box=None)
    for key in from_default | from_own:
        value, replaced = from_default.get(key) or (from_own[key][0],) * 2
        theirs = from_own.get(key, (value, value))[1]
        table.add_row(key, *map(written, (value, replaced, *[theirs] * bool(from_own))))
    yield table


def _machine(record: Record) -> str:
    timing, environment = record.timing, record.environment
    return (
        f"trained {timing.train_seconds:.0f} s ({timing.images_per_second:,.0f} images/s), "
        f"evaluated {timing.eval_seconds:.0f} s, peak {timing.peak_memory_bytes / 2**20:,.0f} MiB, "
        f"{environment.get('threads')} threads on {environment.get('device')}, "
        f"products in {record.settings.precision}"
    )


def _tried(record: Record) -> Iterator[str]:
    files = results.tried(record.cell.preset, record.cell.name)
    if files:
        yield "runs of this cell with --set:"
        yield from (f"  {collect.shown(file)}" for file in files)


def _four(value: float | None) -> str:
    return "–" if value is None or pd.isna(value) else f"{value:.4f}"
