"""How a method, a scenario and a page look: the same colour, marker and title everywhere."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl

from eowm.settings.config import Config

# Seven of Okabe and Ito's colours and two of Paul Tol's, apart from each other also for readers
# with a red-green or blue-yellow deficiency; the marker tells them apart in black and white.
LOOKS = {
    "ewc": ("#E69F00", "v"),
    "pgma": ("#CC79A7", "P"),
    "ogd": ("#009E73", "^"),
    "ogd-plus": ("#332288", "<"),
    "owm": ("#0072B2", "s"),
    "er-mir": ("#882255", "X"),
    "ae-mir": ("#56B4E9", "D"),
    "eowm": ("#D55E00", "o"),
    "finetune": ("#777777", "*"),
    "joint": ("#000000", ""),
}
# For methods that are not in `LOOKS`. Five colours and seven markers: 35 differ in one or both.
FREE_COLOURS = ("#F0E442", "#44AA99", "#117733", "#AA4499", "#661100")
FREE_MARKERS = (">", "h", "d", "p", "8", "H", "x")
VARIANT_LINES = (":", "-.", (0, (5, 1)), (0, (1, 1)))

# Inches: the column and the text width of a two-column paper; figures are included unscaled.
COLUMN_WIDTH, TEXT_WIDTH = 3.3, 6.9
NOTE_SIZE = 6.5  # points: the smallest text in any figure
NOTE_COLOUR = "#444444"

SCENARIOS = {
    "shuffled-mnist": "Shuffled MNIST",
    "disjoint-mnist": "Disjoint MNIST",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
}

# Sizes in points at print size.
RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same picture on every machine
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "figure.labelsize": 7.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "pdf.fonttype": 42,  # real fonts, so that the text of a figure can be searched and edited
    "svg.fonttype": "path",  # a page looks the same where the font is missing
    "svg.hashsalt": "eowm",  # the same picture gives the same file
    "savefig.dpi": 200,
}


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    line: Any  # whatever matplotlib takes as a line style
    filled: bool = True  # the marker, where there is no line to tell a variant by

    @property
    def marking(self) -> dict[str, Any]:
        return {"marker": self.marker, "markerfacecolor": self.colour if self.filled else "none"}


def look(config: Config, row: str) -> Look:
    """A variant keeps its method's colour and marker; its line is broken, its marker empty."""
    method, _, variant = row.partition(":")
    colour, marker = LOOKS.get(method) or _newcomer(config, method)
    if not variant:
        return Look(colour, marker, "--" if not marker else "-")
    place = list(config.methods[method].variants).index(variant)
    return Look(colour, marker, VARIANT_LINES[place % len(VARIANT_LINES)], filled=False)


def _newcomer(config: Config, method: str) -> tuple[str, str]:
    """The next free colour and marker, by the method's place among those without fixed looks."""
    look = free_look([name for name in config.methods if name not in LOOKS].index(method))
    return look.colour, look.marker


def free_look(place: int) -> Look:
    """One that no method of `LOOKS` has."""
    colour, marker = place % len(FREE_COLOURS), place % len(FREE_MARKERS)
    return Look(FREE_COLOURS[colour], FREE_MARKERS[marker], "-")


def title(config: Config, row: str) -> str:
    """The name of a row, `method` or `method:variant`, in tables and figures."""
    method, _, variant = row.partition(":")
    entry = config.methods[method]
    return entry.variants[variant].title if variant else entry.title


def scenario_title(scenario: str) -> str:
    return "{} ({})".format(*scenario_lines(scenario))


def scenario_lines(scenario: str) -> tuple[str, str]:
    """The title on two lines, for the head of a column."""
    family, tasks = split(scenario)
    return SCENARIOS.get(family, family), f"{tasks} tasks"


def split(scenario: str) -> tuple[str, int]:
    """`cifar100-20` to its family and number of tasks."""
    family, _, tasks = scenario.rpartition("-")
    return family, int(tasks)


def duration(seconds: float) -> str:
    """`3.25 h`, `16 min`, `12 s`."""
    if seconds >= 3600:
        hours = seconds / 3600
        return f"{hours:.3g} h" if hours < 1000 else f"{hours:,.0f} h"
    return f"{seconds / 60:.2g} min" if seconds >= 60 else f"{seconds:.2g} s"


def context() -> AbstractContextManager:
    return mpl.rc_context(RC)
