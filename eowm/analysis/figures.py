"""The paper's figures, drawn from records."""

import textwrap
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from eowm.analysis import style
from eowm.analysis.results import MARKS, NOT_RUN, accuracy_so_far, mean, summarise, t_interval
from eowm.config import Config

FIGURE3_PANELS = (  # (a) to (h), in the order of the paper's caption
    "cifar10-5",
    "cifar100-2",
    "cifar100-5",
    "cifar100-10",
    "cifar100-20",
    "shuffled-mnist-3",
    "shuffled-mnist-10",
    "shuffled-mnist-20",
)
TEXT_WIDTH, COLUMN_WIDTH, PANEL_HEIGHT = 7.0, 3.3, 1.6  # inches, in a two-column paper
NOTE_SIZE, NOTE_WIDTH = 6.5, 29  # points, characters a line


def figure3(runs: pd.DataFrame, config: Config, columns: int = 4) -> Figure:
    """Average accuracy of the tasks learnt so far against their number, a panel per scenario.

    Four columns of panels fill a text width, two a column.
    """
    here = runs[(runs.table == "table2") & runs.in_grid]
    curves, summary = accuracy_so_far(here), summarise(here, config)
    end_points = summary[summary.metric == "AA"]
    rows = -(-len(FIGURE3_PANELS) // columns)
    with style.context():
        figure = Figure(
            figsize=(TEXT_WIDTH if columns > 2 else COLUMN_WIDTH, rows * PANEL_HEIGHT + 0.7),
            layout="constrained",
        )
        panels = figure.subplots(rows, columns, squeeze=False)
        for letter, scenario, panel in zip("abcdefgh", FIGURE3_PANELS, panels.flat, strict=False):
            panel.set_title(f"({letter}) {style.scenario_title(scenario)}", loc="left", x=-0.15)
            _panel(
                panel,
                curves[curves.scenario == scenario],
                end_points[end_points.scenario == scenario],
                config,
                style.split(scenario)[1],
            )
        for panel in panels[-1]:
            panel.set_xlabel("tasks learnt")
        for panel in panels.flat[len(FIGURE3_PANELS) :]:
            panel.set_axis_off()
        figure.supylabel("average accuracy of the tasks learnt")
        figure.legend(
            handles=_legend(end_points, config),
            loc="outside lower center",
            ncols=2 if columns <= 2 else 4,
        )
    return figure


def save(figure: Figure, stem: Path) -> list[Path]:
    """`<stem>.pdf` and `<stem>.png`, the same bytes for the same picture (no dates inside)."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = []
    with style.context():
        for suffix, metadata in ((".pdf", {"CreationDate": None}), (".png", {"Software": None})):
            files.append(stem.with_name(stem.name + suffix))
            figure.savefig(files[-1], metadata=metadata)
    return files


def _panel(
    panel: Axes, curves: pd.DataFrame, cells: pd.DataFrame, config: Config, tasks: int
) -> None:
    """One scenario: a curve per method, the joint ceiling, and the paper's end points."""
    for cell in cells.itertuples():
        look = style.look(config, cell.row)
        if cell.method == style.CEILING:
            if cell.n:
                panel.axhline(cell.mean, color=look.colour, linestyle=look.line, linewidth=0.9)
            continue
        _curve(panel, curves[curves.row == cell.row], look)
        if not pd.isna(cell.paper):
            panel.plot(tasks, cell.paper, **_hollow(look.colour, look.marker))
    panel.margins(y=0.08)
    panel.set_xlim(1 - 0.04 * tasks, tasks + 0.04 * tasks)
    panel.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=2))
    _write_notes(panel, _panel_notes(cells, config))


def _curve(panel: Axes, curve: pd.DataFrame, look: style.Look) -> None:
    points = []
    for tasks, at in curve.groupby("tasks"):
        values = at.accuracy.tolist()
        points.append((tasks, mean(values), *t_interval(values)))
    if not points:
        return
    x, middle, low, high = zip(*points, strict=True)
    step = 1 + len(x) // 11  # at 20 tasks every second marker, counted from the last
    panel.plot(
        x, middle, color=look.colour, marker=look.marker, linestyle=look.line,
        markevery=((len(x) - 1) % step, step),
    )  # fmt: skip
    if None not in low:
        panel.fill_between(x, low, high, color=look.colour, alpha=0.2, linewidth=0)


def _hollow(colour: str, marker: str) -> dict:
    """The paper's end point: the method's own marker, larger and empty."""
    return {
        "marker": marker if marker not in ("", ".") else "o",
        "markersize": 6.5,
        "markerfacecolor": "none",
        "markeredgecolor": colour,
        "markeredgewidth": 1.0,
        "linestyle": "none",
        "clip_on": False,
        "zorder": 4,
    }


def _panel_notes(cells: pd.DataFrame, config: Config) -> list[str]:
    """`reduced budget`, or `not run: OWM, EOWM` where it holds for some methods only."""
    if cells.empty:
        return ["not in the grid"]
    notes = []
    for mark in MARKS:
        marked = cells[cells.marks.str.contains(mark.letter)]
        # A curve over fewer seeds than planned was run; the tables give its number of runs.
        rows = (marked[marked.n == 0] if mark.name == NOT_RUN else marked).row
        if len(rows):
            everyone = len(rows) == len(cells[cells.n > 0]) and mark.letter in "rst"
            names = ", ".join(style.title(config, row) for row in rows)
            notes.append(mark.name if everyone else f"{mark.name}: {names}")
    if all(cells.n == 0):
        notes = [note.partition(":")[0] for note in notes]
    return notes


def _write_notes(panel: Axes, notes: list[str]) -> None:
    """At the top of the panel, in room made for it above the curves."""
    lines = [line for note in notes for line in textwrap.wrap(note, NOTE_WIDTH)]
    if not lines:
        return
    low, high = panel.get_ylim()
    taken = min(0.6, 0.03 + 0.1 * len(lines))
    panel.set_yticks([tick for tick in panel.get_yticks() if low <= tick <= min(high, 1)])
    panel.set_ylim(low, low + (high - low) / (1 - taken))
    panel.text(
        0.02, 0.99, "\n".join(lines), transform=panel.transAxes, va="top", ha="left",
        fontsize=NOTE_SIZE, style="italic", color="#444444", linespacing=1.15,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip


def _legend(cells: pd.DataFrame, config: Config) -> list[Line2D | Patch]:
    """Every row of the grid, also those that never ran; then how to read the picture."""
    handles: list[Line2D | Patch] = []
    for row in cells.row.unique():
        look, title = style.look(config, row), style.title(config, row)
        if not cells[cells.row == row].n.any():
            title += " (no result)"
        handles.append(
            Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.line, label=title)
        )
    if (cells.n > 1).any():
        handles.append(Patch(color="#777777", alpha=0.3, label="95 % t-interval"))
    handles.append(Line2D([], [], **_hollow("#777777", "o"), label="hollow: the paper's end"))
    return handles
