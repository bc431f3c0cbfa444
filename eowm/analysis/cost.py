"""What a method costs: time and memory of each cell, and how they grow with the number of tasks."""

import itertools
import textwrap
from dataclasses import dataclass

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eowm.analysis import style
from eowm.analysis.collect import COMPLETE
from eowm.analysis.figures import caption, empty, legend
from eowm.analysis.statistics import mean, t_interval
from eowm.analysis.summary import limits
from eowm.settings.config import Config

RATIO, DASH = "×: relative to fine-tuning on the same machine", "–: no complete run"
BASELINE = "finetune"  # plain SGD: what learning costs without any protection
COLUMNS = ["scenario", "family", "tasks", "row", "seed", "machine", "hours", "per_image", "memory"]


@dataclass(frozen=True)
class Quantity:
    column: str
    title: str
    short: str

    def text(self, value: float) -> str:
        if self.column == "hours":
            return style.duration(3600 * value)
        if self.column == "memory":
            return f"{value:.2f}"
        return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


QUANTITIES = (
    Quantity("hours", "training time of a run", "training time [h]"),
    Quantity("per_image", "training time per image [µs]", "time per image [µs]"),
    Quantity("memory", "peak memory [GiB]", "peak memory [GiB]"),
)


def costs(runs: pd.DataFrame) -> pd.DataFrame:
    """One line for each complete run of Table 2's grid."""
    here = runs[(runs.table == "table2") & runs.in_grid & (runs.status == COMPLETE)]
    family, tasks = zip(*map(style.split, here.scenario), strict=True) if len(here) else ((), ())
    spent = here.assign(
        family=list(family),
        tasks=list(tasks),
        hours=here.train_seconds / 3600,
        per_image=1e6 / here.images_per_second,
        memory=here.peak_memory_bytes / 2**30,
    )
    return spent[COLUMNS]


