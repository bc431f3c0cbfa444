"""Figure 2: the training framework of EOWM, drawn as `eowm.methods.eowm` computes it by default.

The paper's own Figure 2 shows whole tasks; here is what happens to one batch, in its order, with
the paper's equation at each step. Coordinates are inches.
"""

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from eowm.analysis import style

HEIGHT = 3.5
OWM, ADDED = (style.LOOKS[name][0] for name in ("owm", "eowm"))
INK, SOFT = "#222222", "#8A8A8A"


@dataclass(frozen=True)
class Box:
    """A step or a state: its title, the lines below it, and the equation it is."""

    x: float
    y: float
    width: float
    height: float
    title: str
    lines: tuple[str, ...] = ()
    colour: str = INK
    tint: str = "#FFFFFF"

    @property
    def left(self) -> tuple[float, float]:
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> tuple[float, float]:
        return self.x + self.width, self.y + self.height / 2

    def top(self, share: float = 0.5) -> tuple[float, float]:
        return self.x + share * self.width, self.y + self.height

    def bottom(self, share: float = 0.5) -> tuple[float, float]:
        return self.x + share * self.width, self.y


# --- what is in the picture ---------------------------------------------------------------------

STEP_Y, STEP_HEIGHT = 1.60, 0.66
STATE_Y, STATE_HEIGHT = 0.50, 0.66
BATCH = Box(0.84, STEP_Y, 0.68, STEP_HEIGHT, "1  batch", ("images x,", "labels y"))
FORWARD = Box(1.70, STEP_Y, 0.98, STEP_HEIGHT, "2  forward",
              ("loss; each layer", "keeps its input x"))  # fmt: skip
BACKWARD = Box(2.86, STEP_Y, 0.90, STEP_HEIGHT, "3  backward",
               (r"$G = \delta^{T} x$", r"(the paper's $\Delta W$)"))  # fmt: skip
PROJECT = Box(3.94, STEP_Y, 1.62, STEP_HEIGHT, "5  project  (Eqs. 7, 9)",
              (r"similar: $\hat{G} = G\,(c_1 I + c_2 Q)\,P$",
               r"else: $\hat{G} = G\,(c_1 I + c_2 Q_{ort})\,P$"))  # fmt: skip
STEP = Box(5.74, STEP_Y, 0.96, STEP_HEIGHT, "6  step  (Eq. 8)",
           ("SGD", r"$W \leftarrow W - \lambda\,\hat{G}$"))  # fmt: skip
INPUTS = Box(1.98, STATE_Y, 1.62, STATE_HEIGHT, "4  input space  (Eqs. 1, 9)",
             (r"$P \leftarrow (P^{-1} + \bar{x}\bar{x}^{T}\!/\alpha)^{-1}$",),
             OWM, "#E8F2F9")  # fmt: skip
SPACE = Box(3.82, STATE_Y, 1.74, STATE_HEIGHT, "4  weight space  (Eqs. 4, 10)",
            (r"$Q_{ort} \leftarrow (Q_{ort}^{-1} + \bar{w}\bar{w}^{T}\!/\beta)^{-1}$",
             r"$Q = I - Q_{ort}$"),
            ADDED, "#FCEEE4")  # fmt: skip
WEIGHTS = Box(5.90, STATE_Y, 0.64, STATE_HEIGHT, "weights", ("$W$",), INK, "#EEEEEE")
BEGIN = Box(2.86, 2.72, 2.70, 0.62, "begin: similar or not, and how much",
            ("by shared labels (Def. 5); published: by layer",
             r"$c_1$, $c_2$ from sim$(T_{n-1},\,T_n)$  (Alg. 1, lines 12–13)"),
            ADDED, "#FCEEE4")  # fmt: skip
END = Box(5.74, 2.72, 0.96, 0.62, "end: test",
          ("all tasks: row $n$", "of the matrix"))  # fmt: skip


def figure2() -> Figure:
    with style.context():
        figure = Figure(figsize=(style.TEXT_WIDTH, HEIGHT))
        page = figure.add_axes((0, 0, 1, 1))
        page.set(xlim=(0, style.TEXT_WIDTH), ylim=(0, HEIGHT))
        page.set_axis_off()
        _frames(page)
        for box in (BATCH, FORWARD, BACKWARD, PROJECT, STEP, INPUTS, SPACE, WEIGHTS, BEGIN, END):
            _box(page, box)
        _steps(page)
        _states(page)
    return figure


