"""Figure 2: the training framework of EOWM, drawn as `eowm.methods.eowm` computes it by default.

The paper's own Figure 2 shows whole tasks; here is what happens to one batch, in its order, with
the paper's equation at each step. Coordinates are inches.
"""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from eowm.analysis import style

HEIGHT = 3.5
OWM, ADDED = (style.LOOKS[name][0] for name in ("owm", "eowm"))
INK, WHITE, BLUE, ORANGE = "#222222", "#FFFFFF", "#E8F2F9", "#FCEEE4"

BOXES = [  # x, y, width, height; the title and the lines below it; edge and fill
    ((0.84, 1.60, 0.68, 0.66), "1  batch\nimages x,\nlabels y", INK, WHITE),
    ((1.70, 1.60, 0.98, 0.66), "2  forward\nloss; each layer\nkeeps its input x", INK, WHITE),
    ((2.86, 1.60, 0.90, 0.66),
     "3  backward\n$G = \\delta^{T} x$\n(the paper's $\\Delta W$)", INK, WHITE),
    ((1.98, 0.50, 1.62, 0.66),
     "4  input space  (Eqs. 1, 9)\n$P \\leftarrow (P^{-1} + \\bar{x}\\bar{x}^{T}\\!/\\alpha)^{-1}$",
     OWM, BLUE),
    ((3.82, 0.50, 1.74, 0.66), "4  weight space  (Eqs. 4, 10)\n"
     "$Q_{ort} \\leftarrow (Q_{ort}^{-1} + \\bar{w}\\bar{w}^{T}\\!/\\beta)^{-1}$\n"
     "$Q = I - Q_{ort}$", ADDED, ORANGE),
    ((3.94, 1.60, 1.62, 0.66), "5  project  (Eqs. 7, 9)\n"
     "similar: $\\hat{G} = G\\,(c_1 I + c_2 Q)\\,P$\n"
     "else: $\\hat{G} = G\\,(c_1 I + c_2 Q_{ort})\\,P$", INK, WHITE),
    ((5.74, 1.60, 0.96, 0.66),
     "6  step  (Eq. 8)\nSGD\n$W \\leftarrow W - \\lambda\\,\\hat{G}$", INK, WHITE),
    ((5.90, 0.50, 0.64, 0.66), "weights\n$W$", INK, "#EEEEEE"),
    ((2.86, 2.72, 2.70, 0.62), "begin: similar or not, and how much\n"
     "by shared labels (Def. 5); published: by layer\n"
     "$c_1$, $c_2$ from sim$(T_{n-1},\\,T_n)$  (Alg. 1, lines 12–13)", ADDED, ORANGE),
    ((5.74, 2.72, 0.96, 0.62), "end: test\nall tasks: row $n$\nof the matrix", INK, WHITE),
    *(((0.10, 2.09 - 0.28 * place, 0.42, 0.24), name, INK, "#FAFAFA")
      for place, name in enumerate(("$T_1$", "$T_2$", r"$\vdots$", "$T_N$"))),
]  # fmt: skip
FRAMES = [  # the two loops, and what outlives them
    ((0.66, 0.06, 6.18, 3.38), "for each task $T_n$"),
    ((0.74, 0.12, 6.04, 2.46), "for each batch of each epoch"),
    ((1.86, 0.28, 4.80, 0.98), ""),
]
ARROWS = [  # corners, the last one with the head
    *(([(left, 1.93), (right, 1.93)], INK) for left, right in
      ((0.55, 0.84), (1.52, 1.70), (2.68, 2.86), (3.76, 3.94), (5.56, 5.74))),
    ([(4.75, 2.72), (4.75, 2.26)], ADDED),
    ([(6.22, 2.26), (6.22, 2.72)], INK),
    ([(2.24, 1.60), (2.24, 1.16)], OWM),
    ([(5.90, 0.83), (5.56, 0.83)], ADDED),
    ([(3.20, 1.16), (3.20, 1.38), (4.35, 1.38), (4.35, 1.60)], OWM),
    ([(4.83, 1.16), (4.83, 1.60)], ADDED),
    ([(6.22, 1.60), (6.22, 1.16)], INK),
    ([(6.22, 0.50), (6.22, 0.20), (1.76, 0.20), (1.76, 1.60)], INK),
]  # fmt: skip
LABELS = [
    (0.31, 2.48, "tasks", INK, "center"),
    (0.78, 3.05, "blue: OWM", OWM, "left"),
    (0.78, 2.90, "orange: what EOWM adds", ADDED, "left"),
    (2.29, 1.48, r"mean input $\bar{x}$", OWM, "left"),
    (5.73, 0.92, r"$\bar{w}$", ADDED, "center"),
    (4.26, 0.385, "kept from batch to batch and from task to task; each layer has its own",
     "#555555", "center"),
]  # fmt: skip


def figure2() -> Figure:
    with style.context():
        figure = Figure(figsize=(style.TEXT_WIDTH, HEIGHT))
        page = figure.add_axes((0, 0, 1, 1))
        page.set(xlim=(0, style.TEXT_WIDTH), ylim=(0, HEIGHT))
        page.set_axis_off()
        for (x, y, width, height), title in FRAMES:
            _rounded(page, (x, y, width, height), edgecolor="#8A8A8A", linestyle=(0, (4, 2)))
            page.text(x + 0.09, y + height - 0.06, title, va="top", color=INK, style="italic")
        for place, text, edge, fill in BOXES:
            _rounded(page, place, edgecolor=edge, facecolor=fill, fill=True)
            _write(page, place, text.split("\n"))
        for corners, colour in ARROWS:
            page.plot(*zip(*corners[:-1], strict=True), color=colour, linewidth=0.9)
            page.add_patch(
                FancyArrowPatch(
                    *corners[-2:], arrowstyle="-|>", mutation_scale=7, shrinkA=0, shrinkB=0.5,
                    color=colour, linewidth=0.9,
                )
            )  # fmt: skip
        for x, y, text, colour, side in LABELS:
            page.text(x, y, text, ha=side, va="center", fontsize=style.NOTE_SIZE, color=colour)
    return figure


def _rounded(page: Axes, place: tuple[float, float, float, float], fill=False, **look) -> None:
    x, y, width, height = place
    shape = "round,pad=0,rounding_size=0.05"
    page.add_patch(FancyBboxPatch((x, y), width, height, shape, fill=fill, linewidth=0.9, **look))


def _write(page: Axes, place: tuple[float, float, float, float], lines: list[str]) -> None:
    x, y, width, height = place
    for number, text in enumerate(lines):
        down = 0.165 * ((len(lines) - 1) / 2 - number)
        weight = "bold" if len(lines) > 1 and not number else "normal"
        page.text(x + width / 2, y + height / 2 + down, text, ha="center", va="center",
                  color=INK, weight=weight)  # fmt: skip
