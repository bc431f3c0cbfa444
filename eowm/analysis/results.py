"""From record files to two tidy tables: one line per run, and one line per cell and metric."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from eowm import paper, paths, records
from eowm.analysis.statistics import COMPLETE, NEAR, mean, t_interval, verdict
from eowm.errors import ConfigError, RecordError, nearest
from eowm.jobs import costs, holds
from eowm.records.metrics import all_metrics, average_accuracy_so_far
from eowm.records.record import Record
from eowm.settings.cells import Cell
from eowm.settings.config import Config

# Of a net that chooses among the classes of an image's own task.
TASK_KNOWN = {"AA": "AA_task_known", "MRR": "MRR_task_known"}
METRICS = ("AA", "MRR", "BWT", "FM", "plasticity", *TASK_KNOWN.values())
NOT_RUN = "not run"
CEILING = "joint"  # the row that no class-incremental number should exceed

RUN_COLUMNS = [
    "preset", "table", "scenario", "method", "variant", "row", "seed", "status", *METRICS,
    "train_seconds", "eval_seconds", "estimated_core_hours", "estimated_gpu_hours", "dataset",
    "data_source", "comparable", "budget", "standin", "stale",
    "selection", "precision", "in_grid", "commit", "python", "torch", "device", "path",
]  # fmt: skip
SUMMARY_COLUMNS = [
    "preset", "table", "metric", "scenario", "method", "variant", "row", "n", "seeds", "mean",
    "low", "high", "paper", "verdict", "ceiling", "ours_above", "paper_above", "comparable",
    "in_grid", "marks", "note",
]  # fmt: skip

ABOVE_JOINT = "above joint"


@dataclass(frozen=True)
class Mark:
    """What a reader must know about a number: a letter for the cell, words for the legend."""

    letter: str
    name: str
    meaning: str


MARKS = (
    Mark("r", "reduced budget", "fewer epochs or images than in the paper, so not comparable"),
    Mark("s", "stand-in data", "synthetic images in place of the dataset, so not comparable"),
    Mark("o", "stale settings", "run with other settings than config.yaml has now"),
    Mark("t", "test-selected", "epochs were chosen on the test images (leakage)"),
    Mark("b", "bfloat16", "layers multiplied in bfloat16 while they learnt, not in float32"),
    Mark("j", ABOVE_JOINT, "above joint training on all tasks at once: wrong until explained"),
    Mark("f", "failed", "a run failed and is not part of the mean"),
    Mark("m", "not run", "a run has no record and is not part of the mean"),
    Mark("u", "not defined", "the metric needs accuracies that the runs do not have"),
)
LETTER = {mark.name: mark.letter for mark in MARKS}


# --- One line per run -------------------------------------------------------------------------


def collect(folder: Path, config: Config, preset: str) -> pd.DataFrame:
    """Every run of the preset's grid, also those without a record, and every record there is.

    A record that is not what its place says is refused: it would count for another cell.
    """
    if preset not in config.presets:
        raise ConfigError(f"preset '{preset}' is unknown{nearest(preset, config.presets)}.")
    grid = {cell.name: cell for cell in config.cells(preset)}
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for path, record in records.read_all(folder):
        _refuse_misplaced(record, path, folder, preset)
        name = record.cell.name
        found[name, record.cell.seed] = _line(record, path, config, in_grid=name in grid)
    lines = []
    for name, cell in grid.items():
        for seed in config.seeds(cell, preset):
            known = (name, seed) in found
            lines.append(
                found.pop((name, seed)) if known else _missing(cell, seed, config, preset, folder)
            )
    runs = pd.DataFrame([*lines, *found.values()], columns=RUN_COLUMNS)
    return runs.astype(dict.fromkeys(METRICS, float))


def accuracy_so_far(runs: pd.DataFrame) -> pd.DataFrame:
    """Figure 3's curves: per complete run, the mean accuracy of the tasks learnt so far."""
    lines = []
    for run in runs[runs.status == COMPLETE].itertuples():
        curve = average_accuracy_so_far(records.read(Path(run.path)).accuracy)
        for tasks, accuracy in enumerate(curve, start=1):
            if accuracy is not None:
                lines.append((run.table, run.scenario, run.row, run.seed, tasks, accuracy))
    return pd.DataFrame(lines, columns=["table", "scenario", "row", "seed", "tasks", "accuracy"])


