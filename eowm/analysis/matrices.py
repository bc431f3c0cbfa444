"""The accuracy matrices behind every metric, as heat maps: one figure a scenario."""

import textwrap

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from eowm.analysis import style
from eowm.analysis.collect import COMPLETE
from eowm.analysis.figures import CAPTION_LINE, caption, empty, notes
from eowm.analysis.summary import summarise
from eowm.settings.config import Config

PANELS_A_ROW = 4
TITLE_PANELS = 3  # so wide is the title, even above one panel
# Inches. Laid out by hand: every panel is a square, and eight figures are drawn at a time.
SIDE, PITCH_X, PITCH_Y, LEFT, TOP, BOTTOM = 1.18, 1.68, 1.74, 0.42, 0.60, 0.46
MOST_NUMBERS = 5  # tasks: beyond, an entry is too small for a number
COLOURS = "viridis"  # even steps, the same order for colour-blind readers and in grey


def mean_matrix(runs: pd.DataFrame) -> np.ndarray | None:
    """Mean over the complete runs of one cell; NaN where nothing was measured or yet learnt."""
    matrices = []
    for rows in runs[runs.status == COMPLETE].accuracy:
        matrices.append([[np.nan] * len(rows) if row is None else row for row in rows])
    if not matrices:
        return None
    average = np.mean(matrices, axis=0)
    average[np.triu_indices_from(average, k=1)] = np.nan
    return average


def figure(runs: pd.DataFrame, config: Config, scenario: str) -> Figure:
    """A panel for each row of Table 2 that has a result; the others are named below."""
    here = runs[(runs.table == "table2") & runs.in_grid & (runs.scenario == scenario)]
    cells = summarise(here, config)
    shown = {
        row: matrix
        for row in here.row.unique()
        if (matrix := mean_matrix(here[here.row == row])) is not None
    }
    limits = notes(cells[cells.metric == "AA"], config)
    with style.context():
        if not shown:
            return empty(f"{style.scenario_title(scenario)}\nno record: {'; '.join(limits)}")
        return _filled(scenario, shown, cells, limits, config)


def _filled(
    scenario: str,
    shown: dict[str, np.ndarray],
    cells: pd.DataFrame,
    limits: list[str],
    config: Config,
) -> Figure:
    values = np.concatenate([matrix[~np.isnan(matrix)] for matrix in shown.values()])
    low, high = np.floor(10 * values.min()) / 10, np.ceil(10 * values.max()) / 10
    scale = ScalarMappable(Normalize(low, max(high, low + 0.1)), COLOURS)
    columns = min(PANELS_A_ROW, max(TITLE_PANELS, len(shown)))
    rows = -(-len(shown) // PANELS_A_ROW)
    width = style.TEXT_WIDTH if columns == PANELS_A_ROW else LEFT + columns * PITCH_X
    limits = textwrap.wrap("; ".join(limits), int(16 * width), break_on_hyphens=False)
    height = TOP + rows * PITCH_Y + BOTTOM + CAPTION_LINE * len(limits)
    page = Figure(figsize=(width, height))
    for place, (row, matrix) in enumerate(shown.items()):
        down, across = divmod(place, PANELS_A_ROW)
        x, y = LEFT + across * PITCH_X, height - TOP - down * PITCH_Y - SIDE
        panel = page.add_axes((x / width, y / height, SIDE / width, SIDE / height))
        _panel(panel, matrix, scale)
        of_row = cells[cells.row == row].set_index("metric")
        panel.set_title(f"{style.title(config, row)}\n{_metrics(of_row)}", loc="left")
        panel.set_ylabel("after task" if not across else "", labelpad=1)
        panel.set_xlabel("task" if place + PANELS_A_ROW >= len(shown) else "", labelpad=1)
    _frame(page, scenario, scale, limits)
    return page


def _frame(page: Figure, scenario: str, scale: ScalarMappable, limits: list[str]) -> None:
    """Title, colour scale and what limits the figure, around the panels."""
    width, height = page.get_size_inches()
    title = f"{style.scenario_title(scenario)}: test accuracy after each task (number of runs)"
    page.text(0.1 / width, 1 - 0.06 / height, title, va="top", fontsize=7.5)
    low = 0.40 + CAPTION_LINE * len(limits)
    bar = page.add_axes((LEFT / width, low / height, 2 * SIDE / width, 0.09 / height))
    page.colorbar(scale, cax=bar, orientation="horizontal", label="test accuracy")
    bar.grid(False)
    caption(page, limits)


def _panel(panel: Axes, matrix: np.ndarray, scale: ScalarMappable) -> None:
    tasks = len(matrix)
    small = tasks <= MOST_NUMBERS
    low, high = scale.get_clim()
    sns.heatmap(
        matrix, ax=panel, vmin=low, vmax=high, cmap=COLOURS, cbar=False, square=True,
        annot=small, fmt=".3f" if tasks <= 3 else ".2f",
        annot_kws={"fontsize": style.NOTE_SIZE}, linewidths=0.5 if small else 0,
    )  # fmt: skip
    named = range(tasks) if small else [0, tasks - 1]
    places, names = [place + 0.5 for place in named], [str(place + 1) for place in named]
    panel.set_xticks(places, names)
    panel.set_yticks(places, names)
    panel.tick_params(length=0, pad=2, rotation=0)
    panel.grid(False)


def _metrics(values: pd.DataFrame) -> str:
    """`AA 0.950  MRR 0.977  (3)`: the two numbers of the paper, and the number of runs."""
    known = [name for name in ("AA", "MRR") if values.n[name]]
    numbers = [f"{name} {values['mean'][name]:.3f}" for name in known]
    return "  ".join([*numbers, f"({values.n['AA']})"])
