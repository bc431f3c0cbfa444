"""The result in three sentences, and where the numbers come from."""

from collections.abc import Sequence
from importlib.metadata import version

import pandas as pd

from eowm.analysis import results, style
from eowm.analysis.claims import Claim, Outcome
from eowm.analysis.statistics import CLOSE, NOT_COMPARABLE, NOT_REPLICATED, REPLICATED, paired
from eowm.analysis.theorems import FAILS, HOLDS, UNDECIDED
from eowm.config import Config

DRAWN_WITH = ("eowm", "pandas", "scipy", "matplotlib")


def sentences(
    runs: pd.DataFrame, summary: pd.DataFrame, evaluated: Sequence[tuple[Claim, Outcome]]
) -> tuple[str, str, str]:
    """May the numbers be compared, do they agree, and do the claims hold?"""
    return (f"{_comparable(runs)} {_state(runs)}.", _agreement(summary), _claims(runs, evaluated))


def _comparable(runs: pd.DataFrame) -> str:
    """May these numbers be compared with the paper's at all?"""
    runs = runs[runs.in_grid]
    complete = runs[runs.status == results.COMPLETE]
    comparable = int(complete.comparable.sum())
    if complete.empty:
        return "There is no result yet."
    if comparable == len(complete):
        return "All results of the tables were made on the real data with the paper's budget:"
    reasons = {
        "reduced budget": (complete.budget == "reduced").any(),
        "stand-in data": complete.standin.any(),
        "stale settings": complete.stale.any(),
    }
    why = ", ".join(name for name, holds in reasons.items() if holds)
    some = f"{comparable} of the {len(complete)}" if comparable else f"None of the {len(complete)}"
    return f"{some} results may be compared with the paper's ({why}):"


def _state(runs: pd.DataFrame) -> str:
    """Of the grid: records of other cells are no part of its tables."""
    runs = runs[runs.in_grid]
    complete = int((runs.status == results.COMPLETE).sum())
    missing = int((runs.status == results.NOT_RUN).sum())
    failed = len(runs) - complete - missing
    return f"{complete} of {len(runs)} runs complete, {failed} failed, {missing} not run"


def _agreement(summary: pd.DataFrame) -> str:
    counts = summary[summary.in_grid].verdict.value_counts()
    judged = {name: int(counts.get(name, 0)) for name in (REPLICATED, CLOSE, NOT_REPLICATED)}
    other = int(counts.get(NOT_COMPARABLE, 0))
    parts = ", ".join(f"{count} {name}" for name, count in judged.items())
    total = sum(judged.values()) + other
    told = (
        f"Of the {total} numbers that the paper prints for these cells, {parts}, "
        f"{other} {NOT_COMPARABLE}."
    )
    above = summary[summary.paper_above.astype(bool)]
    if above.empty:
        return told
    names = ", ".join(
        f"{at.paper:.4f} of {at.row.upper()} on {style.scenario_title(at.scenario)}, where joint "
        f"training reaches {at.ceiling:.4f}{_task_known(summary, at)}"
        for at in above.itertuples()
    )
    return f"{told} Above our joint training, as no class-incremental number should be: {names}."


def _task_known(summary: pd.DataFrame, at) -> str:
    """What our runs of a cell reach by the easier question, if it was measured."""
    here = summary[(summary.table == at.table) & (summary.scenario == at.scenario)]
    here = here[(here.row == at.row) & (here.metric == results.TASK_KNOWN["AA"]) & (here.n > 0)]
    return "".join(
        f" (our {at.row.upper()}, {line.n} run{'s' if line.n > 1 else ''}: {at.mean:.4f}; "
        f"{line.mean:.4f} if it chose among the classes of an image's own task)"
        for line in here.itertuples()
    )


def _claims(runs: pd.DataFrame, evaluated: Sequence[tuple[Claim, Outcome]]) -> str:
    comparable = runs[runs.comparable.astype(bool) & (runs.table == "table2")]
    signs = [
        paired(comparable, f"table2/{scenario}/eowm", f"table2/{scenario}/owm", "AA").sign
        for scenario in comparable.scenario.unique()
    ]
    known = [sign for sign in signs if sign is not None]
    count = {status: 0 for status in (HOLDS, FAILS, UNDECIDED)}
    for _, outcome in evaluated:
        count[outcome.status] += 1
    gain = (
        f"of the {len(known)} scenarios where EOWM and OWM can be compared seed by seed, EOWM's "
        f"average accuracy is higher in {known.count(1)}, lower in {known.count(-1)} and not told "
        f"apart in {known.count(0)}"
        if known
        else "EOWM and OWM cannot be compared yet"
    )
    return (
        f"Of the paper's {len(evaluated)} claims, {count[HOLDS]} hold, {count[FAILS]} fail and "
        f"{count[UNDECIDED]} are undecided; {gain}."
    )


def provenance(runs: pd.DataFrame, config: Config, preset: str) -> dict[str, str]:
    """Where the numbers come from, by name."""
    recorded = runs[runs.dataset.notna()]
    sources = recorded.groupby("dataset").data_source.unique()
    return {
        "Preset": f"{preset}: {config.presets[preset].description}",
        "Records": f"{len(recorded)} ({_state(runs)})",
        "Data": "; ".join(f"{name}: {', '.join(sorted(by))}" for name, by in sources.items()),
        "Code of the runs": _distinct(recorded["commit"]),
        "Trained with": f"Python {_distinct(recorded.python)}, torch {_distinct(recorded.torch)}",
        "Trained on": _distinct(recorded.device),
        "Training time": duration(recorded.train_seconds.sum()),
        "Drawn with": ", ".join(f"{name} {version(name)}" for name in DRAWN_WITH),
    }


def duration(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def _distinct(values: pd.Series) -> str:
    return ", ".join(sorted({str(value) for value in values.dropna()})) or "unknown"