def metrics_of(record: Record) -> dict[str, float | None]:
    """Those of `METRICS` that the record has."""
    known = all_metrics(record.task_known) if record.task_known else {}
    return record.metrics | {ours: known.get(name) for name, ours in TASK_KNOWN.items()}


def _line(record: Record, path: Path, config: Config, in_grid: bool) -> dict[str, Any]:
    cell, data = record.cell, record.data
    stale = _stale(record, config)
    standin = data.source == "standin" or not data.comparable
    return {
        **cell.model_dump(),
        "row": cell.row,
        "status": record.status,
        **(metrics_of(record) if record.complete else {}),
        "train_seconds": record.timing.train_seconds,
        "eval_seconds": record.timing.eval_seconds,
        "dataset": data.name,
        "data_source": data.source,
        # `stale` too: a run with `--set epochs=1` still carries its preset's budget.
        "comparable": record.complete and cell.budget == "paper" and not standin and not stale,
        "standin": standin,
        "stale": stale,
        "selection": record.settings.training.selection,
        "precision": record.settings.precision,
        "in_grid": in_grid,
        **{key: record.environment.get(key) for key in ("commit", "python", "torch", "device")},
        "path": _shown(path),
    }


def _missing(cell: Cell, seed: int, config: Config, preset: str, folder: Path) -> dict[str, Any]:
    """Never run, or run in vain: then its note says why."""
    expected = costs.estimate(config, cell, preset)
    path = folder / _place(cell.name, seed)
    why = holds.failure(path)
    return {
        "preset": preset,
        "table": cell.table,
        "scenario": cell.scenario,
        "method": cell.method,
        "variant": cell.variant,
        "row": cell.row,
        "seed": seed,
        "status": f"failed: {why}" if why else NOT_RUN,
        "estimated_core_hours": round(expected.core_hours, 3),
        "estimated_gpu_hours": round(expected.gpu_hours, 3),
        "comparable": False,
        "standin": False,
        "stale": False,
        "in_grid": True,
        "path": _shown(path),
    }


def _place(cell: str, seed: int) -> Path:
    return Path(paths.cell_path(cell)) / f"seed{seed}.json"


def _refuse_misplaced(record: Record, path: Path, folder: Path, preset: str) -> None:
    cell, settings = record.cell, record.settings
    if cell.preset != preset:
        raise RecordError(
            f"{path} is a record of preset '{cell.preset}', not of '{preset}': move it away."
        )
    if path.relative_to(folder) != _place(cell.name, cell.seed):
        raise RecordError(
            f"{path} is the record of {cell.name}, seed {cell.seed}: "
            f"it belongs in {folder / _place(cell.name, cell.seed)}."
        )
    for key in ("scenario", "method", "variant", "seed"):
        if getattr(settings, key) != getattr(cell, key):
            raise RecordError(
                f"{path} contradicts itself: {key} is {getattr(cell, key)!r} in its cell and "
                f"{getattr(settings, key)!r} in its settings; run its cell again."
            )
    lengths = {len(record.accuracy), *(len(row) for row in record.accuracy if row is not None)}
    if record.complete and lengths != {settings.tasks}:
        raise RecordError(
            f"{path} does not hold {settings.tasks} × {settings.tasks} accuracies; "
            "run its cell again."
        )


def _stale(record: Record, config: Config) -> bool:
    """Does config.yaml ask for another run now, or no longer know the method or scenario?"""
    run = record.cell
    try:
        cell = Cell(run.table, run.scenario, run.method, run.variant)
        own = {"precision": record.settings.precision}  # a cell accepts either
        return config.resolve(cell, run.seed, run.preset, own).hash() != record.settings_hash
    except (ConfigError, KeyError):
        return True


def _shown(path: Path) -> str:
    """From the working folder where it can be: a table then names no folder of this machine."""
    full, here = path.absolute(), Path.cwd()
    return str(full.relative_to(here) if full.is_relative_to(here) else path)


# --- One line per cell and metric -------------------------------------------------------------