def per_cell(spent: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean over runs, and its ratio to fine-tuning on the same machines where there is one."""
    lines = []
    for (scenario, row), cell in spent.groupby(["scenario", "row"], sort=False):
        same = spent[(spent.scenario == scenario) & (spent.row == BASELINE)]
        same = same[same.machine.isin(cell.machine)]
        value, base = mean(cell[column].tolist()), mean(same[column].tolist())
        lines.append((scenario, row, value, value / base if value and base else np.nan))
    return pd.DataFrame(lines, columns=["scenario", "row", "value", "ratio"])


# --- each cell ----------------------------------------------------------------------------------


def cells_figure(runs: pd.DataFrame, config: Config) -> Figure:
    """Three tables of numbers, coloured by their ratio to fine-tuning."""
    grid, spent = config.tables["table2"], costs(runs)
    rows = [*grid.methods, *grid.references]
    with style.context():
        size = (style.TEXT_WIDTH, 0.55 * len(rows) + 1.3)
        page = Figure(figsize=size, layout="constrained")
        panels = page.subplots(len(QUANTITIES), 1, sharex=True)
        for letter, panel, quantity in zip("abc", panels, QUANTITIES, strict=True):
            cells = per_cell(spent, quantity.column).set_index(["row", "scenario"])
            _table(panel, cells, rows, grid.scenarios, quantity)
            panel.set_title(f"({letter}) {quantity.title}", loc="left")
            panel.set_yticklabels([style.title(config, row) for row in rows], rotation=0)
        heads = ["{}\n{}".format(*style.scenario_lines(name)) for name in grid.scenarios]
        panels[-1].set_xticklabels(heads, rotation=0, fontsize=style.NOTE_SIZE)
        caption(page, _limits(runs, spent, RATIO, DASH))
    return page


def _table(panel: Axes, cells: pd.DataFrame, rows: list[str], scenarios, quantity) -> None:
    """`16 min ×2.1`: the mean and its ratio; a dash where nothing was run."""
    shape = {"index": rows, "columns": list(scenarios)}
    colours, texts = pd.DataFrame(0.0, **shape), pd.DataFrame("–", **shape)
    for (row, scenario), cell in cells.iterrows():
        known = not np.isnan(cell.ratio)
        colours.loc[row, scenario] = np.log2(cell.ratio) if known else 0.0
        ratio = f" ×{cell.ratio:.2g}" if known and row != BASELINE else ""
        texts.loc[row, scenario] = quantity.text(cell.value) + ratio
    sns.heatmap(
        colours, ax=panel, vmin=-4, vmax=4, cmap="PuOr_r", cbar=False, linewidths=0.6,
        annot=texts, fmt="", annot_kws={"fontsize": style.NOTE_SIZE},
    )  # fmt: skip
    panel.set(xlabel="", ylabel="")
    panel.tick_params(length=0, pad=2)
    panel.grid(False)


# --- against the number of tasks ------------------------------------------------------------------


def scaling_figure(runs: pd.DataFrame, config: Config) -> Figure:
    """Rows are families with several numbers of tasks, columns the three quantities."""
    spent, grid = costs(runs), config.tables["table2"]
    counts: dict[str, list[int]] = {}
    for family, tasks in map(style.split, grid.scenarios):
        counts.setdefault(family, []).append(tasks)
    families = [family for family, tasks in counts.items() if len(tasks) > 1]
    if not families:
        return empty("no family has several numbers of tasks")
    rows = pd.DataFrame({"row": [*grid.methods, *grid.references]})
    rows["n"] = rows.row.isin(spent.row)
    with style.context():
        page = Figure(figsize=(style.TEXT_WIDTH, 1.65 * len(families) + 1), layout="constrained")
        panels = page.subplots(len(families), len(QUANTITIES), squeeze=False)
        for (place, family), (i, quantity) in itertools.product(
            enumerate(families), enumerate(QUANTITIES)
        ):
            _growth(panels[place, i], spent[spent.family == family], quantity, rows.row, config)
            letter = "abcdefghijkl"[place * len(QUANTITIES) + i]
            title = f"({letter}) {style.SCENARIOS.get(family, family)}"
            panels[place, i].set_title(title, loc="left")
            panels[place, i].set(xlim=(0, 1.05 * max(counts[family])), xticks=counts[family])
        for panel in panels[-1]:
            panel.set_xlabel("number of tasks")
        page.legend(
            handles=legend(rows, config), loc="outside lower center", ncols=4,
            title=textwrap.fill(_limits(runs, spent), 120, break_on_hyphens=False),
            title_fontproperties={"size": style.NOTE_SIZE, "style": "italic"},
        )  # fmt: skip
    return page


def _growth(panel: Axes, spent: pd.DataFrame, quantity: Quantity, rows, config: Config) -> None:
    for row in reversed(list(rows)):  # the paper's methods on top of the references
        points = []
        for tasks, cell in spent[spent.row == row].groupby("tasks"):
            values = cell[quantity.column].tolist()
            low, high = t_interval(values)
            half = 0 if low is None or high is None else (high - low) / 2
            points.append((tasks, mean(values), half))
        if points:
            look = style.look(config, row)
            x, middle, halves = zip(*points, strict=True)
            panel.errorbar(x, middle, halves, color=look.colour, linestyle=look.line,
                           elinewidth=0.8, **look.marking)  # fmt: skip
    panel.set_ylim(0, 1.05 * panel.get_ylim()[1])
    panel.set_ylabel(quantity.short)


def _limits(runs: pd.DataFrame, spent: pd.DataFrame, *signs: str) -> str:
    """What limits the numbers: budgets, data and machines; then what the signs mean."""
    if spent.empty:
        return "no record"
    here = runs[(runs.table == "table2") & runs.in_grid & (runs.status == COMPLETE)]
    machines = "measured on: " + "; ".join(sorted(spent.machine.unique()))
    return ". ".join([*limits(here), machines, *signs])
