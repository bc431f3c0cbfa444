"""The paper's statements (`eowm/paper/claims.yaml`), evaluated from records.

A check takes the results at hand and returns an outcome: holds, fails, or undecided and why.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml
from pydantic import Field

from eowm import paper
from eowm.analysis import style
from eowm.analysis.collect import COMPLETE
from eowm.analysis.statistics import (
    CLOSE,
    CONFIDENCE,
    NEAR,
    NOT_REPLICATED,
    REPLICATED,
    SMALL,
    Paired,
    difference,
)  # fmt: skip
from eowm.analysis.summary import CEILING, summarise
from eowm.settings.config import Config
from eowm.settings.run import Strict
from eowm.theory.theorems import FAILS, HOLDS, UNDECIDED

NOTHING = 0.001  # an advantage that never exceeds a tenth of a percentage point is none
BETTER = {"BWT": 1, "FM": -1, "MRR": 1}  # which direction a measure of forgetting praises

RULE = (
    "Methods are compared by paired differences, seed by seed, over runs on the real data with the "
    "paper's budget. “Above” holds if the 95 % t-interval of the mean difference lies above zero, "
    f"and fails if it lies below {NOTHING:g} (no advantage worth the name), or below the step that "
    "the paper itself prints where that is smaller. A claim about several comparisons holds if all "
    "of them do and fails if one does. What is neither is undecided: cells are missing, there are "
    "fewer than two pairs, or the interval is too wide."
)


class Claim(Strict):
    """One entry of claims.yaml."""

    id: str
    kind: Literal["experiment", "theory", "implied"] = Field(
        description="what it is about; implied: not said by the paper, but needed by it"
    )
    where: str = Field(description="place in the paper")
    statement: str = Field(description="in our words")
    confirmed: str = Field(description="what would confirm it")
    refuted: str = Field(description="what would refute it")
    check: str = Field(description="function of this module")
    given: dict[str, Any] = Field({}, description="its arguments")


@dataclass(frozen=True)
class Outcome:
    status: str
    why: str
    details: tuple[str, ...] = ()  # the comparisons behind it
    published: str = ""  # what the paper's own tables say about the claim
    missing: tuple[str, ...] = ()  # cells that it would take to decide, each with the reason


@dataclass(frozen=True)
class Comparison:
    """One part of a claim: as claimed (True), against it (False), or open (None)."""

    text: str
    holds: bool | None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Results:
    """What a check may look at."""

    runs: pd.DataFrame  # of the whole grid
    summary: pd.DataFrame
    theorems: dict[Any, Any] = field(default_factory=dict)  # theorems.csv by id

    @cached_property
    def numbers(self) -> dict[str, pd.DataFrame]:
        """By cell: complete runs that may be compared with the paper's, by seed."""
        counted = self.runs[self.runs.comparable.astype(bool) & (self.runs.status == COMPLETE)]
        groups = counted.groupby(["table", "scenario", "row"], sort=False)
        return {"/".join(name): here.set_index("seed") for name, here in groups}

    @cached_property
    def notes(self) -> dict[str, str]:
        """By cell: what limits it."""
        lines = self.summary[self.summary.metric == "AA"].itertuples()
        return {f"{line.table}/{line.scenario}/{line.row}": line.note for line in lines}

    def values(self, cell: str, metric: str) -> dict[int, float]:
        """One value a seed."""
        here = self.numbers.get(cell)
        return {} if here is None else here[metric].dropna().to_dict()

    def paired(self, first: str, second: str, metric: str) -> Paired:
        return difference(self.values(first, metric), self.values(second, metric), metric)

    def missing(self, cells: Iterable[str], metric: str) -> tuple[str, ...]:
        """Cells without a number to go by, each with the reason."""
        return tuple(
            f"{cell} ({self._reason(cell)})" for cell in cells if not self.values(cell, metric)
        )

    def above(self, first: str, second: str, metric: str, claimed: float = NOTHING) -> Comparison:
        """`claimed`: by how much, in the paper."""
        found = self.paired(first, second, metric)
        text = f"{metric}, {first} − {_last(second)}: {found}"
        missing = self.missing((first, second), metric)
        return Comparison(text, _rising(found, claimed), missing)

    def _reason(self, cell: str) -> str:
        note = self.notes.get(cell)
        return "not in the grid" if note is None else note or "no such number"


