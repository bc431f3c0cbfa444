"""Does another machine get the published numbers? Run by run, with equal seeds and settings.

Equal code on another processor, or with other threads, rounds differently, and training amplifies
the last bits. `reruns.csv` measures how much: the cells of the preset `quick`, seed 0, trained
again with one and two threads and with other instruction sets (benchmarks/reruns.py). A difference
of two runs is within the scatter if it is inside the 99.9 % prediction interval of such a
difference, from these runs and the published one, or below 0.001. For a cell without reruns, its
published seeds stand in for them.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from scipy import stats

from eowm import paths
from eowm.analysis import collect
from eowm.analysis.collect import COMPLETE
from eowm.analysis.summary import paper_numbers
from eowm.settings.config import Config

RERUNS = Path(__file__).with_name("reruns.csv")
CONFIDENCE = 0.999
METRICS = ("AA", "MRR")
FEWEST = 5  # seeds from which a scatter is estimated
SMALLEST = 0.001  # a difference below it is never told: some methods hardly amplify anything

IDENTICAL, WITHIN, DIFFERS = "identical", "within scatter", "differs"
UNKNOWN = "scatter unknown"  # no reruns, and too few seeds
OTHER_SETTINGS, NOT_PUBLISHED = "other settings", "not published"
COLUMNS = ["cell", "seed", "metric", "paper", "published", "here", "allowed", "outcome"]

NOTHING = pd.DataFrame(columns=COLUMNS)
RULE = (
    "Identical: every test accuracy after every task. Within scatter: AA and MRR each within the "
    "99.9 % prediction interval of the difference of two runs with one seed, measured over "
    "threads, instruction sets and processors, or within 0.001 (docs/protocol.md)."
)


def of_preset(config: Config, preset: str, runs: pd.DataFrame | None = None) -> pd.DataFrame:
    """The runs that this machine made; none where they are the published ones themselves, or of
    another budget than the paper's."""
    kind = config.presets[preset]
    runs = collect.load(config, preset) if runs is None else runs
    if kind.rest:
        here = runs[runs.origin == collect.HERE]
    else:
        apart = paths.OUT != paths.ROOT and kind.budget == "paper"
        here = runs[apart & (runs.status != collect.NOT_RUN)]
    published = collect.load(config, kind.rest or preset, paths.ROOT)
    return compare(here, published, paper_numbers(config))


def compare(
    here: pd.DataFrame, published: pd.DataFrame, in_paper: Mapping[tuple[str, str, str, str], float]
) -> pd.DataFrame:
    """Every run in `here` beside the published one of its cell and seed; a line per metric."""
    reruns = pd.read_csv(RERUNS)
    theirs = {(run.cell, run.seed): run for run in _complete(published).itertuples()}
    lines = []
    for run in here.itertuples():
        other = theirs.get((run.cell, run.seed))
        for metric in METRICS:
            ours = getattr(run, metric)
            if run.status == COMPLETE and pd.isna(ours):
                continue  # joint training has no MRR
            allowed = tolerance(run.cell, metric, reruns, published)
            lines.append(
                {
                    "cell": run.cell,
                    "seed": run.seed,
                    "metric": metric,
                    "paper": in_paper.get((run.table, metric, run.row, run.scenario)),
                    "published": getattr(other, metric, None),
                    "here": ours,
                    "allowed": allowed,
                    "outcome": _outcome(run, other, metric, allowed),
                }
            )
    numbers = dict.fromkeys(("paper", "published", "here", "allowed"), float)
    return pd.DataFrame(lines, columns=COLUMNS).astype(numbers)


def tolerance(
    cell: str, metric: str, reruns: pd.DataFrame, published: pd.DataFrame
) -> float | None:
    """The largest difference of two runs with one seed that is still within the scatter.

    t · √2 · s: s is the standard deviation of one run, and two of them differ.
    """
    runs = _complete(published)
    again, own = reruns[reruns.cell == cell], runs[runs.cell == cell]
    if len(again):
        own = own[own.seed.isin(again.seed)]
    values = pd.concat([again[metric], own[metric]]).dropna()
    if len(values) < FEWEST:
        return None
    t = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)
    return max(SMALLEST, float(t * 2**0.5 * values.std()))


def _outcome(run, other, metric: str, allowed: float | None) -> str:
    if run.status != COMPLETE:
        return run.status
    if other is None:
        return NOT_PUBLISHED
    if run.settings_hash != other.settings_hash:
        return OTHER_SETTINGS
    if run.accuracy == other.accuracy:
        return IDENTICAL
    if allowed is None:
        return UNKNOWN
    return WITHIN if abs(getattr(run, metric) - getattr(other, metric)) <= allowed else DIFFERS


def _complete(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs.status == COMPLETE]


def disagrees(found: pd.DataFrame) -> bool:
    """A run that failed here does, too."""
    return bool((found.outcome.eq(DIFFERS) | found.outcome.str.startswith("failed")).any())


def sentence(found: pd.DataFrame) -> str:
    """`14 runs beside the published ones: 11 within scatter, 3 identical.`"""
    by_run = found.groupby(["cell", "seed"]).outcome.agg(_worst)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in by_run.value_counts().items())
    runs = "run" if len(by_run) == 1 else "runs"
    return f"{len(by_run)} {runs} beside the published ones: {counts}."


def _worst(outcomes: pd.Series) -> str:
    """Of the metrics of a run."""
    harmless = (WITHIN, IDENTICAL)
    return next((outcome for outcome in outcomes if outcome not in harmless), outcomes.min())
