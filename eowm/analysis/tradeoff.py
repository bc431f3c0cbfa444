"""Forgetting against plasticity: a method that never learns has nothing to forget."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from eowm.analysis import style
from eowm.analysis.figures import (
    PANELS_A_ROW,
    drawing_order,
    notes,
    scenario_panels,
    write_notes,
)
from eowm.analysis.summary import CEILING, summarise
from eowm.settings.config import Config

LEAST_SPAN = 0.02  # of an axis: smaller differences are not magnified


def figure(runs: pd.DataFrame, config: Config) -> Figure:
    """FM over the mean accuracy right after learning, a panel per scenario.

    Joint training has no order of tasks and so neither number.
    """
    here = runs[(runs.table == "table2") & runs.in_grid & (runs.method != CEILING)]
    summary = summarise(here, config)
    with style.context():
        page, panels = scenario_panels()
        for scenario, panel in panels.items():
            _panel(panel, summary[summary.scenario == scenario], config)
        for panel in page.axes[-PANELS_A_ROW:]:
            panel.set_xlabel("plasticity")
        page.supylabel("forgetting (FM)")
        page.legend(handles=_legend(summary, config), loc="outside lower center", ncols=4)
    return page


def _panel(panel: Axes, cells: pd.DataFrame, config: Config) -> None:
    learnt = cells[cells.metric == "plasticity"].set_index("row")
    for forgotten in drawing_order(cells[cells.metric == "FM"]).itertuples():
        if forgotten.n:
            _point(panel, learnt.loc[forgotten.row], forgotten, style.look(config, forgotten.row))
    panel.axhline(0, color="#999999", linewidth=0.6, zorder=1)
    panel.margins(0.12)
    if cells.n.any():
        (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
        more = max(0.0, LEAST_SPAN - (right - left)) / 2
        panel.set(xlim=(left - more, right + more), ylim=(low, max(high, low + LEAST_SPAN)))
    else:
        panel.set(xlim=(0, 1), ylim=(-0.1, 1))
    panel.xaxis.set_major_locator(MaxNLocator(nbins=3))
    write_notes(panel, notes(cells[cells.metric == "FM"], config))


def _point(panel: Axes, learnt, forgotten, look: style.Look) -> None:
    panel.errorbar(
        learnt["mean"], forgotten.mean, xerr=_half(learnt), yerr=_half(forgotten._asdict()),
        ecolor=look.colour, elinewidth=0.9, linestyle="none", **_marker(look),
    )  # fmt: skip


def _half(cell) -> float | None:
    """Half of the 95 % t-interval; a single run has none."""
    return cell["high"] - cell["mean"] if cell["n"] > 1 else None


def _marker(look: style.Look) -> dict:
    return {
        "marker": look.marker,
        "markersize": (8 if look.marker == "*" else 5.5) if look.filled else 7,
        "markerfacecolor": look.colour if look.filled else "none",
        "markeredgecolor": "white" if look.filled else look.colour,
        "markeredgewidth": 0.4 if look.filled else 0.9,
    }


def _legend(summary: pd.DataFrame, config: Config) -> list[Line2D]:
    handles = []
    counts = summary[summary.metric == "FM"].groupby("row", sort=False).n.sum()
    for row, runs in counts.items():
        title = style.title(config, str(row)) + ("" if runs else " (no result)")
        look = _marker(style.look(config, str(row)))
        handles.append(Line2D([], [], linestyle="none", **look, label=title))
    label = "bars: 95 % t-intervals"
    handles.append(
        Line2D([], [], color="#777777", marker="|", markersize=5, linewidth=0.9, label=label)
    )
    return handles
