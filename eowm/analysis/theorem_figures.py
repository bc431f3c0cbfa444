"""Figure 1 and the cost of Theorem 4, drawn from what `eowm.theory` measures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MultipleLocator, NullFormatter

from eowm.analysis import style
from eowm.theory import theorems

if TYPE_CHECKING:  # drawing does not need torch
    from eowm.theory.cost import Cost
    from eowm.theory.figure1 import Landscape, Line

SGD_COLOUR = "#444444"  # darker than the reference row's grey: it stands alone here
# The pink, blue and green areas of the paper's sketch, in Okabe and Ito's colours.
AREAS = {"A": "#CC79A7", "B": "#56B4E9", "AB": "#009E73"}


def figure1(panels: Sequence["Landscape"], columns: int = 1) -> Figure:
    """Walks of SGD, OWM and EOWM over the losses, in the plane of the three optima.

    Panels stand above each other in a column of a paper, or beside each other (`columns=2`).
    """
    rows = -(-len(panels) // columns)
    width = style.COLUMN_WIDTH if columns == 1 else style.TEXT_WIDTH
    with style.context():
        figure = Figure(figsize=(width, 0.75 * rows * width / columns + 0.9), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for letter, panel, landscape in zip("abcdef", axes.flat, panels, strict=False):
            labels = "shared" if landscape.similar else "disjoint"
            title = f"({letter}) {theorems.CASES[landscape.similar]} tasks: {labels} labels"
            panel.set_title(title, loc="left")
            _landscape(panel, landscape)
        figure.legend(
            handles=_legend(panels[0]), loc="outside lower center", ncols=2 * columns,
            handlelength=2.6, columnspacing=1.5,
        )  # fmt: skip
    return figure


def _landscape(panel: Axes, landscape: "Landscape") -> None:
    x, y, losses, levels = landscape.x, landscape.y, landscape.losses, landscape.levels
    for top, alpha in ((levels["AB"][1], 0.14), (levels["AB"][0], 0.22)):
        low = min(losses["AB"].min(), top) - 1
        panel.contourf(x, y, losses["AB"], levels=[low, top], colors=AREAS["AB"], alpha=alpha)
    for task, dashes in (("A", "--"), ("B", "-")):
        panel.contour(
            x, y, losses[task], levels=levels[task], colors=AREAS[task], linestyles=dashes,
            linewidths=0.7,
        )  # fmt: skip
    for line in landscape.lines:
        panel.plot(*line.points.T, **_walk(line.method, line.c2))
        panel.plot(*line.points[-1], **_end(line.method, line.c2))
    for name, spot in landscape.optima.items():
        panel.plot(*spot, marker="*", color="black", markersize=7, markeredgecolor="white",
                   markeredgewidth=0.5, zorder=6)  # fmt: skip
        _label(panel, f"$W^*_{{{name}}}$", (spot[0], spot[1]))
    _note_outside(panel, landscape.lines)
    panel.set_aspect("equal")
    panel.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    panel.set(xlabel="along $W^*_B - W^*_A$", ylabel="across, towards $W^*_{AB}$")
    panel.grid(False)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MultipleLocator(0.5))


def _note_outside(panel: Axes, lines: Sequence["Line"]) -> None:
    """What the plane does not show, relative to the distance from W*_A."""
    end = max(100 * line.outside[-1] for line in lines)
    most = max(100 * line.outside.max() for line in lines)
    panel.text(
        0.985, 0.02, f"out of this plane: ≤ {end:.0f} % at the ends, ≤ {most:.0f} % before",
        fontsize=6, transform=panel.transAxes, ha="right", va="bottom", color="#444444",
        path_effects=_halo(),
    )  # fmt: skip


def _walk(method: str, c2: float | None) -> dict[str, Any]:
    """OWM wide and pale below EOWM's thin line: where they coincide, both are seen."""
    colour = style.LOOKS[method][0]
    if method == "owm":
        return {"color": colour, "linewidth": 3.2, "alpha": 0.45, "solid_capstyle": "butt"}
    if method == "finetune":
        return {"color": SGD_COLOUR, "linewidth": 1.0}
    return {"color": colour, "linewidth": 1.1, "linestyle": "-" if _small(c2) else (0, (1.5, 1))}


def _end(method: str, c2: float | None) -> dict[str, Any]:
    """OWM's square is empty and larger, so that EOWM's circle can be seen inside it."""
    colour, marker = style.LOOKS[method]
    look: dict[str, Any] = {"marker": marker, "markeredgewidth": 1.0, "zorder": 5}
    if method == "owm":
        return look | {"markersize": 7, "markerfacecolor": "none", "markeredgecolor": colour}
    if method == "finetune":
        return look | {"marker": "D", "markersize": 4, "color": SGD_COLOUR}
    face = colour if _small(c2) else "white"
    return look | {"markersize": 4, "markerfacecolor": face, "markeredgecolor": colour}


def _small(c2: float | None) -> bool:
    """The paper's coefficients, in contrast to the large one that shows the Q term at work."""
    return c2 is not None and c2 < 0.5


def _label(panel: Axes, text: str, spot: tuple[float, float]) -> None:
    panel.annotate(
        text, spot, xytext=(0, -4), textcoords="offset points", ha="center", va="top",
        fontsize=8, zorder=7, path_effects=_halo(),
    )  # fmt: skip


def _halo() -> list[patheffects.AbstractPathEffect]:
    return [patheffects.withStroke(linewidth=1.8, foreground="white")]


def _legend(landscape: "Landscape") -> list[Line2D | Patch]:
    handles: list[Line2D | Patch] = []
    for line in landscape.lines:
        look = _end(line.method, line.c2) | _walk(line.method, line.c2)
        handles.append(Line2D([], [], **look, label=theorems.title(line.method, line.c2, "$c_2$")))
    handles.append(
        Line2D([], [], color=AREAS["A"], linestyle="--", linewidth=0.9, label="loss of A")
    )
    handles.append(Line2D([], [], color=AREAS["B"], linewidth=0.9, label="loss of B"))
    handles.append(Patch(color=AREAS["AB"], alpha=0.3, linewidth=0, label="low loss of A and B"))
    return handles


def cost_figure(cost: "Cost") -> Figure:
    """Theorem 4: seconds a step against the width, with the slope of each form."""
    with style.context():
        figure = Figure(figsize=(style.COLUMN_WIDTH, 2.4), layout="constrained")
        panel = figure.subplots()
        for name, seconds, slope, colour, marker in (
            ("published: P·Q, gradient·M", cost.published, cost.slopes[0], "#444444", "s"),
            ("ours: inputs, lazy updates", cost.ours, cost.slopes[1], "#009E73", "o"),
        ):
            milliseconds = [1e3 * second for second in seconds]
            label = f"{name} (slope {slope:.2f})"
            panel.loglog(cost.widths, milliseconds, color=colour, marker=marker, label=label)
        panel.set_xticks(cost.widths, [str(width) for width in cost.widths])
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.tick_params(axis="x", which="minor", length=0)
        panel.set_xlabel(f"width of the layer (slopes from {cost.widths[-3]} on)")
        panel.set_ylabel("time of a step [ms]")
        figure.legend(loc="outside upper center")
    return figure
