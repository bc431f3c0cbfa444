"""Two cells, seed by seed: which is better, or are they equivalent?"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from eowm.analysis import results
from eowm.analysis.results import Chosen
from eowm.analysis.statistics import MARGIN, Paired, difference, p_value
from eowm.analysis.summary import paper_numbers
from eowm.errors import ConfigError, RecordError
from eowm.settings.config import Config


@dataclass(frozen=True, kw_only=True)
class Comparison(Paired):
    """`mean`, `interval`, `n`, `p` and `equivalent()` of first − second; printed, all of it."""

    first: Chosen
    second: Chosen
    paper: float | None  # the difference of the paper's own numbers

    def __str__(self) -> str:
        return "\n".join([*self._sides(), *self._pairs(), *self._verdict()])

    def _sides(self) -> Iterator[str]:
        for place, side in (("first", self.first), ("second", self.second)):
            limited = ", ".join(side.remarks)
            yield f"{place:>6}  {side.name}" + (f"  ({limited})" if limited else "")

    def _pairs(self) -> Iterator[str]:
        first, second = self.first.values(self.metric), self.second.values(self.metric)
        yield f"\n{'seed':>6}  {'first':>8}  {'second':>8}  first − second"
        for seed in sorted(first.keys() | second.keys()):
            one, other = (f"{x[seed]:.4f}" if seed in x else "–" for x in (first, second))
            apart = f"{first[seed] - second[seed]:+.4f}" if seed in self.seeds else "no pair"
            yield f"{seed:>6}  {one:>8}  {other:>8}  {apart}"

    def _verdict(self) -> Iterator[str]:
        yield f"\n{self.metric}, first − second: {Paired.__str__(self)}"
        yield f"equivalent within ±{self.margin:g}: {self._equivalence()}"
        if self.paper is not None:
            yield f"in the paper: {self.paper:+.4f}"

    def _equivalence(self) -> str:
        p = self.equivalence_p()
        if p is None:
            return "one pair decides nothing"
        answer = "yes" if self.equivalent() else "not shown"
        origin = "; a margin for AA on MNIST, set after the first seeds were seen"
        default = origin if self.margin == MARGIN and self.metric == "AA" else ""
        return f"{answer} (two one-sided t-tests, {p_value(p)}{default})"


def compare(
    config: Config,
    first: str | Path,
    second: str | Path,
    metric: str = "AA",
    margin: float = MARGIN,
    preset: str | None = None,
) -> Comparison:
    """Of cells, record files or folders of records, over the seeds that both have."""
    if not margin > 0:
        raise ConfigError(f"margin {margin:g} must be above 0.")
    one = results.choose_one(config, first, preset)
    other = results.choose_one(config, results.spell_out(second, one.cell), preset)
    if one.cell.scenario != other.cell.scenario:
        places = f"{one.cell.scenario} and {other.cell.scenario}"
        raise ConfigError(f"{places} are two scenarios: their seeds make no pairs.")
    found = difference(one.values(metric), other.values(metric), metric)
    if not found.n:
        told = " and ".join(f"{side.name} has {_seeds(side)}" for side in (one, other))
        raise RecordError(f"no seed has run on both sides: {told}.")
    return Comparison(
        metric, found.seeds, found.differences, margin,
        first=one, second=other, paper=_papers(config, one, other, metric),
    )  # fmt: skip


def _seeds(side: Chosen) -> str:
    return ", ".join(map(str, sorted(side.runs.seed)))


def _papers(config: Config, first: Chosen, second: Chosen, metric: str) -> float | None:
    """None where the paper lacks a number, and for two settings of one cell."""
    values = paper_numbers(config)
    one, other = (
        values.get((side.cell.table, metric, side.cell.row, side.cell.scenario))
        for side in (first, second)
    )
    same = first.cell == second.cell
    return None if one is None or other is None or same else round(one - other, 4)