def _frames(page: Axes) -> None:
    """The stream of tasks, the two loops, and what outlives them."""
    for place, name in enumerate(("$T_1$", "$T_2$", r"$\vdots$", "$T_N$")):
        _box(page, Box(0.10, 2.09 - 0.28 * place, 0.42, 0.24, name, tint="#FAFAFA"))
    page.text(0.31, 2.42, "tasks", ha="center", va="bottom", color=INK)
    _arrow(page, (0.55, BATCH.left[1]), BATCH.left)
    _frame(page, (0.66, 0.06, 6.18, 3.38), "for each task $T_n$")
    _frame(page, (0.74, 0.12, 6.04, 2.46), "for each batch of each epoch")
    _frame(page, (1.86, 0.28, 4.80, 0.98), "")
    _label(page, "kept from batch to batch and from task to task; each layer has its own",
           (4.26, 0.385), "#555555", "center")  # fmt: skip
    _label(page, "blue: OWM", (0.78, 3.05), OWM)
    _label(page, "orange: what EOWM adds", (0.78, 2.90), ADDED)


def _steps(page: Axes) -> None:
    for one, other in ((BATCH, FORWARD), (FORWARD, BACKWARD), (BACKWARD, PROJECT), (PROJECT, STEP)):
        _arrow(page, one.right, other.left)
    case = PROJECT.top()
    _arrow(page, (case[0], BEGIN.y), case, ADDED)
    _arrow(page, STEP.top(), END.bottom())


def _states(page: Axes) -> None:
    """What the projectors learn from, and where they act."""
    kept = FORWARD.bottom(0.55)
    _arrow(page, kept, (kept[0], INPUTS.top()[1]), OWM)
    _label(page, r"mean input $\bar{x}$", (kept[0] + 0.05, 1.48), OWM)
    _arrow(page, WEIGHTS.left, SPACE.right, ADDED)
    _label(page, r"$\bar{w}$", (5.73, 0.92), ADDED, "center")
    leaves, enters = INPUTS.top(0.75), PROJECT.bottom(0.25)
    _line(page, (leaves, (leaves[0], 1.38), (enters[0], 1.38)), OWM)
    _arrow(page, (enters[0], 1.38), enters, OWM)
    acts = PROJECT.bottom(0.55)
    _arrow(page, (acts[0], SPACE.top()[1]), acts, ADDED)
    changed = STEP.bottom()
    _arrow(page, changed, (changed[0], WEIGHTS.top()[1]))
    used = FORWARD.bottom(0.06)
    _line(page, (WEIGHTS.bottom(), (WEIGHTS.bottom()[0], 0.20), (used[0], 0.20)), INK)
    _arrow(page, (used[0], 0.20), used)


# --- shapes -------------------------------------------------------------------------------------


def _box(page: Axes, box: Box) -> None:
    page.add_patch(
        FancyBboxPatch(
            (box.x, box.y), box.width, box.height, boxstyle="round,pad=0,rounding_size=0.05",
            facecolor=box.tint, edgecolor=box.colour, linewidth=0.9, zorder=2,
        )
    )  # fmt: skip
    texts = (box.title, *box.lines)
    middle = box.y + box.height / 2
    for place, text in enumerate(texts):
        page.text(
            box.x + box.width / 2, middle + 0.165 * ((len(texts) - 1) / 2 - place), text,
            ha="center", va="center", color=INK, zorder=3,
            weight="bold" if box.lines and not place else "normal",
        )  # fmt: skip


def _frame(page: Axes, place: tuple[float, float, float, float], title: str) -> None:
    x, y, width, height = place
    page.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.08", facecolor="none",
            edgecolor=SOFT, linewidth=0.7, linestyle=(0, (4, 2)), zorder=1,
        )
    )  # fmt: skip
    page.text(x + 0.09, y + height - 0.06, title, ha="left", va="top", color=INK, style="italic")


def _arrow(
    page: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = INK
) -> None:
    page.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=7, shrinkA=0, shrinkB=0.5, color=colour,
            linewidth=0.9, zorder=2,
        )
    )  # fmt: skip


def _line(page: Axes, points: tuple[tuple[float, float], ...], colour: str) -> None:
    x, y = zip(*points, strict=True)
    page.plot(x, y, color=colour, linewidth=0.9, solid_capstyle="butt", zorder=2)


def _label(
    page: Axes, text: str, place: tuple[float, float], colour: str, ha: Any = "left"
) -> None:
    page.text(*place, text, ha=ha, va="center", fontsize=style.NOTE_SIZE, color=colour, zorder=3)