CHECKS: dict[str, Callable[..., Outcome]] = {}


def check(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
    CHECKS[function.__name__] = function
    return function


# --- Evaluation -------------------------------------------------------------------------------


def load(path: Path = paper.FOLDER / "claims.yaml") -> list[Claim]:
    return [Claim.model_validate(entry) for entry in yaml.safe_load(path.read_text("utf-8"))]


def gather(runs: pd.DataFrame, config: Config, theorems: Path | None = None) -> Results:
    """`theorems`: the table that notebooks/theorems.ipynb writes, where it is at hand."""
    known = theorems is not None and theorems.is_file()
    measured = pd.read_csv(theorems).set_index("id").to_dict("index") if known else {}
    return Results(runs, summarise(runs, config), measured)


def evaluate(
    results: Results, claims: Sequence[Claim] | None = None
) -> list[tuple[Claim, Outcome]]:
    return [
        (claim, CHECKS[claim.check](results, **claim.given))
        for claim in (load() if claims is None else claims)
    ]


def to_frame(evaluated: Sequence[tuple[Claim, Outcome]]) -> pd.DataFrame:
    """One line a claim."""
    return pd.DataFrame(
        {
            "id": claim.id,
            "kind": claim.kind,
            "where": claim.where,
            "statement": claim.statement,
            "status": outcome.status,
            "why": outcome.why,
            "published": outcome.published,
            "missing": " | ".join(outcome.missing),
            "details": " | ".join(outcome.details),
        }
        for claim, outcome in evaluated
    )


def decide(comparisons: Sequence[Comparison], published: str = "") -> Outcome:
    """All parts hold, one fails, or something is open: the rule above."""
    against = [part for part in comparisons if part.holds is False]
    open_ = [part for part in comparisons if part.holds is None]
    missing = list(dict.fromkeys(cell for part in open_ for cell in part.missing))
    if against:
        status, why = FAILS, f"{len(against)} of {len(comparisons)} comparisons speak against it"
    elif not open_:
        status, why = HOLDS, f"all {len(comparisons)} comparisons agree"
    elif missing:
        status, why = UNDECIDED, _lacking(missing)
    else:
        status, why = UNDECIDED, f"the seeds do not separate {len(open_)} of {len(comparisons)}"
    order = {False: 0, None: 2, True: 1}
    shown = sorted((part for part in comparisons if not part.missing), key=lambda c: order[c.holds])
    return Outcome(status, why, tuple(part.text for part in shown), published, tuple(missing))


def _lacking(missing: Sequence[str]) -> str:
    return f"{len(missing)} cells are missing" if len(missing) > 1 else f"{missing[0]} is missing"


def _last(cell: str) -> str:
    return cell.rpartition("/")[2]


def _agrees(holds: bool, what: str) -> str:
    return f"the paper's own table {'agrees' if holds else 'contradicts it'}: {what}"


# --- Checks on Table 2 --------------------------------------------------------------------------


def _table2() -> dict[tuple[str, str, str], float]:
    """The paper's values by method, scenario and metric."""
    return paper.table2().set_index(["method", "scenario", "metric"]).value.to_dict()


@check
def best(results: Results, metric: str, scenarios: list[str], method: str = "eowm") -> Outcome:
    """The method is above every other of the paper, in every scenario."""
    value, others = _table2(), [m for m in paper.table2().method.unique() if m != method]
    parts = [
        results.above(f"table2/{scenario}/{method}", f"table2/{scenario}/{other}", metric)
        for scenario in scenarios
        for other in others
    ]
    beaten = [
        f"{style.scenario_title(s)}: {other} {value[other, s, metric]:.4f} against "
        f"{value[method, s, metric]:.4f}"
        for s in scenarios
        for other in others
        if value[other, s, metric] >= value[method, s, metric]
    ]
    return decide(parts, _agrees(not beaten, "; ".join(beaten) or "highest in each column"))


@check
def above(results: Results, metric: str, scenarios: list[str], first: str, second: str) -> Outcome:
    """One row is above another in every scenario."""
    parts = [
        results.above(f"table2/{scenario}/{first}", f"table2/{scenario}/{second}", metric)
        for scenario in scenarios
    ]
    value, published = _table2(), ""
    if (second, scenarios[0], metric) in value:
        below = [s for s in scenarios if value[first, s, metric] <= value[second, s, metric]]
        published = _agrees(
            not below, f"not so on {', '.join(below)}" if below else "in each column"
        )
    return decide(parts, published)


@check
def differences(
    results: Results, metric: str, scenarios: list[str], first: str, second: str
) -> Outcome:
    """The paper's differences lie inside the intervals of ours, or at most 0.001 outside.

    An interval wider than the claimed difference on either side of its mean confirms nothing.
    """
    parts, printed = [], []
    for scenario in scenarios:
        cells = f"table2/{scenario}/{first}", f"table2/{scenario}/{second}"
        claimed = _claimed(metric, scenario, first, second)
        found = results.paired(*cells, metric)
        low, high = found.interval
        holds = None
        if low is not None and high is not None:
            inside = low - NOTHING <= claimed <= high + NOTHING
            sharp = (high - low) / 2 <= max(abs(claimed), NOTHING)
            holds = (True if sharp else None) if inside else False
        text = f"{metric}, {cells[0]} − {second}: {found}; the paper {claimed:+.4f}"
        parts.append(Comparison(text, holds, results.missing(cells, metric)))
        printed.append(f"{claimed:+.4f}")
    return decide(parts, f"the paper's own table: {', '.join(printed)}")


@check
def grows(results: Results, metric: str, scenarios: list[str], first: str, second: str) -> Outcome:
    """The advantage of one row over another is larger in each scenario than in the one before."""
    parts = []
    claimed = {scenario: _claimed(metric, scenario, first, second) for scenario in scenarios}
    for fewer, more in pairwise(scenarios):
        gains = [results.paired(f"table2/{s}/{first}", f"table2/{s}/{second}", metric)
                 for s in (more, fewer)]  # fmt: skip
        with_more, with_fewer = (
            dict(zip(gain.seeds, gain.differences, strict=True)) for gain in gains
        )
        growth = difference(with_more, with_fewer, metric)
        cells = [f"table2/{s}/{row}" for s in (fewer, more) for row in (first, second)]
        text = f"growth of {first} − {second} from {fewer} to {more}, {metric}: {growth}"
        holds = _rising(growth, claimed[more] - claimed[fewer])
        parts.append(Comparison(text, holds, results.missing(cells, metric)))
    printed = list(claimed.values())
    rising = all(a < b for a, b in pairwise(printed))
    return decide(parts, _agrees(rising, ", ".join(f"{gain:+.4f}" for gain in printed)))


def _claimed(metric: str, scenario: str, first: str, second: str) -> float:
    value = _table2()
    return round(value[first, scenario, metric] - value[second, scenario, metric], 4)


def _rising(change: Paired, claimed: float = NOTHING) -> bool | None:
    """Above zero; or so low that neither 0.001 nor the smaller change that is claimed is left."""
    low, high = change.interval
    if low is None or high is None:
        return None
    worth = min(NOTHING, claimed) if claimed > 0 else NOTHING
    return True if low > 0 else False if high < worth else None


@check
def below(results: Results, metric: str, scenarios: list[str], row: str, value: float) -> Outcome:
    """A row stays below a value."""
    parts = []
    for scenario in scenarios:
        cell = f"table2/{scenario}/{row}"
        ours = results.values(cell, metric)
        gap = difference(dict.fromkeys(ours, value), ours, metric)
        text = f"{value:g} − {metric} of {cell}: {gap}"
        parts.append(Comparison(text, _rising(gap), results.missing([cell], metric)))
    return decide(parts)


@check
def replicated(results: Results, table: str, row: str | None = None) -> Outcome:
    """Every number of a table, or of one of its rows, by the rule for verdicts."""
    here = results.summary[(results.summary.table == table) & (results.summary.verdict != "")]
    here = here[here.row == row] if row else here
    parts = []
    for line in here.itertuples():
        cell = f"{table}/{line.scenario}/{line.row}"
        judged = line.verdict in (REPLICATED, CLOSE, NOT_REPLICATED)
        text = (
            f"{line.metric}, {cell}: {line.mean:.4f} (n = {line.n}), the paper {line.paper:.4f}, "
        )
        missing = () if judged else (f"{cell} ({line.note or line.verdict})",)
        holds = line.verdict != NOT_REPLICATED if judged else None
        parts.append(Comparison(text + line.verdict, holds, missing))
    return decide(parts) if parts else Outcome(UNDECIDED, f"{table} is not in the grid")


@check
def below_joint(results: Results) -> Outcome:
    """No class-incremental number of the paper is above joint training at the paper's budget."""
    summary = results.summary
    joint = summary[(summary.row == CEILING) & (summary.metric == "AA")]
    parts = []
    for line in summary[(summary.metric == "AA") & summary.paper.notna()].itertuples():
        ceiling = joint[(joint.table == line.table) & (joint.scenario == line.scenario)]
        if line.table != "table2" or line.scenario.startswith("shuffled"):
            continue
        known = len(ceiling) > 0 and bool(ceiling.comparable.iloc[0])
        cell = f"{line.table}/{line.scenario}/{CEILING}"
        text, holds = f"{line.scenario}, {line.row}: the paper {line.paper:.4f}", None
        if known:
            joined, n = ceiling["mean"].iloc[0], ceiling.n.iloc[0]
            text += f", joint training {joined:.4f} (n = {n})"
            unclear = n == 1 and line.paper > joined  # one run has no interval
            holds = False if line.paper_above else None if unclear else True
        missing = () if known else results.missing([cell], "AA")
        parts.append(Comparison(text, holds, missing))
    return (
        decide(parts) if parts else Outcome(UNDECIDED, "no class-incremental scenario in the grid")
    )


# --- Checks on Table 3 --------------------------------------------------------------------------


def _ablation(scenario: str, metric: str) -> dict[str, float]:
    """The paper's values by cell, with w2 rising."""
    table = paper.table3()
    here = table[(table.scenario == scenario) & (table.metric == metric)].sort_values("w2")
    return {f"table3/{scenario}/eowm:w2-{line.w2:.2f}": line.value for line in here.itertuples()}


@check
def rises(results: Results, metric: str, scenario: str) -> Outcome:
    """The metric is higher for every next w2 of Table 3."""
    value = _ablation(scenario, metric)
    parts = [
        results.above(more, less, metric, value[more] - value[less])
        for less, more in pairwise(value)
    ]
    numbers = list(value.values())
    rising = all(a < b for a, b in pairwise(numbers))
    return decide(parts, _agrees(rising, ", ".join(f"{number:.4f}" for number in numbers)))


@check
def rises_then_falls(results: Results, metric: str, scenario: str) -> Outcome:
    """Higher in the first step of Table 3, lower in the last."""
    value = _ablation(scenario, metric)
    first, middle, last = value
    parts = [
        results.above(middle, first, metric, value[middle] - value[first]),
        results.above(middle, last, metric),
    ]
    shape = value[first] < value[middle] > value[last]
    return decide(parts, _agrees(shape, ", ".join(f"{v:.4f}" for v in value.values())))


@check
def no_harm(results: Results, metric: str, first: str, second: str) -> Outcome:
    """The first cell is not below the second; a loss of less than 0.005 counts as none."""
    found = results.paired(first, second, metric)
    low, high = found.interval
    holds = None
    if low is not None and high is not None:
        holds = True if low > -SMALL else False if high < -SMALL else None
    text = f"{metric}, {first} − {_last(second)}: {found}"
    return decide([Comparison(text, holds, results.missing((first, second), metric))])


# --- Checks on metrics --------------------------------------------------------------------------


def _misled(results: Results, metric: str) -> tuple[list[str], int]:
    """Pairs of methods where AA is clearly lower and the metric better; and how many were asked.

    The more pairs are asked, the surer each must be (Bonferroni): one in many is better by chance.
    """
    runs = results.runs[results.runs.comparable.astype(bool) & (results.runs.table == "table2")]
    asked = 0
    better: list[tuple[float, str]] = []
    for scenario, here in runs.groupby("scenario", sort=False):
        for low, high in permutations(here.row.unique(), 2):
            cells = f"table2/{scenario}/{low}", f"table2/{scenario}/{high}"
            accuracy, praise = (results.paired(*cells, name) for name in ("AA", metric))
            clearly = accuracy.sign == -1 and accuracy.mean is not None and accuracy.mean <= -NEAR
            asked += clearly and praise.n > 1
            if clearly and praise.p is not None and praise.sign == BETTER[metric]:
                better.append((praise.p, f"{cells[0]} − {high}: AA {accuracy}; {metric} {praise}"))
    return [text for p, text in better if p * asked < 1 - CONFIDENCE], asked


@check
def misleads(results: Results, metric: str) -> Outcome:
    """The metric prefers a method whose AA is clearly (0.02, beyond the interval) lower.

    One case is enough; that there is none takes the whole of Table 2.
    """
    found, asked = _misled(results, metric)
    if found:
        why = f"{metric} prefers the clearly less accurate method in {len(found)} of {asked} pairs"
        return Outcome(HOLDS, why, tuple(found))
    summary = results.summary
    grid = summary[(summary.table == "table2") & summary.in_grid & (summary.metric == metric)]
    cells = [f"table2/{line.scenario}/{line.row}" for line in grid.itertuples()
             if line.row != CEILING]  # fmt: skip
    missing = results.missing(cells, metric)
    agrees = f"beyond chance, {metric} prefers the less accurate method in none of {asked} pairs"
    if missing:
        return Outcome(UNDECIDED, f"{agrees}, but {_lacking(missing)}", missing=missing)
    return Outcome(FAILS if asked else UNDECIDED, agrees)


@check
def does_not_mislead(results: Results, metric: str) -> Outcome:
    swap = {HOLDS: FAILS, FAILS: HOLDS}
    found = misleads(results, metric)
    return replace(found, status=swap.get(found.status, found.status))


@check
def within(results: Results, metric: str, low: float, high: float) -> Outcome:
    """Every run's value lies in the range."""
    values = results.runs[results.runs.status == COMPLETE][metric].dropna()
    if values.empty:
        return Outcome(UNDECIDED, "no run has the metric")
    outside = int((~values.between(low, high)).sum())
    text = f"{metric} from {values.min():.4f} to {values.max():.4f} in {len(values)} runs"
    return Outcome(FAILS if outside else HOLDS, f"{outside} of {len(values)} runs outside", (text,))


# --- Theorems -----------------------------------------------------------------------------------


@check
def theorem(results: Results, finding: str) -> Outcome:
    """As `eowm.theory` measured it, in notebooks/theorems.ipynb."""
    row = results.theorems.get(finding)
    if row is None or "status" not in row:
        return Outcome(UNDECIDED, "not measured: run notebooks/theorems.ipynb")
    return Outcome(row["status"], row["verdict"], (row["measured"],))
