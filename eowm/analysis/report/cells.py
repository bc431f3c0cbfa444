"""What the page shows of one cell: its runs, matrix, curves, settings, and its command."""

from typing import Any

import pandas as pd

from eowm.analysis import style
from eowm.analysis.collect import COMPLETE, METRICS, TASK_KNOWN
from eowm.analysis.statistics import PAIRS, mean, paired
from eowm.records.metrics import average_accuracy_so_far
from eowm.settings.cells import Cell
from eowm.settings.config import Config

POINTS = 100  # of a learning curve: more cannot be seen


def stories(
    runs: pd.DataFrame, summary: pd.DataFrame, config: Config, preset: str
) -> dict[str, dict[str, Any]]:
    """By cell name, ready for JSON; every cell of the grid has one, run or not."""
    names = summary.table + "/" + summary.scenario + "/" + summary.row
    lines = dict(list(summary.groupby(names, sort=False)))
    return {
        str(name): _story(config.cell(str(name)), here, lines[name], runs, config, preset)
        for name, here in runs[runs.in_grid].groupby("cell", sort=False)
    }


def _story(
    cell: Cell,
    here: pd.DataFrame,
    lines: pd.DataFrame,
    runs: pd.DataFrame,
    config: Config,
    preset: str,
) -> dict[str, Any]:
    recorded = here[here.dataset.notna()]  # a run that failed early has no record
    complete = here[here.status == COMPLETE]
    return {
        "title": f"{style.title(config, cell.row)} · {style.scenario_title(cell.scenario)}",
        "colour": style.look(config, cell.row).colour,
        "metrics": [
            _metric(line)
            for line in lines.itertuples()
            if line.n or line.metric not in TASK_KNOWN.values()
        ],
        "pairs": _pairs(cell, runs),
        "runs": [_run(run) for run in recorded.itertuples()],
        "planned": sorted(int(seed) for seed in here.seed),
        "estimate": _estimate(here),
        "matrix": _matrix(complete),
        "average": _average(complete),
        "learning": _learning(complete),
        "settings": _settings(cell, config, preset, recorded),
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


def _run(run) -> dict[str, Any]:
    return {
        "seed": run.seed,
        "status": run.status,
        "metrics": [_number(getattr(run, name)) for name in METRICS],
        "time": style.duration(run.train_seconds),
        "memory": f"{run.peak_memory_bytes / 2**20:,.0f} MiB",
        "machine": run.machine,
        "software": f"Python {run.python}, torch {run.torch}",
        "commit": str(run.commit)[:12],
        "data": f"{run.dataset} from {run.data_source}, sha256 {run.sha256[:12]}…",
        "settings": run.settings_hash,
    }


def _matrix(complete: pd.DataFrame) -> list[list[float] | None]:
    """Mean over runs; a row that was not measured is null."""
    found: list[list[float] | None] = []
    for rows in zip(*complete.accuracy, strict=True):
        measured = [row for row in rows if row is not None]
        columns = zip(*measured, strict=True)
        found.append([round(sum(c) / len(c), 3) for c in columns] if measured else None)
    return found


def _average(complete: pd.DataFrame) -> list[dict[str, Any]]:
    """Figure 3's curve of each run."""
    curves = [(run.seed, average_accuracy_so_far(run.accuracy)) for run in complete.itertuples()]
    return [
        {"seed": seed, "values": [_number(value) for value in curve]}
        for seed, curve in curves
        if None not in curve
    ]


def _learning(complete: pd.DataFrame) -> dict[str, Any] | None:
    """Validation accuracy over the tasks seen, epoch by epoch, mean over runs."""
    curves = [[epoch["validation_seen"] for epoch in curve] for curve in complete.curves]
    length = min(map(len, curves), default=0)
    if length < 2:
        return None
    values = [mean(at) for at in zip(*(curve[:length] for curve in curves), strict=True)]
    tasks = [epoch["task"] for epoch in complete.curves.iloc[0][:length]]
    step = -(-length // POINTS)
    kept = range(step - 1, length, step)
    return {
        "values": [_number(values[i]) for i in kept],
        "tasks": [tasks[i] for i in kept],
        "epochs": length,
    }


def _settings(
    cell: Cell, config: Config, preset: str, recorded: pd.DataFrame
) -> list[dict[str, str]]:
    """As run; of a cell that has not run, as it would run. With the section that sets the value."""
    if len(recorded):
        run = recorded.settings.iloc[0]
    else:
        run = config.resolve(cell, 0, preset).model_dump(mode="json")
    places, limits = config.places(cell, preset), run["limits"]
    lines = []
    for key, value in {**run["net"], **run["training"], **run["options"]}.items():
        limited = key == "epochs" and limits["epochs"]
        place = f"presets.{preset}" if limited else places.get(key)
        origin = f"config.yaml: {place}" if place else "default"
        lines.append({"key": key, "value": _shown(value), "origin": origin})
    return lines + [
        {
            "key": f"limit of {key}",
            "value": _shown(value),
            "origin": f"config.yaml: presets.{preset}",
        }
        for key, value in limits.items()
        if value and key != "epochs"
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
