"""What a handful of seeds can say: intervals, paired differences, and one verdict per cell.

Runs of two methods with one seed share initial weights and, with equal batch sizes, the order of
batches, so methods are compared by the differences of such pairs, never by the means of two cells.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from scipy import stats

from eowm.analysis.collect import COMPLETE

CONFIDENCE = 0.95
MARGIN = 0.002  # of AA on MNIST: smaller differences do not matter; set after the first seeds

REPLICATED, CLOSE, NOT_REPLICATED = "replicated", "close", "not replicated"
NOT_COMPARABLE = "not comparable"
SIGNS = {REPLICATED: "=", CLOSE: "≈", NOT_REPLICATED: "≠"}  # as they stand in a table's cell
SMALL, NEAR = 0.005, 0.02  # half a percentage point, two percentage points
TINY = 1e-12  # differences of floats below it are none

RULE = (
    f"A cell is {REPLICATED} (=) if our mean is within {SMALL:g} of the paper's number, or within "
    f"{NEAR:g} and the number lies inside our 95 % t-interval, if that is no wider than ±{NEAR:g}. "
    f"It is {CLOSE} (≈) if it is within {NEAR:g}, otherwise {NOT_REPLICATED} (≠), also by a single "
    f"run. It is {NOT_COMPARABLE} without a run on the real data with the paper's budget and the "
    "present settings, where a run of the cell failed, and where our runs scatter so widely that "
    "the number lies inside their interval although it is farther away."
)


def mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def t_interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """95 % Student t-interval of the mean; one value says nothing about its spread."""
    n, centre = len(values), mean(values)
    if n < 2 or centre is None:
        return None, None
    spread = math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (n - 1))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * spread / math.sqrt(n)
    return centre - half, centre + half


def verdict(
    ours: float | None, low: float | None, high: float | None, paper: float, comparable: bool
) -> str:
    """The rule above. `low` and `high` are None where there is one run only."""
    if ours is None or not comparable:
        return NOT_COMPARABLE
    difference = abs(ours - paper) - TINY  # 0.005 itself counts as within 0.005
    inside = low is not None and high is not None and low <= paper <= high
    narrow = low is not None and high is not None and (high - low) / 2 <= NEAR + TINY
    if difference <= SMALL or (inside and narrow and difference <= NEAR):
        return REPLICATED
    if difference <= NEAR:
        return CLOSE
    return NOT_COMPARABLE if inside else NOT_REPLICATED


# --- Paired differences -----------------------------------------------------------------------


@dataclass(frozen=True)
class Paired:
    """The differences first − second of one metric over the seeds that both cells have."""

    metric: str
    seeds: tuple[int, ...]
    differences: tuple[float, ...]
    margin: float = MARGIN

    @property
    def n(self) -> int:
        return len(self.differences)

    @property
    def mean(self) -> float | None:
        return mean(self.differences)

    @property
    def interval(self) -> tuple[float | None, float | None]:
        return t_interval(self.differences)

    @property
    def p(self) -> float | None:
        """Of the paired, two-sided t-test against no difference."""
        if self.n < 2:
            return None
        if self.spread < TINY:  # nothing to divide by
            return 1.0 if abs(self.differences[0]) < TINY else 0.0
        return float(stats.ttest_1samp(self.differences, 0.0).pvalue)

    @property
    def spread(self) -> float:
        return max(self.differences) - min(self.differences)

    def equivalence_p(self, margin: float | None = None) -> float | None:
        """Of two one-sided t-tests (TOST), the larger p: is the mean above −margin, and below it?

        None for n < 2.
        """
        margin, centre = self.margin if margin is None else margin, self.mean
        if self.n < 2 or centre is None:
            return None
        room = margin - abs(centre)  # to the nearer end; the other end has the smaller p
        if self.spread < TINY:
            return 0.0 if room > TINY else 1.0
        error = math.sqrt(math.fsum((d - centre) ** 2 for d in self.differences))
        error /= math.sqrt(self.n * (self.n - 1))
        return float(stats.t.sf(room / error, self.n - 1))

    def equivalent(self, margin: float | None = None) -> bool | None:
        """Is the difference inside ±margin at the 5 % level? n < 2 decides nothing (None)."""
        p = self.equivalence_p(margin)
        return None if p is None else p < 1 - CONFIDENCE

    @property
    def sign(self) -> int | None:
        """+1 or −1 where the interval leaves zero out, 0 where it does not, None for n < 2."""
        low, high = self.interval
        if low is None or high is None:
            return None
        return 1 if low > 0 else -1 if high < 0 else 0

    def __str__(self) -> str:
        low, high = self.interval
        if self.mean is None:
            return "no pair of runs"
        spread = "one pair, no interval" if low is None else f"95 % [{low:+.4f}, {high:+.4f}]"
        test = "" if self.p is None else f", {p_value(self.p)}"
        return f"{self.mean:+.4f}, {spread}, n = {self.n}{test}"


def p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def paired(runs: pd.DataFrame, first: str, second: str, metric: str) -> Paired:
    """Of two cells by name, over their complete runs with this metric."""
    return difference(of_cell(runs, first, metric), of_cell(runs, second, metric), metric)


def difference(first: Mapping[int, float], second: Mapping[int, float], metric: str) -> Paired:
    """Of two cells with one value a seed."""
    both = sorted(first.keys() & second.keys())
    return Paired(metric, tuple(both), tuple(first[seed] - second[seed] for seed in both))


def of_cell(runs: pd.DataFrame, cell: str, metric: str) -> dict[int, float]:
    """One value a seed. `cell` is a cell's name."""
    here = runs[(runs.cell == cell) & (runs.status == COMPLETE) & runs[metric].notna()]
    return {int(seed): float(value) for seed, value in zip(here.seed, here[metric], strict=True)}


PAIRS = (("eowm", "owm"), ("eowm", "owm:matched"))  # EOWM's gain, and that of its Q term alone
PAIRED_COLUMNS = [
    "preset", "scenario", "first", "second", "metric", "n", "seeds", "difference", "low", "high",
    "p", "paper", "comparable",
]  # fmt: skip


def paired_table(
    runs: pd.DataFrame, published: pd.DataFrame, metrics: Sequence[str] = ("AA", "MRR")
) -> pd.DataFrame:
    """Every pair of `PAIRS` on every scenario of Table 2, beside the paper's own difference."""
    values = published.set_index(["method", "scenario", "metric"]).value.to_dict()
    here = runs[runs.table == "table2"]
    lines = []
    for scenario in here.scenario.unique():
        for first, second in PAIRS:
            cells = here[(here.scenario == scenario) & here.row.isin((first, second))]
            for metric in metrics:
                place = f"table2/{scenario}"
                found = paired(here, f"{place}/{first}", f"{place}/{second}", metric)
                ours = values.get((first, scenario, metric), math.nan)
                theirs = values.get((second, scenario, metric), math.nan)
                lines.append(
                    {
                        "preset": cells.preset.iloc[0] if len(cells) else None,
                        "scenario": scenario,
                        "first": first,
                        "second": second,
                        "metric": metric,
                        "n": found.n,
                        "seeds": " ".join(map(str, found.seeds)),
                        "difference": found.mean,
                        "low": found.interval[0],
                        "high": found.interval[1],
                        "p": found.p,
                        "paper": round(ours - theirs, 4),
                        "comparable": found.n > 0
                        and bool(cells[cells.status == COMPLETE].comparable.all()),
                    }
                )
    numbers = dict.fromkeys(("difference", "low", "high", "p", "paper"), float)
    return pd.DataFrame(lines, columns=PAIRED_COLUMNS).astype(numbers)
