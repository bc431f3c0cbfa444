"""docs/findings.md, what replicates and what does not, and docs/evidence.md, the numbers behind it.

Every number is from the records. The text is in two templates. What holds only for some outcomes
stands there under a condition, so that new records cannot leave a sentence behind that is not true.
"""

import math
import textwrap
from dataclasses import dataclass
from pathlib import Path

import jinja2
import pandas as pd

from eowm import records
from eowm.analysis import claims, ledger, results, style, tables
from eowm.analysis import evidence as overviews
from eowm.analysis.claims import NOTHING, Claim, Evidence, Outcome
from eowm.analysis.report import verdict
from eowm.analysis.results import TASK_KNOWN
from eowm.analysis.statistics import COMPLETE, NEAR, SIGNS, SMALL, paired
from eowm.errors import ConfigError
from eowm.methods.owm.coefficients import published_c1, published_c2
from eowm.settings.cells import OTHER
from eowm.settings.config import Config
from eowm.theory.theorems import FAILS, HOLDS, UNDECIDED

TEMPLATES = {"findings.md": "findings.md.j2", "evidence.md": "findings.evidence.md.j2"}  # in docs
NOTABLE = 0.02  # a difference to the paper in AA or MRR that is worth a line
LARGE = 0.05  # the same of a choice that the paper leaves open
LOWEST_SIMILARITY = -0.05  # of two CIFAR tasks by their raw pixels, which are nearly orthogonal
OTHER_SETTINGS = {  # other settings that were tried on a difference: a variant and what it changes
    "shuffled-mnist/ewc": ("online", "one anchor, at the latest weights"),
    "shuffled-mnist/ogd-plus": ("rate-0.01", "rate 1e-2, about 1e-3 on standardised pixels"),
    "shuffled-mnist/er-mir": ("published-net", "its own network"),
    "shuffled-mnist/ae-mir": ("published-ratio", "ten replayed images to a new one"),
    "cifar10/owm": ("select-test", "epochs chosen on test images"),
    "cifar10/er-mir": ("published-net", "its own network"),
    "cifar10/ae-mir": ("published-net", "its own network"),
}
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


def render(folder: Path, config: Config, preset: str) -> dict[str, str]:
    """The pages by the names of their files."""
    evidence, evaluated, sentences = _told(folder, config, preset)
    elsewhere = ledger.runs_elsewhere(folder, config, preset)
    numbers = {
        name: Numbers.of(runs, config)
        for name, runs in {preset: evidence.runs, **elsewhere}.items()
    }
    measured = choices(ledger.to_frame(evidence.runs, config, elsewhere), config)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=False,  # noqa: S701 it is Markdown
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["titles"] = style.scenario_titles
    environment.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
    environment.globals.update(
        preset=preset,
        sentences=sentences,
        of=numbers.pop(preset),
        reduced=numbers,
        choices=measured,
        largest=_largest(measured),
        unstated=_unstated(measured),
        large=LARGE,
        other_settings=OTHER_SETTINGS,
        lowest_similarity=LOWEST_SIMILARITY,
        rounded_up=lambda share: f"{math.ceil(1000 * share) / 10:.1f} %",
        number=lambda value: "n/a" if pd.isna(value) else tables.number(value),
        signed=lambda value: "" if pd.isna(value) else f"{value:+.4f}",
        claims=[(claim, outcome.status) for claim, outcome in evaluated],
        statuses=(FAILS, HOLDS, UNDECIDED),
        verbs={FAILS: "fail", HOLDS: "hold", UNDECIDED: "are undecided"},
        theorems=evidence.findings,
        scenarios=config.tables["table2"].scenarios,
        title=style.scenario_title,
        name=lambda row: style.title(config, row),
    )
    return {page: environment.get_template(name).render() for page, name in TEMPLATES.items()}


def choices(differences: pd.DataFrame, config: Config) -> pd.DataFrame:
    """What was measured of the ambiguities: one line a comparison, the largest effect first.

    Columns number, topic, name, scenario, n, AA and MRR (differences), and size: |AA|, or |MRR|.
    """
    lines = overviews.compared(differences[differences.n > 0], config)
    about = ["number", "topic", "name", "scenario", "n"]
    table = lines.set_index([*about, "metric"]).difference.unstack("metric")
    table = table.reindex(columns=["AA", "MRR"])
    table["size"] = table.AA.fillna(table.MRR).abs()
    return table.sort_values("size", ascending=False, kind="stable").reset_index()


