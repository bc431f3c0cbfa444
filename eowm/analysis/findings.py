"""docs/findings.md and the README's result: prose written by hand, numbers filled in from records.

The templates are docs/findings.md.j2, docs/readme-result.md.j2 and docs/verdict.md.j2; `Numbers` is
what they may call.
"""

from collections.abc import Callable
from functools import cache, partialmethod
from pathlib import Path

import jinja2
import pandas as pd

from eowm import paths
from eowm.analysis import collect, statistics, style
from eowm.analysis.summary import summarise
from eowm.errors import ConfigError, nearest
from eowm.settings.config import Config

BLOCK = ("<!-- result: filled in by `eowm findings` -->", "<!-- end of result -->")  # in the README
SUPERSCRIPTS = dict(zip("rstbjf", "ʳˢᵗᵇʲᶠ", strict=True))  # of the marks that concern a number


def render(config: Config, root: Path = paths.ROOT) -> dict[Path, str]:
    """The pages that `eowm findings` writes, by their paths."""
    fill = _filler(config, root)
    readme = root / "README.md"
    return {
        root / "docs/findings.md": fill("findings.md.j2") + "\n",
        readme: _insert(fill("readme-result.md.j2"), readme.read_text(encoding="utf-8")),
    }


def verdict(config: Config, root: Path = paths.ROOT) -> list[tuple[str, str]]:
    """What the published records say, in a few lines: (`Replicates`, its sentence) and others."""
    points = _filler(config, root)("verdict.md.j2").split("- **")[1:]
    parts = (" ".join(point.split()).partition(":** ") for point in points)
    return [(label, sentence) for label, _, sentence in parts]


def _filler(config: Config, root: Path) -> Callable[[str], str]:
    """Fills in a template of docs/."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(root / "docs"), undefined=jinja2.StrictUndefined,
        trim_blocks=True, autoescape=False,  # noqa: S701 it is Markdown
    )  # fmt: skip
    numbers = Numbers(config, root)
    offered = {name: getattr(numbers, name) for name in dir(numbers) if not name.startswith("_")}
    return lambda name: templates.get_template(name).render(offered)


def _insert(result: str, readme: str) -> str:
    before, start, rest = readme.partition(BLOCK[0])
    _, end, after = rest.partition(BLOCK[1])
    if not (start and end):
        raise ConfigError(f"README.md lacks the two lines {BLOCK[0]} and {BLOCK[1]}.")
    return f"{before}{start}\n{result}\n{end}{after}"


class Numbers:
    """What a template may call. Cells go by their names; stale runs do not count."""

    def __init__(self, config: Config, root: Path) -> None:
        self._config = config
        self._runs = cache(lambda preset: _runs(config, root, preset))
        self._summary = cache(lambda preset: summarise(self._runs(preset), config))

    def value(self, cell: str, metric: str = "AA", preset: str = "paper") -> str:
        """Mean ± half the 95 % interval (number of runs), and its marks."""
        line = self._line(cell, metric, preset)
        if not line.n:
            return "n/a" if "u" in line.marks else collect.NOT_RUN
        half = "" if pd.isna(line.low) else f" ± {(line.high - line.low) / 2:.4f}"
        marks = "".join(SUPERSCRIPTS.get(letter, "") for letter in line.marks)
        return f"{line['mean']:.4f}{half} ({line.n}){marks and f' {marks}'}"

    aa, mrr = value, partialmethod(value, metric="MRR")

    def paper(self, cell: str, metric: str = "AA") -> str:
        value = self._line(cell, metric).paper
        return "–" if pd.isna(value) else f"{value:.4f}"

    def difference(self, first: str, second: str, metric: str = "AA", preset: str = "paper") -> str:
        """Mean of first − second over equal seeds, its 95 % interval, the number of pairs."""
        self._line(first, metric, preset), self._line(second, metric, preset)  # refuses the unknown
        found = statistics.paired(self._runs(preset), first, second, metric)
        if found.mean is None:
            return collect.NOT_RUN
        low, high = found.interval
        interval = "" if low is None else f" [{_signed(low)}, {_signed(high)}]"
        return f"{_signed(found.mean)}{interval}, n = {found.n}"

    def paper_difference(self, first: str, second: str, metric: str = "AA") -> str:
        return _signed(self._line(first, metric).paper - self._line(second, metric).paper)

    def scenarios(self, *rows: str) -> list[tuple[str, str]]:
        """Name and title of the scenarios of Table 2 where all these rows have run."""
        names = self._config.tables["table2"].scenarios
        ran = [n for n in names if all(self._line(f"table2/{n}/{row}", "AA").n for row in rows)]
        return [(name, style.scenario_title(name)) for name in ran]

    def beside(self, cell: str, metric: str = "AA") -> str:
        """Ours, the sign of the verdict and the paper's number."""
        line = self._line(cell, metric)
        if pd.isna(line.paper):
            return self.value(cell, metric)
        sign = statistics.SIGNS.get(line.verdict, "?" if line.n else "/")
        return f"{self.value(cell, metric)} {sign} {line.paper:.4f}"

    def count(self, verdict: str = "", methods: str = "", runs: int = 0) -> int:
        """The paper's numbers: all, or those with a verdict, of some methods, from `runs` runs."""
        lines = self._summary("paper").dropna(subset="paper")
        counted = lines.verdict.isin([verdict] if verdict else lines.verdict)
        counted &= lines.method.isin(methods.split() or lines.method)
        return int((counted & (lines.n.eq(runs) if runs else True)).sum())

    def _line(self, cell: str, metric: str, preset: str = "paper") -> pd.Series:
        summary = self._summary(preset)
        names = summary.table + "/" + summary.scenario + "/" + summary.row
        found = summary[(names == cell) & (summary.metric == metric)]
        if found.empty:
            known = nearest(cell, names.unique())
            raise ConfigError(f"preset '{preset}' has no {metric} of the cell '{cell}'{known}.")
        return found.iloc[0]


def _runs(config: Config, root: Path, preset: str) -> pd.DataFrame:
    runs = collect.load(config, preset, root)
    stale = runs.stale.astype(bool)
    runs.loc[stale, "status"] = collect.NOT_RUN
    runs.loc[stale, list(collect.METRICS)] = float("nan")
    return runs


def _signed(value: float | None) -> str:
    return "–" if value is None or pd.isna(value) else f"{value:+.4f}".replace("-", "−")
