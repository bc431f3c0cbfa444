"""What a method costs: time and memory of each cell, and how they grow with the number of tasks."""

import textwrap
from dataclasses import dataclass

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from eowm.analysis import style
from eowm.analysis.collect import COMPLETE
from eowm.analysis.figures import CAPTION_LINE, caption, empty
from eowm.analysis.statistics import mean, t_interval
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

LEFT, ROW_HEIGHT, HEAD, GAP = 1.22, 0.165, 0.34, 0.30  # inches


def cells_figure(runs: pd.DataFrame, config: Config) -> Figure:
    """Three tables of numbers, coloured by their ratio to fine-tuning."""
    grid, spent = config.tables["table2"], costs(runs)
    rows = [*grid.methods, *grid.references]
    limits = _limits(runs, spent, RATIO, DASH)
    block = len(rows) * ROW_HEIGHT + GAP
    height = HEAD + len(QUANTITIES) * block + CAPTION_LINE * len(limits)
    with style.context():
        page = Figure(figsize=(style.TEXT_WIDTH, height))
        for place, quantity in enumerate(QUANTITIES):
            y = height - HEAD - place * block - len(rows) * ROW_HEIGHT
            panel = page.add_axes(
                (
                    LEFT / style.TEXT_WIDTH, y / height,
                    1 - (LEFT + 0.05) / style.TEXT_WIDTH, len(rows) * ROW_HEIGHT / height,
                )
            )  # fmt: skip
            _table(panel, per_cell(spent, quantity.column), rows, grid.scenarios, quantity, config)
            panel.set_title(f"({'abc'[place]}) {quantity.title}", loc="left", x=-0.21, pad=3)
            if not place:
                _heads(panel, grid.scenarios)
        caption(page, limits)
    return page


def _table(
    panel: Axes, cells: pd.DataFrame, rows: list[str], scenarios, quantity: Quantity, config: Config
) -> None:
    """`16 min ×2.1`: the mean and its ratio; a dash where nothing was run."""
    shape = {"index": rows, "columns": list(scenarios)}
    ratios, texts = pd.DataFrame(np.nan, **shape), pd.DataFrame("–", **shape)
    for cell in cells.itertuples():
        ratios.loc[cell.row, cell.scenario] = np.log2(cell.ratio)
        ratio = "" if np.isnan(cell.ratio) or cell.row == BASELINE else f" ×{cell.ratio:.2g}"
        texts.loc[cell.row, cell.scenario] = quantity.text(cell.value) + ratio
    panel.set_facecolor("#F4F4F4")
    sns.heatmap(
        ratios, ax=panel, vmin=-4, vmax=4, cmap="PuOr_r", cbar=False, linewidths=0.6,
    )  # fmt: skip
    for down, row in enumerate(rows):
        for across, scenario in enumerate(scenarios):
            dark = abs(np.nan_to_num(ratios.loc[row, scenario])) > 2.8
            panel.text(
                across + 0.5, down + 0.52, texts.loc[row, scenario], ha="center", va="center",
                fontsize=style.NOTE_SIZE, color="white" if dark else "black",
            )  # fmt: skip
    panel.set_yticks(
        [place + 0.5 for place in range(len(rows))], [style.title(config, row) for row in rows]
    )
    panel.set(xticks=[], xlabel="", ylabel="")
    panel.tick_params(length=0, pad=2, rotation=0)
    panel.grid(False)


def _heads(panel: Axes, scenarios) -> None:
    for place, scenario in enumerate(scenarios):
        family, tasks = style.split(scenario)
        name = f"{style.SCENARIOS.get(family, family)} ({tasks})"
        text = textwrap.fill(name, 10, break_on_hyphens=False)
        panel.text(place + 0.5, -0.15, text, ha="center", va="bottom", fontsize=style.NOTE_SIZE)


# --- against the number of tasks ------------------------------------------------------------------