def _largest(measured: pd.DataFrame) -> pd.DataFrame:
    """The largest effect of each choice on each scenario, on EOWM where that was measured."""
    own = measured.name.astype(str).str.startswith("EOWM")
    first = measured.assign(other=~own).sort_values("other", kind="stable")
    first = first.drop_duplicates(["topic", "scenario"])
    return first[first["size"] >= LARGE].sort_values("size", ascending=False, kind="stable")


def _unstated(measured: pd.DataFrame) -> float:
    """How far settings that the paper does not state move AA where Table 3 shows dissimilar tasks:
    network (32), the epoch that is kept (54), rate, epochs and α (75); 0 where nothing was run.
    What looks at test images does not count."""
    scenario = style.scenario_title("disjoint-mnist-2")
    here = measured[measured.number.isin((32, 54, 75)) & (measured.scenario == scenario)]
    here = here[~here.name.astype(str).str.contains("test-selected")]
    return float(here.AA.abs().max()) if here.AA.notna().any() else 0.0


def _told(
    folder: Path, config: Config, preset: str
) -> tuple[Evidence, list[tuple[Claim, Outcome]], tuple[str, str, str]]:
    runs = results.collect(folder / "records", config, preset)
    evidence = claims.gather(runs, config, folder / "tables" / "theorems.csv")
    evaluated = claims.evaluate(evidence)
    return evidence, evaluated, verdict.sentences(runs, evidence.summary)


