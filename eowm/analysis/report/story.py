"""The story of each cell: its runs, matrix, curves, settings with their origin, and its command."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eowm import records
from eowm.analysis import results, style
from eowm.analysis.report.verdict import duration
from eowm.analysis.statistics import PAIRS, mean, paired
from eowm.paper import origins
from eowm.records.metrics import average_accuracy_so_far
from eowm.records.record import Record
from eowm.settings.cells import Cell
from eowm.settings.config import Config

POINTS = 150  # of a learning curve: more cannot be seen


def stories(
    runs: pd.DataFrame, summary: pd.DataFrame, config: Config, preset: str
) -> dict[str, dict[str, Any]]:
    """By cell name, ready for JSON; every cell of the grid has one, run or not."""
    found = {}
    key = ["table", "scenario", "row"]
    lines = dict(list(summary.groupby(key, sort=False)))
    for name, here in runs[runs.in_grid].groupby(key, sort=False):
        cell = config.cell("/".join(name))
        found[cell.name] = _story(cell, here, lines[name], runs, config, preset)
    return found


def _story(
    cell: Cell,
    here: pd.DataFrame,
    lines: pd.DataFrame,
    runs: pd.DataFrame,
    config: Config,
    preset: str,
) -> dict[str, Any]:
    recorded = here[here.dataset.notna()]  # a run that failed early has no record
    files = [records.read(Path(path)) for path in recorded.path]
    complete = [record for record in files if record.complete]
    return {
        "title": f"{style.title(config, cell.row)} · {style.scenario_title(cell.scenario)}",
        "colour": style.look(config, cell.row).colour,
        "metrics": [
            _metric(line)
            for line in lines.itertuples()
            if line.n or line.metric not in results.TASK_KNOWN.values()
        ],
        "pairs": _pairs(cell, runs),
        "runs": [_run(record) for record in files],
        "planned": sorted(int(seed) for seed in here.seed),
        "estimate": _estimate(here),
        "matrix": _matrix(complete),
        "average": _average(complete),
        "learning": _learning(complete),
        "settings": _settings(cell, config, preset, files),
        "commands": [
            f"eowm train {cell.name} --seed {here.seed.iloc[0]} --preset {preset}",
            f"snakemake {cell.rule} --config preset={preset}",
        ],
    }


def _metric(line) -> dict[str, Any]:
    return {
        "name": line.metric.replace("_", " "),
        "mean": _number(line.mean),
        "half": _number(line.high - line.mean) if line.n > 1 else None,
        "n": line.n,
        "paper": _number(line.paper),
        "ceiling": _number(line.ceiling),
        "verdict": line.verdict,
        "note": line.note,
    }


def _pairs(cell: Cell, runs: pd.DataFrame) -> list[str]:
    """EOWM against OWM and against its control, seed by seed, with the present settings."""
    runs = runs[~runs.stale.astype(bool)]
    place = f"{cell.table}/{cell.scenario}"
    found = [
        (second, metric, paired(runs, f"{place}/{first}", f"{place}/{second}", metric))
        for first, second in PAIRS
        if first == cell.row
        for metric in ("AA", "MRR")
    ]
    return [f"{metric}, minus {second}: {pair}" for second, metric, pair in found if pair.n]


def _estimate(here: pd.DataFrame) -> str:
    """What is left to do, in hours; from `jobs.costs`, not from results."""
    left = here[here.estimated_core_hours.notna()]
    if left.empty:
        return ""
    cores, gpus = left.estimated_core_hours.sum(), left.estimated_gpu_hours.sum()
    return (
        f"Left: {len(left)} run{'s' if len(left) > 1 else ''}, an estimated {cores:.1f} hours of a "
        f"CPU core, or about {gpus:.2g} GPU-hours."
    )


def _run(record: Record) -> dict[str, Any]:
    timing, environment = record.timing, record.environment
    found = results.metrics_of(record)
    device = f"{environment.get('device')}, threads: {environment.get('threads', 'unknown')}"
    return {
        "seed": record.cell.seed,
        "status": record.status,
        "metrics": [_number(found.get(name)) for name in results.METRICS],
        "time": duration(timing.train_seconds),
        "memory": f"{timing.peak_memory_bytes / 2**20:,.0f} MiB",
        "machine": device,
        "software": f"Python {environment.get('python')}, torch {environment.get('torch')}",
        "commit": str(environment.get("commit"))[:12],
        "data": f"{record.data.name} from {record.data.source}, sha256 {record.data.sha256[:12]}…",
        "settings": record.settings_hash,
    }


def _matrix(complete: Sequence[Record]) -> list[list[float] | None]:
    """Mean over runs; a row that was not measured is null."""
    if not complete:
        return []
    found: list[list[float] | None] = []
    for rows in zip(*(record.accuracy for record in complete), strict=True):
        measured = [row for row in rows if row is not None]
        columns = zip(*measured, strict=True)
        found.append([round(sum(c) / len(c), 3) for c in columns] if measured else None)
    return found


def _average(complete: Sequence[Record]) -> list[dict[str, Any]]:
    """Figure 3's curve of each run."""
    curves = [(record, average_accuracy_so_far(record.accuracy)) for record in complete]
    return [
        {"seed": record.cell.seed, "values": [_number(value) for value in curve]}
        for record, curve in curves
        if None not in curve
    ]


def _learning(complete: Sequence[Record]) -> dict[str, Any] | None:
    """Validation accuracy over the tasks seen, epoch by epoch, mean over runs."""
    curves = [[epoch.validation_seen for epoch in record.curves] for record in complete]
    length = min(map(len, curves), default=0)
    if length < 2:
        return None
    values = [mean(at) for at in zip(*(curve[:length] for curve in curves), strict=True)]
    tasks = [epoch.task for epoch in complete[0].curves[:length]]
    step = -(-length // POINTS)
    kept = range(step - 1, length, step)
    return {
        "values": [_number(values[i]) for i in kept],
        "tasks": [tasks[i] for i in kept],
        "epochs": length,
    }


def _settings(
    cell: Cell, config: Config, preset: str, files: Sequence[Record]
) -> list[dict[str, str]]:
    """As run; of a cell that has not run, as it would run."""
    run = files[0].settings if files else config.resolve(cell, 0, preset)
    places, known = config.places(cell, preset), origins()
    values = {**run.net.model_dump(), **run.training.model_dump(), **run.options}
    lines = []
    for key, value in values.items():
        place = places.get(key, "default")
        said = known.get(place, {})
        origin = said.get(key) or said.get("*") or f"config.yaml, {place}"
        if place.startswith("presets.") or (key == "epochs" and run.limits.epochs):
            origin = f"ours: preset {preset}"
        lines.append({"key": key, "value": _shown(value), "origin": origin})
    limits = {f"limit of {key}": value for key, value in run.limits if value and key != "epochs"}
    return lines + [
        {"key": key, "value": _shown(value), "origin": f"ours: preset {preset}"}
        for key, value in limits.items()
    ]


def _shown(value: Any) -> str:
    """A dictionary holds schedules by layer: from the task's start to its end."""
    if isinstance(value, dict):
        ends = {key: [_shown(end) for end in pair] for key, pair in value.items()}
        return ", ".join(f"{key}: {' → '.join(dict.fromkeys(pair))}" for key, pair in ends.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)


def _number(value: float | None) -> float | None:
    return None if value is None or pd.isna(value) else round(float(value), 4)
