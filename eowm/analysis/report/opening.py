"""What opens the page: the gain over OWM, the verdicts counted, and where the numbers come from."""

from importlib.metadata import version

import pandas as pd

from eowm import paper
from eowm.analysis import style
from eowm.analysis.collect import COMPLETE, NOT_RUN
from eowm.analysis.statistics import CLOSE, NOT_COMPARABLE, NOT_REPLICATED, REPLICATED, paired_table
from eowm.analysis.summary import limits
from eowm.settings.config import Config

TABLES = ("table2", "table3")  # of the paper; the grid has more
DRAWN_WITH = ("eowm", "pandas", "scipy", "matplotlib")


def sentences(runs: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    """Numbers only: what they mean is written by hand, in docs/findings.md."""
    in_tables = runs[runs.in_grid & runs.table.isin(TABLES)]
    return [_gain(runs), _verdicts(summary), _comparable(in_tables)]


def _gain(runs: pd.DataFrame) -> str:
    pairs = paired_table(runs[runs.comparable.astype(bool)], paper.table2(), ("AA",))
    pairs = pairs[(pairs.second == "owm") & (pairs.n > 0)]
    told = []
    for pair in pairs.itertuples():
        spread = f" [{pair.low:+.4f}, {pair.high:+.4f}]" if pair.n > 1 else " (one pair)"
        where = style.scenario_title(pair.scenario)
        told.append(f"{where} {pair.difference:+.4f}{spread}, in the paper {pair.paper:+.4f}")
    found = "; ".join(told) or "no pair of runs that may be compared"
    return f"Average accuracy, EOWM − OWM [95 % interval]: {found}."


def _verdicts(summary: pd.DataFrame) -> str:
    printed = summary[summary.in_grid & (summary.verdict != "")]
    own = printed.method.isin(("eowm", "owm"))
    parts = []
    for who, lines in (("EOWM and OWM", printed[own]), ("the other methods", printed[~own])):
        counts = lines.verdict.value_counts()
        verdicts = (REPLICATED, CLOSE, NOT_REPLICATED, NOT_COMPARABLE)
        parts.append(f"of {who} " + ", ".join(f"{counts.get(name, 0)} {name}" for name in verdicts))
    return f"{len(printed)} numbers of the paper's Tables 2 and 3: {'; '.join(parts)}."


def _comparable(runs: pd.DataFrame) -> str:
    why = ", ".join(limits(runs))
    return (
        f"{_state(runs)}; {int(runs.comparable.sum())} may be compared with the paper's"
        f"{f' ({why})' if why else ''}."
    )


def _state(runs: pd.DataFrame) -> str:
    """Of the grid: records of other cells are no part of its tables."""
    runs = runs[runs.in_grid]
    complete, missing = (int((runs.status == status).sum()) for status in (COMPLETE, NOT_RUN))
    failed = len(runs) - complete - missing
    return f"{complete} of {len(runs)} runs complete, {failed} failed, {missing} not run"


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
        "Training time": style.duration(recorded.train_seconds.sum()),
        "Drawn with": ", ".join(f"{name} {version(name)}" for name in DRAWN_WITH),
    }


def _distinct(values: pd.Series) -> str:
    return ", ".join(sorted({str(value) for value in values.dropna()})) or "unknown"