@dataclass(frozen=True)
class Numbers:
    """What the template asks for; cells go by their names. Runs with other settings than
    config.yaml has now count as not run."""

    runs: pd.DataFrame
    summary: pd.DataFrame
    config: Config

    @classmethod
    def of(cls, runs: pd.DataFrame, config: Config) -> "Numbers":
        fresh = runs[~runs.stale.astype(bool)]
        return cls(fresh, results.summarise(fresh, config), config)

    def ours(self, cell: str, metric: str = "AA") -> str:
        line = self._line(cell, metric)
        return results.NOT_RUN if line is None else _ours(line)

    def beside(self, cell: str, metric: str = "AA") -> str:
        """Ours, the sign of the verdict, and the paper's if it has one."""
        line = self._line(cell, metric)
        if line is None:
            return ""
        if pd.isna(line.paper):
            return _ours(line)
        sign = self.sign(cell, metric)
        return f"{_ours(line)}{f' {sign}' if sign else ','} {line.paper:.4f}"

    def paper(self, cell: str, metric: str = "AA") -> str:
        line = self._line(cell, metric)
        return "–" if line is None or pd.isna(line.paper) else f"{line.paper:.4f}"

    def sign(self, cell: str, metric: str = "AA") -> str:
        """“?” where there are runs, but no verdict."""
        line = self._line(cell, metric)
        if line is None or pd.isna(line.paper) or not line.n:
            return ""
        return SIGNS.get(line.verdict, "?")

    def published_range(self, scenario: str) -> float:
        """From the lowest to the highest AA that the paper prints for a scenario of Table 3."""
        here = self.summary[(self.summary.table == "table3") & (self.summary.metric == "AA")]
        printed = here[here.scenario == scenario].paper
        return float(printed.max() - printed.min())

    def implied_plasticity(self, cell: str) -> float:
        """Accuracy a right after a task by the paper's AA and MRR, if all N tasks were learnt and
        kept alike: N AA = a ((N − 1) MRR + 1)."""
        accuracy, kept = (self._line(cell, metric).paper for metric in ("AA", "MRR"))
        return _learnt(cell, accuracy, kept)

    def apart(self, family: str, row: str) -> "Apart | None":
        """A row of Table 2 on the scenarios of a family where it is far from the paper, if any."""
        tasks, learnt, kept = [], [], []
        for scenario in self._published(family):
            cell = f"table2/{scenario}/{row}"
            if max(abs(self.above_paper(cell, metric)) for metric in ("AA", "MRR")) <= NOTABLE:
                continue
            aa, mrr = self._line(cell, "AA"), self._line(cell, "MRR")
            tasks.append(_tasks(cell))
            learnt.append((_learnt(cell, aa.mean, mrr.mean), _learnt(cell, aa.paper, mrr.paper)))
            kept.append((mrr.mean, mrr.paper))
        return Apart(family, row, tuple(tasks), tuple(learnt), tuple(kept)) if tasks else None

    def above_paper(self, cell: str, metric: str = "AA") -> float:
        """By how much; 0 where there is nothing to compare."""
        line = self._line(cell, metric)
        known = line is not None and line.n > 0 and not pd.isna(line.paper)
        return line.mean - line.paper if known else 0.0

    def above(self, first: str, second: str) -> float:
        """By how much the mean AA of one cell is above that of another."""
        return self._line(first, "AA").mean - self._line(second, "AA").mean

    def ran(self, *cells: str) -> bool:
        lines = [self._line(cell, "AA") for cell in cells]
        return all(line is not None and line.n > 0 for line in lines)

    def difference(self, first: str, second: str, metric: str = "AA") -> str:
        return str(paired(self.runs, first, second, metric))

    def brief_difference(self, first: str, second: str) -> str:
        """In AA: the mean, its interval if there is one, and the number of pairs."""
        found = paired(self.runs, first, second, "AA")
        if found.mean is None:
            return results.NOT_RUN
        low, high = found.interval
        spread = "" if low is None else f" [{low:+.4f}, {high:+.4f}]"
        return f"{found.mean:+.4f}{spread} ({found.n})"

    def gains(self, second: str) -> list[tuple[str, int | None]]:
        """Scenarios where EOWM and a row have run, and the sign of the difference in AA; 0: not
        told apart."""
        found = []
        for scenario in self.config.tables["table2"].scenarios:
            ours, other = (f"table2/{scenario}/{row}" for row in ("eowm", second))
            if self.ran(ours, other):
                found.append((scenario, paired(self.runs, ours, other, "AA").sign))
        return found

    def gains_too_large(self) -> list[str]:
        """Scenarios where the paper's EOWM − OWM is above the 95 % interval of ours, by more than
        what counts as nothing."""
        found = []
        for scenario, _ in self.gains("owm"):
            ours, other = (f"table2/{scenario}/{row}" for row in ("eowm", "owm"))
            printed = self._line(ours, "AA").paper - self._line(other, "AA").paper
            high = paired(self.runs, ours, other, "AA").interval[1]
            found += [scenario] if high is not None and printed > high + NOTHING else []
        return found

    def learns_more_than_jointly(self, scenario: str) -> list[str]:
        """Rows of similar tasks whose AA in the paper is above our joint training by its interval,
        with the number: no error, but hardly the same network."""
        joint = self._line(f"table2/{scenario}/joint", "AA")
        if joint is None or joint.n < 2 or not scenario.startswith("shuffled"):
            return []
        lines = [(name, self._line(f"table2/{scenario}/{row}", "AA")) for name, row in self.rows()]
        return [f"{name} ({line.paper:.4f})" for name, line in lines if line.paper > joint.high]

    def rows(self) -> list[tuple[str, str]]:
        """Title and name of every row of Table 2."""
        grid = self.config.tables["table2"]
        return [(style.title(self.config, row), row) for row in (*grid.methods, *grid.references)]

    def scenarios(self, table: str = "table2", at_least: int = 1) -> list[str]:
        """Where so many rows of a table have run."""
        ran = self.summary[(self.summary.metric == "AA") & (self.summary.n > 0)]
        counts = ran[(ran.table == table) & ran.in_grid].scenario.value_counts()
        return [n for n in self.config.tables[table].scenarios if counts.get(n, 0) >= at_least]

    def ran_somewhere(self, row: str) -> bool:
        return any(self.ran(f"table2/{scenario}/{row}") for scenario in self.scenarios())

    def told_the_task(self, scenario: str) -> list[tuple[str, str]]:
        """Rows of Table 2 that were also measured with the task known, by title and cell."""
        cells = [(name, f"table2/{scenario}/{row}") for name, row in self.rows()]
        return [(name, cell) for name, cell in cells if self._told(cell) is not None]

    def chosen_on_test_images(self, scenario: str) -> list[tuple[str, str, str]]:
        """Rows of Table 2 that also ran so: by title, own cell and that cell."""
        rows = [
            (name, row, f"{row}{'-' if ':' in row else ':'}select-test")
            for name, row in self.rows()
        ]
        found = [
            (name, f"table2/{scenario}/{row}", f"selection/{scenario}/{chosen}")
            for name, row, chosen in rows
        ]
        return [(name, last, chosen) for name, last, chosen in found if self.ran(last, chosen)]

    def explained_by_task(self, scenario: str) -> bool:
        """Are the numbers that the paper has above joint training what ours are, task known?"""
        here = self.summary
        here = here[(here.table == "table2") & (here.scenario == scenario) & here.paper_above]
        cells = [f"table2/{scenario}/{row}" for row in here.row]
        return bool(cells) and all(self.counted_so(cell) for cell in cells)

    def counted_so(self, cell: str) -> bool:
        """Is the paper's AA near to ours with the task known?"""
        ours, published = self._told(cell), self._line(cell, "AA").paper
        return ours is not None and abs(ours - published) < NEAR

    def _told(self, cell: str) -> float | None:
        """AA with the task known."""
        line = self._line(cell, TASK_KNOWN["AA"])
        return line.mean if line is not None and line.n else None

    def epochs(self, cell: str, preset: str) -> str:
        """Of a task: how many the preset runs, of how many."""
        ours, full = (
            self.config.resolve(self.config.cell(cell), 0, name).training.epochs
            for name in (preset, "paper")
        )
        return f"{ours} of {full}"

    def published_above_joint(self, scenario: str) -> list[str]:
        """Rows whose AA in the paper is above our joint training, with the number."""
        here = self.summary
        here = here[(here.table == "table2") & (here.scenario == scenario) & here.paper_above]
        return [f"{style.title(self.config, at.row)} ({at.paper:.4f})" for at in here.itertuples()]

    def best_joint_epoch(self, scenario: str) -> float | None:
        """The highest AA of joint training after any epoch of any run, which only test images could
        have chosen: what is above it is not so because of the epoch that was kept."""
        here = self.runs[(self.runs.table == "table2") & (self.runs.scenario == scenario)]
        here = here[(here.row == results.CEILING) & (here.status == COMPLETE)]
        found = [records.read(Path(path)).curves for path in here.path]
        return max((epoch.test_seen for curve in found for epoch in curve), default=None)

    def no_better_than_finetuning(self, scenario: str) -> list[tuple[str, str]]:
        """Rows, by title and cell, whose AA and MRR in the paper are those of our fine-tuning."""
        floor = [self._line(f"table2/{scenario}/finetune", metric) for metric in ("AA", "MRR")]
        if any(line is None or not line.n for line in floor):
            return []
        return [
            (name, cell)
            for name, row in self.rows()
            for cell in [f"table2/{scenario}/{row}"]
            for found in [[self._line(cell, metric).paper for metric in ("AA", "MRR")]]
            if all(abs(paper - line.mean) < SMALL for paper, line in zip(found, floor, strict=True))
        ]

    def compared(self) -> list[str]:
        """Scenarios of Table 2 where there is something to compare."""
        return self.scenarios(at_least=2)

    def of_the_paper(self) -> list[str]:
        """Scenarios of Table 2 where a row of the paper has run."""
        rows = self.config.tables["table2"].methods
        return [n for n in self.scenarios() if any(self.ran(f"table2/{n}/{row}") for row in rows)]

    def with_rounded_products(self) -> list[str]:
        """Rows of Tables 2 and 3 that a run with bfloat16 is part of, with their scenarios."""
        here = self.summary[(self.summary.metric == "AA") & self.summary.in_grid]
        here = here[here.marks.str.contains(results.LETTER["bfloat16"])]
        rows: dict[str, list[str]] = {}
        for line in here.itertuples():
            rows.setdefault(style.title(self.config, line.row), []).append(line.scenario)
        return [f"{row} on {style.scenario_titles(names)}" for row, names in rows.items()]

    def in_both_precisions(self) -> pd.DataFrame:
        """Runs that were made twice, with and without rounded products, and else alike.

        Columns row, scenario, seed, and AA and MRR by precision.
        """
        done = self.runs[(self.runs.status == COMPLETE) & self.runs.table.isin(("table2", OTHER))]
        same = ["scenario", "row", "seed"]
        pairs = done[done.precision == "float32"].merge(
            done[done.precision == "bfloat16"], on=same, suffixes=("", "_rounded")
        )
        return pairs[[*same, "AA", "AA_rounded", "MRR", "MRR_rounded"]]

    def differences(self) -> list["Apart"]:
        """Rows of Table 2, other than EOWM, that are far from the paper, by family."""
        families = dict.fromkeys(style.split(name)[0] for name in self._published())
        rows = [row for row in self.config.tables["table2"].methods if row != "eowm"]
        found = [self.apart(family, row) for family in families for row in rows]
        return [apart for apart in found if apart is not None]

    def _published(self, family: str | None = None) -> list[str]:
        """The scenarios of Table 2, of one family or all."""
        scenarios = self.config.tables["table2"].scenarios
        return [name for name in scenarios if family in (None, style.split(name)[0])]

    def tried(self, family: str, row: str, variant: str) -> str:
        """A variant that ran beside the tables, by number of tasks; or nothing."""
        cells = [cell for cell, _ in self._tried(family, row, variant)]
        if not cells:
            return ""
        numbers = [f"learnt {', '.join(f'{self._mean_learnt(cell):.3f}' for cell in cells)}"]
        for metric in ("AA", "MRR"):
            numbers += [f"{metric} {', '.join(self.ours(cell, metric) for cell in cells)}"]
        return f"{'; '.join(numbers)} ({', '.join(str(_tasks(cell)) for cell in cells)} tasks)"

    def nearer(self, family: str, row: str, variant: str) -> str:
        """Is its AA nearer to the paper's, and with how many tasks?"""
        pairs = self._tried(family, row, variant)
        told = []
        for wanted, word in ((True, "yes"), (False, "no")):
            where = [
                str(_tasks(cell)) for cell, ours in pairs if self._nearer(cell, ours) is wanted
            ]
            told += [f"{word} ({', '.join(where)} tasks)"] if where else []
        return ", ".join(told)

    def _tried(self, family: str, row: str, variant: str) -> list[tuple[str, str]]:
        """Cells of a variant that ran beside the tables, with the row's own cells."""
        places = [(table, n) for n in self._published(family) for table in (OTHER, "selection")]
        pairs = [(f"{table}/{n}/{row}:{variant}", f"table2/{n}/{row}") for table, n in places]
        return [pair for pair in pairs if self.ran(*pair)]

    def _mean_learnt(self, cell: str) -> float:
        return _learnt(cell, self._line(cell, "AA").mean, self._line(cell, "MRR").mean)

    def _nearer(self, cell: str, ours: str) -> bool:
        paper = self._line(ours, "AA").paper
        return abs(self._line(cell, "AA").mean - paper) < abs(self._line(ours, "AA").mean - paper)

    def largest_share(self, scenario: str) -> float:
        """The largest |c2|/c1 that the published rule gives, over similarities up to 1.

        Shuffled tasks are similar ones (P_s), with similarities from 0; on disjoint ones both cases
        occur, by layer, and raw pixels may be slightly less than orthogonal.
        """
        cell = self.config.cell(f"table2/{scenario}/eowm")
        settings = self.config.resolve(cell, 0, "paper")
        r, tasks, shuffled = settings.options["r"], settings.tasks, settings.stream == "shuffled"
        cases = (True,) if shuffled else (True, False)
        lowest = 0 if shuffled else round(LOWEST_SIMILARITY * 100)
        shares = []
        for s in (i / 100 for i in range(lowest, 101)):
            for p in (0.25, 0.5, 0.75, 1.0):
                c1 = published_c1(s, r, p)
                shares += [abs(published_c2(c1, s, tasks, case)) / c1 for case in cases]
        return max(shares)

    def _line(self, cell: str, metric: str):
        table, scenario, row = cell.split("/")
        here = self.summary
        here = here[(here.table == table) & (here.scenario == scenario) & (here.metric == metric)]
        here = here[here.row.isin((row, f"eowm:{row}"))]
        return next(here.itertuples(), None)


