"""Forgetting against plasticity: a method that never learns has nothing to forget."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from eowm.analysis import style
from eowm.analysis.figures import (
    PANELS_A_ROW,
    drawing_order,
    legend,
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
        handles = legend(summary[summary.metric == "FM"], config, line=False)
        page.legend(
            handles=handles, loc="outside lower center", ncols=4, title="bars: 95 % t-intervals"
        )
    return page


def _panel(panel: Axes, cells: pd.DataFrame, config: Config) -> None:
    learnt = cells[cells.metric == "plasticity"].set_index("row")
    for forgotten in drawing_order(cells[cells.metric == "FM"]).itertuples():
        if forgotten.n:
            cell, look = learnt.loc[forgotten.row], style.look(config, forgotten.row)
            panel.errorbar(
                cell["mean"], forgotten.mean, xerr=_half(cell), yerr=_half(forgotten._asdict()),
                color=look.colour, elinewidth=0.9, markersize=5.5 if look.filled else 7,
                linestyle="none", **look.marking,
            )  # fmt: skip
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


def _half(cell) -> float | None:
    """Half of the 95 % t-interval; a single run has none."""
    return cell["high"] - cell["mean"] if cell["n"] > 1 else None