def summarise(runs: pd.DataFrame, config: Config) -> pd.DataFrame:
    """Mean, n and 95 % t-interval over seeds, beside the paper's value, with what limits it."""
    published = _published()
    lines = []
    for (table, scenario, row), of_cell in runs.groupby(["table", "scenario", "row"], sort=False):
        first = of_cell.iloc[0]
        in_paper = table in config.tables and row in config.tables[table].methods
        for metric in METRICS:
            counted = of_cell[of_cell[metric].notna()]
            centre, (low, high) = (
                mean(counted[metric].tolist()),
                t_interval(counted[metric].tolist()),
            )
            value = published.get((table, metric, row, scenario)) if in_paper else None
            comparable = len(counted) > 0 and bool(counted.comparable.all())
            notes = list(_notes(of_cell, metric))
            failed = any(name == "failed" for name, _ in notes)
            lines.append(
                {
                    "preset": first.preset,
                    "table": table,
                    "metric": metric,
                    "scenario": scenario,
                    "method": first.method,
                    "variant": first.variant,
                    "row": row,
                    "n": len(counted),
                    "seeds": " ".join(str(seed) for seed in sorted(counted.seed)),
                    "mean": centre,
                    "low": low,
                    "high": high,
                    "paper": value,
                    "verdict": ""
                    if value is None
                    else verdict(centre, low, high, value, comparable and not failed),
                    "comparable": comparable,
                    "in_grid": bool(first.in_grid),
                    "marks": "".join(LETTER[name] for name, _ in notes),
                    "note": "; ".join(text for _, text in notes),
                }
            )
    summary = pd.DataFrame(lines, columns=SUMMARY_COLUMNS)
    numbers = dict.fromkeys(("mean", "low", "high", "paper", "ceiling"), float)
    return _with_ceiling(summary.astype(numbers), config)


def _with_ceiling(summary: pd.DataFrame, config: Config) -> pd.DataFrame:
    """Joint training beside every class-incremental AA, and who exceeds its interval, or exceeds
    a single run by two percentage points.

    The paper's number is held against a joint run with the paper's budget only.
    """
    joint = summary[(summary.row == CEILING) & (summary.metric == "AA") & (summary.n > 0)]
    ceilings = {(line.table, line.scenario): line for line in joint.itertuples()}
    summary = summary.assign(ours_above=False, paper_above=False)
    for line in summary[(summary.metric == "AA") & (summary.row != CEILING)].itertuples():
        ceiling = ceilings.get((line.table, line.scenario))
        family = config.families.get(line.scenario.rpartition("-")[0])
        if ceiling is None or family is None or family.stream != "disjoint":
            continue
        limit = ceiling.mean + NEAR if ceiling.n == 1 else ceiling.high
        ours, published = line.mean > limit, ceiling.comparable and line.paper > limit
        summary.loc[line.Index, "ceiling"] = ceiling.mean
        summary.loc[line.Index, ["ours_above", "paper_above"]] = ours, published
        if ours:
            marks = set(line.marks) | {LETTER[ABOVE_JOINT]}
            summary.loc[line.Index, "marks"] = "".join(m.letter for m in MARKS if m.letter in marks)
            note = f"{ABOVE_JOINT} ({ceiling.mean:.4f})"
            summary.loc[line.Index, "note"] = "; ".join(filter(None, (line.note, note)))
    return summary


def _notes(runs: pd.DataFrame, metric: str) -> Iterator[tuple[str, str]]:
    """Name and full text of everything that limits a cell's number."""
    done = runs[runs.status == COMPLETE]
    counted = done[done[metric].notna()]
    limits = {
        "reduced budget": counted.budget == "reduced",
        "stand-in data": counted.standin,
        "stale settings": counted.stale,
        "test-selected": counted.selection == "test-oracle",
        "bfloat16": counted.precision != "float32",
    }
    for name, applies in limits.items():
        if applies.any():
            yield name, name + _of(applies)
    failed = runs.status.str.startswith("failed")
    if failed.any():
        reasons = runs[failed].status.str.removeprefix("failed").str.lstrip(": ").unique()
        yield "failed", "failed: " + ", ".join(reasons) + _of(failed)
    missing = runs.status == NOT_RUN
    if missing.any():
        yield NOT_RUN, NOT_RUN + _of(missing)
    if len(done) and counted.empty:
        yield "not defined", "not defined"


def _of(applies: pd.Series) -> str:
    """How many runs of the cell, where it is not all of them."""
    return "" if applies.all() else f" ({int(applies.sum())} of {len(applies)} runs)"


def _published() -> dict[tuple[str, str, str, str], float]:
    """The paper's values by table, metric, row and scenario."""
    table2 = {
        ("table2", line.metric, line.method, line.scenario): line.value
        for line in paper.table2().itertuples()
    }
    table3 = {
        ("table3", line.metric, f"eowm:w2-{line.w2:.2f}", line.scenario): line.value
        for line in paper.table3().itertuples()
    }
    return table2 | table3