@dataclass(frozen=True)
class Apart:
    """How a row differs from the paper's, by number of tasks: pairs of ours and the paper's."""

    family: str
    row: str
    tasks: tuple[int, ...]
    learnt: tuple[tuple[float, float], ...]  # accuracy right after a task, by AA and MRR
    kept: tuple[tuple[float, float], ...]  # MRR

    @property
    def scenarios(self) -> list[str]:
        return [f"{self.family}-{tasks}" for tasks in self.tasks]

    def effects(self) -> str:
        """Does it learn or forget more or less, and with how many tasks, if not with all?"""
        told = []
        for pairs, less, more in (
            (self.learnt, "learns less", "learns more"),
            (self.kept, "forgets more", "forgets less"),
        ):
            for sign, effect in ((-1, less), (1, more)):
                where = [
                    str(tasks)
                    for tasks, (ours, theirs) in zip(self.tasks, pairs, strict=True)
                    if sign * (ours - theirs) > NOTABLE
                ]
                everywhere = len(where) == len(self.tasks)
                tasks = "" if everywhere else f" ({', '.join(where)} tasks)"
                told += [effect + tasks] if where else []
        return "; ".join(told) or "neither learning nor forgetting alone explains it"

    def learnt_numbers(self) -> str:
        """Ours by number of tasks, then the paper's."""
        ours = ", ".join(f"{ours:.3f}" for ours, _ in self.learnt)
        theirs = ", ".join(f"{theirs:.3f}" for _, theirs in self.learnt)
        return f"{ours}; {theirs}"


def _ours(line) -> str:
    """A number says in its own cell that products were rounded."""
    return tables.ours(line) + (" ᵇ" if results.LETTER["bfloat16"] in line.marks else "")


def _tasks(cell: str) -> int:
    return int(cell.split("/")[1].rpartition("-")[2])


def _learnt(cell: str, accuracy: float, kept: float) -> float:
    """N AA = a ((N − 1) MRR + 1), solved for a."""
    tasks = _tasks(cell)
    return tasks * accuracy / ((tasks - 1) * kept + 1)
