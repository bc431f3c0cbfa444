"""The accuracy matrices behind every metric, as heat maps: one figure a scenario."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from eowm.analysis import style
from eowm.analysis.collect import COMPLETE
from eowm.analysis.figures import PANELS_A_ROW, caption, empty, notes
from eowm.analysis.summary import summarise
from eowm.settings.config import Config

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
    means = {row: mean_matrix(here[here.row == row]) for row in here.row.unique()}
    shown = {row: matrix for row, matrix in means.items() if matrix is not None}
    limits = "; ".join(notes(cells[cells.metric == "AA"], config))
    title = style.scenario_title(scenario)
    with style.context():
        if not shown:
            return empty(f"{title}\nno record: {limits}")
        values = np.concatenate([matrix[~np.isnan(matrix)] for matrix in shown.values()])
        low, high = np.floor(10 * values.min()) / 10, np.ceil(10 * values.max()) / 10
        scale = ScalarMappable(Normalize(low, max(high, low + 0.1)), COLOURS)
        rows = -(-len(shown) // PANELS_A_ROW)
        page = Figure(figsize=(style.TEXT_WIDTH, 1.85 * rows + 1), layout="constrained")
        panels = page.subplots(rows, PANELS_A_ROW, squeeze=False).flat
        for panel, (row, matrix) in zip(panels, shown.items(), strict=False):
            _panel(panel, matrix, scale)
            of_row = cells[cells.row == row].set_index("metric")
            panel.set_title(f"{style.title(config, row)}\n{_metrics(of_row)}", loc="left")
        for panel in panels[len(shown) :]:
            panel.set_axis_off()
        page.suptitle(f"{title}: test accuracy of a task (across) after each task (down)")
        page.colorbar(scale, ax=list(panels), location="right", shrink=0.6)
        caption(page, limits)
    return page


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
    panel.set_yticks(places, names, rotation=0)
    panel.tick_params(length=0, pad=2)
    panel.grid(False)


def _metrics(values: pd.DataFrame) -> str:
    """`AA 0.950  MRR 0.977  (3)`: the two numbers of the paper, and the number of runs."""
    known = [name for name in ("AA", "MRR") if values.n[name]]
    numbers = [f"{name} {values['mean'][name]:.3f}" for name in known]
    return "  ".join([*numbers, f"({values.n['AA']})"])
