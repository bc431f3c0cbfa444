"""The paper's figures, drawn from records."""

import io
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from PIL import Image

from eowm.analysis import style
from eowm.analysis.collect import NOT_RUN, accuracy_so_far
from eowm.analysis.statistics import mean, t_interval
from eowm.analysis.summary import CEILING, MARKS, summarise
from eowm.settings.config import Config

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
PANELS_A_ROW, PANEL_HEIGHT = 4, 1.6  # inches
NOTE_WIDTH = 26  # characters a line
PALETTE = 128  # colours of a PNG


def figure3(runs: pd.DataFrame, config: Config) -> Figure:
    """Average accuracy of the tasks learnt so far against their number, a panel per scenario."""
    here = runs[(runs.table == "table2") & runs.in_grid]
    curves, summary = accuracy_so_far(here), summarise(here, config)
    end_points = summary[summary.metric == "AA"]
    with style.context():
        figure, panels = scenario_panels()
        for scenario, panel in panels.items():
            _panel(
                panel,
                curves[curves.scenario == scenario],
                end_points[end_points.scenario == scenario],
                config,
                style.split(scenario)[1],
            )
        for panel in figure.axes[-PANELS_A_ROW:]:
            panel.set_xlabel("tasks learnt")
        figure.supylabel("average accuracy of the tasks learnt")
        handles = legend(end_points, config) + _how_to_read(end_points)
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def scenario_panels() -> tuple[Figure, dict[str, Axes]]:
    """An empty page of panels (a) to (h), with their titles."""
    rows = -(-len(FIGURE3_PANELS) // PANELS_A_ROW)
    size = (style.TEXT_WIDTH, rows * PANEL_HEIGHT + 0.8)
    figure = Figure(figsize=size, layout="constrained")
    panels = dict(zip(FIGURE3_PANELS, figure.subplots(rows, PANELS_A_ROW).flat, strict=True))
    for letter, (scenario, panel) in zip("abcdefgh", panels.items(), strict=True):
        panel.set_title(f"({letter}) {style.scenario_title(scenario)}", loc="left", x=-0.15)
    return figure, panels


def drawing_order(cells: pd.DataFrame) -> pd.DataFrame:
    """References first, the method under test last: where curves coincide, it is on top."""
    place = [(row != "eowm", pd.isna(at)) for row, at in zip(cells.row, cells.paper, strict=True)]
    return cells.iloc[sorted(range(len(cells)), key=place.__getitem__, reverse=True)]


def save(figure: Figure, stem: Path) -> list[Path]:
    """`<stem>.pdf` and a small `<stem>.png`: the same bytes for the same picture (no dates)."""
    pdf, png = stem.with_name(stem.name + ".pdf"), stem.with_name(stem.name + ".png")
    stem.parent.mkdir(parents=True, exist_ok=True)
    with style.context():
        figure.savefig(pdf, metadata={"CreationDate": None})
    png.write_bytes(small_png(figure))
    return [pdf, png]


def small_png(figure: Figure) -> bytes:
    """At print resolution, in `PALETTE` colours: a fraction of the size, and nothing to see."""
    drawn, small = io.BytesIO(), io.BytesIO()
    with style.context():
        figure.savefig(drawn, format="png")
    image = Image.open(drawn).convert("RGB").quantize(PALETTE, dither=Image.Dither.NONE)
    image.save(small, format="PNG", optimize=True)
    return small.getvalue()


def show(
    figure: Figure, name: str, out: str | Path | None = None, alt: str = "", width: int = 1000
) -> Any:
    """The figure in a notebook; also as files in `<out>/figures` where `out` is given."""
    from IPython.display import Image as Shown

    if out:
        print(*save(figure, Path(out) / "figures" / name), sep="\n")
    return Shown(data=small_png(figure), format="png", width=width, alt=alt)


def _panel(
    panel: Axes, curves: pd.DataFrame, cells: pd.DataFrame, config: Config, tasks: int
) -> None:
    """One scenario: a curve per method, the joint ceiling, and the paper's end points."""
    margin = 0.04 * tasks
    strip = tasks + 1.5 * margin  # right of it, the paper's end points, each method at its place
    published = cells[cells.paper.notna()].row.tolist()
    for cell in drawing_order(cells).itertuples():
        look = style.look(config, cell.row)
        if cell.method == CEILING:
            if cell.n:
                panel.plot([1 - margin, strip], [cell.mean] * 2, color=look.colour,
                           linestyle=look.line, linewidth=0.9)  # fmt: skip
            continue
        curve(panel, curves[curves.row == cell.row], look, on_top=cell.row == "eowm")
        if cell.row in published:
            place = strip + margin * (1 + 4 * published.index(cell.row) / len(published))
            panel.plot(place, cell.paper, **_hollow(look.colour, look.marker))
    panel.margins(y=0.08)
    panel.set_xlim(1 - margin, strip + 5.5 * margin)
    ticks = MaxNLocator(nbins=5, integer=True, min_n_ticks=2).tick_values(1, tasks)
    panel.set_xticks([tick for tick in ticks if 1 <= tick <= tasks])
    taken = write_notes(panel, notes(cells, config))
    panel.axvspan(strip, strip + 5.5 * margin, ymax=1 - taken, color="#F2F2F2", linewidth=0)


def curve(
    panel: Axes, runs: pd.DataFrame, look: style.Look, on_top: bool, lowest: float = 0
) -> None:
    """A variant has no markers; the marker on top is small, so that others show around it."""
    points = []
    for tasks, at in runs.groupby("tasks"):
        values = at.accuracy.tolist()
        points.append((tasks, mean(values), *t_interval(values)))
    if not points:
        return
    x, middle, low, high = zip(*points, strict=True)
    step = 1 + len(x) // 11  # at 20 tasks every second marker, counted from the last
    panel.plot(
        x, middle, color=look.colour, linestyle=look.line,
        marker=look.marker if look.filled else "", markersize=2.8 if on_top else 4.2,
        markevery=((len(x) - 1) % step, step),
    )  # fmt: skip
    if None not in low:  # two runs may give an interval that leaves the range of an accuracy
        low, high = np.clip(low, lowest, 1), np.clip(high, lowest, 1)
        panel.fill_between(x, low, high, color=look.colour, alpha=0.2, linewidth=0)


def _hollow(colour: str, marker: str) -> dict:
    """The paper's end point: the method's own marker, larger and empty."""
    return {
        "marker": marker,
        "markersize": 5.5,
        "markerfacecolor": "none",
        "markeredgecolor": colour,
        "markeredgewidth": 1.0,
        "linestyle": "none",
        "clip_on": False,
        "zorder": 4,
    }


def caption(page: Figure, lines: str, width: int = 120) -> None:
    """What limits a figure, at its lower edge."""
    text = textwrap.fill(lines, width, break_on_hyphens=False)
    page.supxlabel(text, x=0.01, ha="left", style="italic", fontsize=style.NOTE_SIZE,
                   color=style.NOTE_COLOUR)  # fmt: skip


def empty(text: str) -> Figure:
    """A small page that says why there is no figure."""
    page = Figure(figsize=(style.COLUMN_WIDTH, 0.6))
    page.text(0.5, 0.5, text, ha="center", va="center", color=style.NOTE_COLOUR)
    return page


def notes(cells: pd.DataFrame, config: Config) -> list[str]:
    """`reduced budget`, or `not run: OWM, EOWM` where it holds for some methods only."""
    if cells.empty:
        return ["not in the grid"]
    written = []
    for mark in MARKS:
        marked = cells[cells.marks.str.contains(mark.letter)]
        # A curve over fewer seeds than planned was run; the tables give its number of runs.
        rows = (marked[marked.n == 0] if mark.name == NOT_RUN else marked).row
        if len(rows):
            everyone = len(rows) == len(cells[cells.n > 0]) and mark.letter in "rstbhp"
            written.append(mark.name if everyone else f"{mark.name}: {_names(rows, cells, config)}")
    if all(cells.n == 0):
        written = [note.partition(":")[0] for note in written]
    return written


def _names(rows: pd.Series, cells: pd.DataFrame, config: Config) -> str:
    """The methods, or `all but` the others where that is shorter; a title may hold a comma."""
    inside = [style.title(config, row) for row in rows]
    outside = [style.title(config, row) for row in cells.row if row not in set(rows)]
    return min("; ".join(inside), "all but " + "; ".join(outside), key=len)


def write_notes(panel: Axes, notes: list[str]) -> float:
    """At the top of the panel, in room made for it above the curves: the share it takes."""
    wrapped = [textwrap.wrap(note, NOTE_WIDTH, break_on_hyphens=False) for note in notes]
    lines = [line for note in wrapped for line in note]
    if not lines:
        return 0.0
    low, high = panel.get_ylim()
    taken = min(0.6, 0.03 + 0.1 * len(lines))
    panel.set_yticks([tick for tick in panel.get_yticks() if low <= tick <= min(high, 1)])
    panel.set_ylim(low, low + (high - low) / (1 - taken))
    panel.text(
        0.02, 0.99, "\n".join(lines), transform=panel.transAxes, va="top", ha="left",
        fontsize=style.NOTE_SIZE, style="italic", color=style.NOTE_COLOUR, linespacing=1.15,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8}, in_layout=False,
    )  # fmt: skip
    return taken


def legend(cells: pd.DataFrame, config: Config, line: bool = True) -> list[Line2D | Patch]:
    """Every row of the grid, also those that never ran. `line`: not the marker alone."""
    ran = cells.groupby("row", sort=False).n.any()
    handles: list[Line2D | Patch] = []
    for row, any_run in ran.items():
        look, title = style.look(config, str(row)), style.title(config, str(row))
        shown = {"linestyle": look.line if line else "none", **look.marking}
        label = title if any_run else f"{title} (no result)"
        handles.append(Line2D([], [], color=look.colour, **shown, label=label))
    return handles


def _how_to_read(cells: pd.DataFrame) -> list[Line2D | Patch]:
    band = [Patch(color="#777777", alpha=0.3, label="95 % t-interval")] * bool((cells.n > 1).any())
    point = Line2D([], [], **_hollow("#777777", "o"), label="hollow: the paper's end point")
    return [*band, point]
