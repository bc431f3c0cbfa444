"""What the paper's ambiguities do to the numbers: the table of `ambiguities.to_frame`, drawn."""

import itertools
import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from eowm.analysis import style
from eowm.analysis.figures import empty
from eowm.settings.config import Config

LINEAR = 0.01  # differences are drawn linearly up to here, then by their order of magnitude
# Scenarios differ by shape and fill: colours belong to methods.
SHAPES = [*itertools.product("osD^v", ("black", "white"))]


def figure(differences: pd.DataFrame, config: Config) -> Figure:
    """A line compares two rows, with a marker for each scenario and the 95 % t-interval.

    A reduced budget makes another scenario of it.
    """
    with style.context():
        if differences.empty:
            return empty("no comparison")
        lines = compared(differences, config)
        names, metrics = lines.name.unique(), lines.metric.unique()
        drawn = lines[lines.n > 0].scenario.unique()
        shapes = dict(zip(drawn, itertools.cycle(SHAPES), strict=False))
        size = (style.TEXT_WIDTH, 0.17 * len(names) + 0.17 * len(shapes) / 3 + 1)
        page = Figure(figsize=size, layout="constrained")
        panels = page.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
        for panel, metric in zip(panels, metrics, strict=True):
            _panel(panel, lines[lines.metric == metric], list(names), shapes)
            panel.set_title(f"difference in {metric}", loc="left")
        handles = [_mark(marker, fill, name) for name, (marker, fill) in shapes.items()]
        page.legend(handles=handles, ncols=3, loc="outside lower center")
    return page


def compared(differences: pd.DataFrame, config: Config) -> pd.DataFrame:
    """With the scenario and its limits, and a name for the topic and the pair of rows."""
    scenarios, names = [], []
    for line in differences.itertuples():
        variant, default = (cell.split("/")[2] for cell in (line.variant, line.default))
        title = _title(config, variant)
        # A variant of a method as it stands, or another reading of a row, needs one name only.
        of_method = default in config.methods and variant.startswith(default)
        plain = of_method or variant.partition(", ")[0] == default
        title = title if plain else f"{title} − {_title(config, default)}"
        names.append(textwrap.shorten(f"{line.topic}: {title}", 75, placeholder=" …"))
        scenario = style.scenario_title(line.variant.split("/")[1])
        scenarios.append(", ".join(filter(None, (scenario, line.limits))))
    return differences.assign(scenario=scenarios, name=names)


def _title(config: Config, row: str) -> str:
    """What follows a comma is another reading of the same records."""
    row, comma, reading = row.partition(", ")
    return style.title(config, row) + comma + reading


def _panel(panel: Axes, lines: pd.DataFrame, names: list[str], shapes: dict) -> None:
    panel.axvline(0, color="#777777", linewidth=0.7, zorder=1)
    for place, name in enumerate(names):
        asked = lines[lines.name == name]
        here = asked[asked.n > 0]
        if len(asked) and here.empty:
            why = ", ".join(filter(None, asked.note.unique())) or "no pair"
            panel.text(0, place, why, ha="center", va="center", style="italic",
                       fontsize=style.NOTE_SIZE, color=style.NOTE_COLOUR)  # fmt: skip
        for line, shift in zip(here.itertuples(), _shifts(len(here)), strict=True):
            marker, fill = shapes[line.scenario]
            half = None if pd.isna(line.low) else line.high - line.difference
            panel.errorbar(line.difference, place + shift, xerr=half, elinewidth=0.8,
                           color="black", marker=marker, markerfacecolor=fill)  # fmt: skip
    panel.set_xscale("symlog", linthresh=LINEAR)
    reach = 1.3 * max(2 * LINEAR, min(1.0, lines[["difference", "low", "high"]].abs().max().max()))
    ticks = [sign * tick for tick in (0.01, 0.1, 1.0) if tick <= reach for sign in (-1, 1)]
    panel.set_xticks([0, *ticks], ["0", *(f"{tick:+g}" for tick in ticks)])
    panel.set(xlim=(-reach, reach), ylim=(len(names) - 0.5, -0.5))
    panel.set_yticks(range(len(names)), names, fontsize=style.NOTE_SIZE)
    panel.minorticks_off()
    panel.set_xlabel(f"linear to ±{LINEAR:g}, then logarithmic", fontsize=style.NOTE_SIZE)


def _mark(marker: str, fill: str, label: str) -> Line2D:
    return Line2D([], [], marker=marker, markerfacecolor=fill, color="black", linestyle="none",
                  label=label)  # fmt: skip


def _shifts(count: int) -> list[float]:
    """Markers of one line, side by side."""
    return [0.7 * ((place + 0.5) / count - 0.5) for place in range(count)]
