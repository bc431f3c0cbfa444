"""The paper's ambiguities (`eowm/paper/ambiguities.yaml`), and what each does to the numbers.

Sensitivity is the paired difference, seed by seed, of a variant cell minus the default one, over
all complete runs of a preset; a reduced budget is named with it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd
import yaml
from pydantic import Field

from eowm import paper
from eowm.analysis.collect import COMPLETE, TASK_KNOWN
from eowm.analysis.statistics import Paired, difference, of_cell, paired
from eowm.analysis.summary import limits
from eowm.settings.config import Config
from eowm.settings.run import Strict

CHANGED = 0.001  # a reading that moves MRR by less changes nothing
NOWHERE: Mapping[str, pd.DataFrame] = MappingProxyType({})


class Ambiguity(Strict):
    """One entry of ambiguities.yaml."""

    number: int
    topic: str
    options: tuple[str, ...]
    text: str = Field(description="what the paper says")
    code: str = Field(description="what the published code does")
    default: str = Field(description="what we do")
    reason: str
    impact: Literal["high", "medium", "low"] = Field(description="expected on the results")
    sensitivity: tuple[tuple[str, str], ...] = Field(
        (), description="cells [variant, default] that measure it"
    )
    reading: str | None = Field(None, description="function that measures it from the same records")


@dataclass(frozen=True)
class Measured:
    """One comparison, per metric; no pair where a cell has not run."""

    variant: str
    default: str
    differences: tuple[Paired, ...]
    limits: str  # "reduced budget" and the like
    note: str = ""  # why there is no number

    @property
    def ran(self) -> bool:
        return any(found.n for found in self.differences)


def load(path: Path = paper.FOLDER / "ambiguities.yaml") -> list[Ambiguity]:
    return [Ambiguity.model_validate(entry) for entry in yaml.safe_load(path.read_text("utf-8"))]


def measure(
    runs: pd.DataFrame,
    config: Config,
    entry: Ambiguity,
    elsewhere: Mapping[str, pd.DataFrame] = NOWHERE,
) -> list[Measured]:
    """What is known about one entry; `elsewhere`: by preset, from `collect.beside`."""
    found = [
        _compare(_runs_of(variant, config, runs, elsewhere), config, variant, default)
        for variant, default in entry.sensitivity
    ]
    return found + (READINGS[entry.reading](runs) if entry.reading else [])


def to_frame(
    runs: pd.DataFrame, config: Config, elsewhere: Mapping[str, pd.DataFrame] = NOWHERE
) -> pd.DataFrame:
    """One line a comparison and metric."""
    lines = []
    for entry in load():
        for measured in measure(runs, config, entry, elsewhere):
            for found in measured.differences:
                lines.append(
                    {
                        "number": entry.number,
                        "topic": entry.topic,
                        "impact": entry.impact,
                        "variant": measured.variant,
                        "default": measured.default,
                        "metric": found.metric,
                        "n": found.n,
                        "difference": found.mean,
                        "low": found.interval[0],
                        "high": found.interval[1],
                        "p": found.p,
                        "limits": measured.limits,
                        "note": measured.note,
                    }
                )
    numbers = dict.fromkeys(("difference", "low", "high", "p"), float)
    return pd.DataFrame(lines).astype(numbers)


def _runs_of(
    cell: str, config: Config, runs: pd.DataFrame, elsewhere: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Those of the preset that runs the cell."""
    table = config.tables.get(cell.partition("/")[0])
    presets = (table.presets if table else None) or ()
    return next((elsewhere[name] for name in presets if name in elsewhere), runs)


def _compare(runs: pd.DataFrame, config: Config, variant: str, default: str) -> Measured:
    """Runs with other settings than config.yaml has now do not count."""
    now = runs[~runs.stale.astype(bool)]
    found = tuple(paired(now, variant, default, metric) for metric in TASK_KNOWN)
    ran = any(difference.n for difference in found)
    return Measured(
        variant, default, found, ", ".join(limits(now)), "" if ran else _absent(config, variant)
    )


def _absent(config: Config, cell: str) -> str:
    table = config.tables.get(cell.partition("/")[0])
    if table is None:
        return "not in the grid"
    return "not run" + (f" (a cell of preset {', '.join(table.presets)})" if table.presets else "")


def mrr_of_every_epoch(runs: pd.DataFrame) -> list[Measured]:
    """MRR with the best accuracy of any epoch, minus MRR with that of ends of tasks."""
    return _other_mrr(runs, "every epoch", lambda run: run.best_epoch_accuracy)


def mrr_of_ends_of_tasks(runs: pd.DataFrame) -> list[Measured]:
    """MRR with acc_ii, minus MRR with the best accuracy."""

    def right_after(run) -> list[float | None]:
        return [None if row is None else row[i] for i, row in enumerate(run.accuracy)]

    return _other_mrr(runs, "share of acc_ii", right_after)


def _other_mrr(
    runs: pd.DataFrame, reading: str, best: Callable[[Any], list[float | None]]
) -> list[Measured]:
    """Of EOWM, and of every row of Table 2 that it changes: `best` is what is shared out."""
    measured = []
    fresh = runs[(runs.status == COMPLETE) & ~runs.stale.astype(bool) & runs.MRR.notna()]
    for (table, scenario, row), here in fresh.groupby(["table", "scenario", "row"], sort=False):
        if row != "eowm" and table != "table2":
            continue
        other, ours = {}, {}
        for run in here.itertuples():
            value = _mrr(run.accuracy[-1], best(run))
            if value is not None:
                other[run.seed], ours[run.seed] = value, run.MRR
        found = difference(other, ours, "MRR")
        if row == "eowm" or abs(found.mean or 0.0) >= CHANGED:
            cell = f"{table}/{scenario}/{row}"
            measured.append(Measured(f"{cell}, {reading}", cell, (found,), ", ".join(limits(here))))
    return measured


def _mrr(last: list[float] | None, best: list[float | None]) -> float | None:
    """MRR with the given accuracies in the place of the best; 0/0 counts as 0."""
    if last is None or any(value is None for value in best[:-1]):
        return None
    ratios = [now / top if top else 0.0 for now, top in zip(last[:-1], best[:-1], strict=True)]
    return sum(ratios) / len(ratios) if ratios else None


def task_known(runs: pd.DataFrame) -> list[Measured]:
    """Choosing among the classes of an image's own task, minus choosing among all of them."""
    measured = []
    fresh = runs[(runs.status == COMPLETE) & ~runs.stale.astype(bool) & (runs.table == "table2")]
    for (scenario, row), here in fresh.groupby(["scenario", "row"], sort=False):
        cell = f"table2/{scenario}/{row}"
        found = tuple(
            difference(of_cell(here, cell, told), of_cell(here, cell, metric), metric)
            for metric, told in TASK_KNOWN.items()
        )
        if found[0].n:
            measured.append(Measured(f"{cell}, task known", cell, found, ", ".join(limits(here))))
    return measured


READINGS: dict[str, Callable[[pd.DataFrame], list[Measured]]] = {
    "mrr_of_every_epoch": mrr_of_every_epoch,
    "mrr_of_ends_of_tasks": mrr_of_ends_of_tasks,
    "task_known": task_known,
}
