"""docs/findings.md: what replicates and what does not, every number of it from the records.

The text is in `findings.md.j2`. What holds only for some outcomes stands there under a condition,
so that new records cannot leave a sentence behind that is not true.
"""

import textwrap
from dataclasses import dataclass
from pathlib import Path

import jinja2
import pandas as pd

from eowm.analysis import claims, ledger, results, style
from eowm.analysis import evidence as overviews
from eowm.analysis.claims import Claim, Evidence, Outcome
from eowm.analysis.report import verdict
from eowm.analysis.statistics import SIGNS, paired
from eowm.analysis.theorems import FAILS, HOLDS, UNDECIDED
from eowm.config import Config
from eowm.errors import ConfigError
from eowm.methods.coefficients import published_c1, published_c2

TEMPLATE = Path(__file__).parent / "findings.md.j2"
NOTABLE = 0.01  # a choice that moves AA by less is told in a word
BLOCK = ("<!-- result: made by `eowm findings` -->", "<!-- end of result -->")  # in the README


def in_readme(text: str, folder: Path, config: Config, preset: str) -> str:
    """The README with the result in three sentences between its two marks."""
    before, _, rest = text.partition(BLOCK[0])
    _, end, after = rest.partition(BLOCK[1])
    if not end:
        raise ConfigError(f"README.md has no place for the result: put {BLOCK[0]} and {BLOCK[1]}.")
    sentences = _told(folder, config, preset)[2]
    lines = textwrap.wrap(" ".join(sentences), 100, break_on_hyphens=False)
    return "\n".join([before + BLOCK[0], *lines, BLOCK[1]]) + after


def render(folder: Path, config: Config, preset: str) -> str:
    evidence, evaluated, sentences = _told(folder, config, preset)
    elsewhere = ledger.runs_elsewhere(folder, config, preset)
    environment = jinja2.Environment(
        autoescape=False,  # noqa: S701 it is Markdown
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["title_of"] = style.scenario_title
    environment.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        preset=preset,
        sentences=sentences,
        of=Numbers(evidence.runs, evidence.summary, config),
        reduced={
            name: Numbers(runs, results.summarise(runs, config), config)
            for name, runs in elsewhere.items()
        },
        choices=choices(ledger.to_frame(evidence.runs, config, elsewhere), config),
        notable=NOTABLE,
        claims={claim.id: outcome for claim, outcome in evaluated},
        statuses=(FAILS, HOLDS, UNDECIDED),
        theorems=evidence.findings,
        scenarios=config.tables["table2"].scenarios,
        title=style.scenario_title,
    )


def choices(differences: pd.DataFrame, config: Config) -> pd.DataFrame:
    """What was measured of the ambiguities: one line a comparison, the largest effect first.

    Columns topic, name, scenario, n, AA and MRR (differences).
    """
    lines = overviews.compared(differences[differences.n > 0], config)
    about = ["topic", "name", "scenario", "n"]
    table = lines.pivot_table(index=about, columns="metric", values="difference").reset_index()
    if "AA" not in table:
        return pd.DataFrame(columns=[*about, "AA", "MRR"])
    table = table[table.AA.notna()]
    return table.sort_values("AA", key=lambda column: -column.abs(), kind="stable")


def _told(
    folder: Path, config: Config, preset: str
) -> tuple[Evidence, list[tuple[Claim, Outcome]], tuple[str, str, str]]:
    runs = results.collect(folder / "records", config, preset)
    evidence = claims.gather(runs, config, folder / "tables" / "theorems.csv")
    evaluated = claims.evaluate(evidence)
    return evidence, evaluated, verdict.sentences(runs, evidence.summary, evaluated)


@dataclass(frozen=True)
class Numbers:
    """What the template asks for; cells go by their names."""

    runs: pd.DataFrame
    summary: pd.DataFrame
    config: Config

    def ours(self, cell: str, metric: str = "AA") -> str:
        line = self._line(cell, metric)
        if line is None or not line.n:
            return "not run"
        spread = "" if line.n < 2 else f" ± {line.high - line.mean:.4f}"
        return f"{line.mean:.4f}{spread} ({line.n})"

    def paper(self, cell: str, metric: str = "AA") -> str:
        line = self._line(cell, metric)
        return "–" if line is None or pd.isna(line.paper) else f"{line.paper:.4f}"

    def sign(self, cell: str, metric: str = "AA") -> str:
        line = self._line(cell, metric)
        return "" if line is None else SIGNS.get(line.verdict, "")

    def above_paper(self, cell: str, metric: str = "AA") -> float:
        """By how much; 0 where there is nothing to compare."""
        line = self._line(cell, metric)
        known = line is not None and line.n > 0 and not pd.isna(line.paper)
        return line.mean - line.paper if known else 0.0

    def ran(self, *cells: str) -> bool:
        lines = [self._line(cell, "AA") for cell in cells]
        return all(line is not None and line.n > 0 for line in lines)

    def difference(self, first: str, second: str, metric: str = "AA") -> str:
        return str(paired(self.runs, first, second, metric))

    def gains(self) -> list[tuple[str, int | None]]:
        """Scenarios where EOWM and OWM have run, and the sign of EOWM − OWM (AA); 0: not told."""
        found = []
        for scenario in self.config.tables["table2"].scenarios:
            first, second = (f"table2/{scenario}/{row}" for row in ("eowm", "owm"))
            if self.ran(first, second):
                found.append((scenario, paired(self.runs, first, second, "AA").sign))
        return found

    def rows(self, scenario: str) -> list[tuple[str, str]]:
        """Title and cell of every row of Table 2 that has run."""
        grid = self.config.tables["table2"]
        cells = [(row, f"table2/{scenario}/{row}") for row in (*grid.methods, *grid.references)]
        return [(style.title(self.config, row), cell) for row, cell in cells if self.ran(cell)]

    def published_above_joint(self, scenario: str) -> list[str]:
        """Rows whose AA in the paper is above our joint training, with the number."""
        here = self.summary
        here = here[(here.table == "table2") & (here.scenario == scenario) & here.paper_above]
        return [f"{style.title(self.config, at.row)} ({at.paper:.4f})" for at in here.itertuples()]

    def compared(self) -> list[str]:
        """Scenarios of Table 2 where there is something to compare."""
        return [name for name in self.config.tables["table2"].scenarios if len(self.rows(name)) > 1]

    def largest_share(self, scenario: str) -> float:
        """The largest c2/c1 that the published rule gives, over similarities from 0 to 1."""
        cell = self.config.cell(f"table2/{scenario}/eowm")
        settings = self.config.resolve(cell, 0, "paper")
        r, tasks = settings.options["r"], settings.tasks
        shares = []
        for s in (i / 20 for i in range(21)):
            for p in (0.25, 0.5, 0.75, 1.0):
                c1 = published_c1(s, r, p)
                shares += [published_c2(c1, s, tasks, case) / c1 for case in (True, False)]
        return max(shares)

    def _line(self, cell: str, metric: str):
        table, scenario, row = cell.split("/")
        here = self.summary
        here = here[(here.table == table) & (here.scenario == scenario) & (here.metric == metric)]
        here = here[here.row.isin((row, f"eowm:{row}"))]
        return next(here.itertuples(), None)
