"""The result in three sentences, and where the numbers come from."""

from collections.abc import Sequence
from importlib.metadata import version

import pandas as pd

from eowm import paper
from eowm.analysis import style
from eowm.analysis.collect import COMPLETE, NOT_RUN
from eowm.analysis.statistics import CLOSE, NOT_COMPARABLE, NOT_REPLICATED, REPLICATED, paired
from eowm.analysis.summary import CEILING, LETTER
from eowm.settings.config import Config

TABLES = ("table2", "table3")  # of the paper; the grid has more
DRAWN_WITH = ("eowm", "pandas", "scipy", "matplotlib")


def sentences(runs: pd.DataFrame, summary: pd.DataFrame) -> tuple[str, str, str]:
    """Is EOWM above OWM, do the numbers agree, and may they be compared at all?"""
    in_tables = runs[runs.in_grid & runs.table.isin(TABLES)]
    return (_gain(runs), _agreement(summary), f"{_comparable(in_tables)} {_state(in_tables)}.")


def _gain(runs: pd.DataFrame) -> str:
    """The answer first: EOWM over OWM, beside the paper's gain, then EOWM over the others."""
    comparable = runs[runs.comparable.astype(bool) & (runs.table == "table2")]
    published = paper.table2().set_index(["method", "scenario", "metric"]).value
    repeated, once, over_others = [], [], []
    for scenario in comparable.scenario.unique():
        found = {
            method: paired(
                comparable, f"table2/{scenario}/eowm", f"table2/{scenario}/{method}", "AA"
            )
            for method in published.index.unique("method").drop("eowm")
        }
        gain = found.pop("owm")
        over_others += [other.sign for other in found.values() if other.sign is not None]
        claimed = published["eowm", scenario, "AA"] - published["owm", scenario, "AA"]
        if gain.sign is not None and gain.mean is not None:
            repeated.append((gain.sign, gain.mean, claimed))
        elif gain.n:
            where = f"on {style.scenario_title(scenario)} one pair of runs differs by"
            once.append(f"{where} {gain.mean:+.4f} (in the paper by {claimed:+.4f})")
    if not repeated and not once:
        return "EOWM and OWM cannot be compared yet."
    return f"{'; '.join([_found(repeated), *once, *_over_others(over_others)])}."


def _found(repeated: list[tuple[int, float, float]]) -> str:
    """Of the scenarios whose difference has an interval: its sign, its mean and the paper's."""
    if not repeated:
        return "EOWM and OWM were compared by single runs only"
    signs, ours, claimed = zip(*repeated, strict=True)
    above, below = signs.count(1), signs.count(-1)
    answer = "does not replicate" if not above else "replicates in part"
    answer = "replicates" if above == len(signs) else answer
    return (
        f"EOWM's gain over OWM {answer}: its average accuracy is higher, by the 95 % interval of "
        f"the difference, on {above or 'none'} of {len(signs)} scenarios with repeated runs"
        f"{f', lower on {below}' if below else ''} (EOWM − OWM: "
        f"{_range(ours)}; in the paper {_range(claimed)})"
    )


def _range(values: Sequence[float]) -> str:
    ends = dict.fromkeys(f"{value:+.4f}" for value in (min(values), max(values)))
    return " to ".join(ends)


def _over_others(signs: list[int]) -> list[str]:
    counted = f"{signs.count(1)} of {len(signs)} comparisons with repeated runs"
    return [f"over the other methods it is higher in {counted}"] if signs else []


def _comparable(runs: pd.DataFrame) -> str:
    """May these numbers be compared with the paper's at all?"""
    complete = runs[runs.status == COMPLETE]
    comparable = int(complete.comparable.sum())
    if complete.empty:
        return "There is no result yet."
    if comparable == len(complete):
        return "Tables 2 and 3 are of real data and the full budget:"
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
    complete = int((runs.status == COMPLETE).sum())
    missing = int((runs.status == NOT_RUN).sum())
    failed = len(runs) - complete - missing
    return f"{complete} of {len(runs)} runs complete, {failed} failed, {missing} not run"


def _agreement(summary: pd.DataFrame) -> str:
    printed = summary[summary.in_grid & (summary.verdict != "")]
    judged = printed[printed.verdict != NOT_COMPARABLE]
    own = judged.row.str.split(":").str[0].isin(("eowm", "owm"))
    told = (
        f"Of {len(printed)} numbers in the paper's Tables 2 and 3, {len(judged)} can be judged"
        f"{_unjudged(printed, judged)}: of EOWM and OWM {_counted(judged[own])}; of the other "
        f"methods {_counted(judged[~own])}"
    )
    above = summary[summary.paper_above.astype(bool)]
    if above.empty:
        return f"{told}."
    joint = summary[(summary.row == CEILING) & (summary.metric == "AA")]
    joint = joint[joint.marks.str.contains(LETTER["bfloat16"])]
    rounded = set(zip(joint.table, joint.scenario, strict=True))
    names = ", ".join(
        f"{at.row.upper()}'s {at.paper:.4f} on {style.scenario_title(at.scenario)} against "
        f"{at.ceiling:.4f}{' (in bfloat16)' if (at.table, at.scenario) in rounded else ''}"
        for at in above.itertuples()
    )
    above_joint = "above our joint training, which class-incremental learning can hardly beat"
    return f"{told}; {above_joint}: {names}."


def _unjudged(printed: pd.DataFrame, judged: pd.DataFrame) -> str:
    """Scenarios of which no number can be judged, by family."""
    missing = [name for name in printed.scenario.unique() if name not in set(judged.scenario)]
    return f", none of {style.scenario_titles(missing)}" if missing and len(judged) else ""


def _counted(judged: pd.DataFrame) -> str:
    """Verdicts by name; how many of the bad ones rest on one run is told with them."""
    counts = judged.verdict.value_counts()
    once = int(((judged.verdict == NOT_REPLICATED) & (judged.n == 1)).sum())
    verdicts = (REPLICATED, CLOSE, NOT_REPLICATED)
    parts = ", ".join(f"{int(counts.get(name, 0))} {name}" for name in verdicts)
    return f"{parts} ({once} by a single run)" if once else parts


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
