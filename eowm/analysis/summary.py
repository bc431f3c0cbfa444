"""From runs to one line per cell and metric: mean and interval over seeds, and what limits them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from eowm import paper
from eowm.analysis.collect import COMPLETE, HERE, METRICS, NOT_RUN, PUBLISHED
from eowm.analysis.statistics import NEAR, mean, t_interval, verdict
from eowm.settings.config import Config

CEILING = "joint"  # trained on all tasks at once: no class-incremental number should exceed it

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
    Mark("h", "trained here", "trained on this machine"),
    Mark("p", PUBLISHED, "from the published records, not trained on this machine"),
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


def summarise(runs: pd.DataFrame, config: Config) -> pd.DataFrame:
    """Mean, n and 95 % t-interval over seeds, with what limits it; at the paper's budget beside
    the paper's value: what a smaller budget gives has nothing to do with it."""
    in_paper = paper_numbers(config)
    lines = []
    for (table, scenario, row), of_cell in runs.groupby(["table", "scenario", "row"], sort=False):
        first = of_cell.iloc[0]
        full_budget = config.presets[first.preset].budget == "paper"
        for metric in METRICS:
            counted = of_cell[of_cell[metric].notna()]
            centre, (low, high) = (
                mean(counted[metric].tolist()),
                t_interval(counted[metric].tolist()),
            )
            value = in_paper.get((table, metric, row, scenario)) if full_budget else None
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
    notable = {
        "trained here": counted.origin == HERE,
        PUBLISHED: counted.origin == PUBLISHED,
        "test-selected": counted.selection == "test-oracle",
        "bfloat16": counted.precision != "float32",
    }
    for name, applies in (_not_comparable(counted) | notable).items():
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


def _not_comparable(runs: pd.DataFrame) -> dict[str, pd.Series]:
    return {
        "reduced budget": runs.budget == "reduced",
        "stand-in data": runs.standin.astype(bool),
        "stale settings": runs.stale.astype(bool),
    }


def limits(runs: pd.DataFrame) -> list[str]:
    """Why some of the complete runs may not be compared with the paper's."""
    reasons = _not_comparable(runs[runs.status == COMPLETE])
    return [name for name, applies in reasons.items() if applies.any()]


def _of(applies: pd.Series) -> str:
    """How many runs of the cell, where it is not all of them."""
    return "" if applies.all() else f" ({int(applies.sum())} of {len(applies)} runs)"


def paper_numbers(config: Config) -> dict[tuple[str, str, str, str], float]:
    """The paper's values by table, metric, row and scenario, where the table has this row."""
    table2 = {
        ("table2", line.metric, line.method, line.scenario): line.value
        for line in paper.table2().itertuples()
    }
    table3 = {
        ("table3", line.metric, f"eowm:w2-{line.w2:.2f}", line.scenario): line.value
        for line in paper.table3().itertuples()
    }
    return {
        key: value
        for key, value in (table2 | table3).items()
        if key[0] in config.tables and key[2] in config.tables[key[0]].methods
    }