def scaling_figure(runs: pd.DataFrame, config: Config) -> Figure:
    """Rows are families with several numbers of tasks, columns the three quantities."""
    spent = costs(runs)
    scenarios = [style.split(name) for name in config.tables["table2"].scenarios]
    counts: dict[str, list[int]] = {}
    for family, tasks in scenarios:
        counts.setdefault(family, []).append(tasks)
    families = [family for family, tasks in counts.items() if len(tasks) > 1]
    if not families:
        return empty("no family has several numbers of tasks")
    limits = _limits(runs, spent)
    with style.context():
        size = (style.TEXT_WIDTH, 1.65 * len(families) + 0.75 + CAPTION_LINE * len(limits))
        page = Figure(figsize=size, layout="constrained")
        panels = page.subplots(len(families), len(QUANTITIES), squeeze=False)
        letters = iter("abcdefghijkl")
        for line, family in zip(panels, families, strict=True):
            for panel, quantity in zip(line, QUANTITIES, strict=True):
                _growth(panel, spent[spent.family == family], quantity, counts[family], config)
                title = f"({next(letters)}) {style.SCENARIOS.get(family, family)}"
                panel.set_title(title, loc="left")
        for panel in panels[-1]:
            panel.set_xlabel("number of tasks")
        page.legend(
            handles=_legend(spent, config), loc="outside lower center", ncols=4,
            title="\n".join(limits),
            title_fontproperties={"size": style.NOTE_SIZE, "style": "italic"},
        )  # fmt: skip
    return page


def _growth(
    panel: Axes, spent: pd.DataFrame, quantity: Quantity, counts: list[int], config: Config
) -> None:
    for row in _rows(config):
        of_row = spent[spent.row == row]
        points = []
        for tasks, cell in of_row.groupby("tasks"):
            values = cell[quantity.column].tolist()
            points.append((tasks, mean(values), *t_interval(values)))
        if points:
            look = style.look(config, row)
            x, middle, low, high = zip(*points, strict=True)
            panel.plot(x, middle, color=look.colour, linestyle=look.line, **_marker(look))
            for at, bottom, top in zip(x, low, high, strict=True):
                if bottom is not None:
                    panel.plot([at, at], [bottom, top], color=look.colour, linewidth=0.8)
    panel.set_xlim(0, 1.05 * max(counts))
    panel.set_xticks(counts)
    panel.set_ylim(0, 1.05 * panel.get_ylim()[1])
    panel.set_ylabel(quantity.short)
    if spent.empty:
        panel.set_yticks([])
        panel.text(0.5, 0.5, "no record", transform=panel.transAxes, ha="center", va="center",
                   style="italic", color=style.NOTE_COLOUR)  # fmt: skip


def _rows(config: Config) -> list[str]:
    grid = config.tables["table2"]
    return [*grid.references, *grid.methods]


def _marker(look: style.Look) -> dict:
    return {"marker": look.marker, "markerfacecolor": look.colour if look.filled else "white"}


def _legend(spent: pd.DataFrame, config: Config) -> list[Line2D]:
    handles = []
    grid = config.tables["table2"]
    for row in (*grid.methods, *grid.references):
        look, title = style.look(config, row), style.title(config, row)
        title += "" if (spent.row == row).any() else " (no result)"
        handles.append(
            Line2D([], [], color=look.colour, linestyle=look.line, **_marker(look), label=title)
        )
    return handles


# --- words --------------------------------------------------------------------------------------


def _limits(runs: pd.DataFrame, spent: pd.DataFrame, *signs: str) -> list[str]:
    """What limits the numbers: budgets, data and machines; then what the signs mean."""
    here = runs[(runs.table == "table2") & runs.in_grid]
    if spent.empty:
        return ["no record"]
    complete = here[here.status == COMPLETE]
    reasons = {
        "reduced budget": complete.budget == "reduced",
        "stand-in data": complete.standin,
        "stale settings": complete.stale,
    }
    said = [name for name, applies in reasons.items() if applies.any()]
    said.append("measured on: " + "; ".join(sorted(spent.machine.unique())))
    said += signs
    return textwrap.wrap(". ".join(said), 120, break_on_hyphens=False)
