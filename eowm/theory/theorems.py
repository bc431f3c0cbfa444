"""What `eowm.theory.measure` measured, as sentences with a verdict, tables and figures."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MultipleLocator, NullFormatter

from eowm.analysis import style
from eowm.analysis.figures import COLUMN_WIDTH, TEXT_WIDTH

if TYPE_CHECKING:  # drawing does not need torch
    from eowm.theory import measure

EXACT = 1e-9  # an error below this is rounding
SAME = 0.01  # of ‖W*_B − W*_A‖: no reader of Figure 1 would see it

CASES = {True: "similar", False: "dissimilar"}
NAMES = {"finetune": "SGD", "owm": "OWM", "eowm": "EOWM"}
SGD_COLOUR = "#444444"  # darker than the reference row's grey: it stands alone here
# The pink, blue and green areas of the paper's sketch, in Okabe and Ito's colours.
AREAS = {"A": "#CC79A7", "B": "#56B4E9", "AB": "#009E73"}


HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"


# --- verdicts ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """One row of `theorems.csv`: every number in it comes from a measurement."""

    id: str
    claim: str
    measured: str
    verdict: str
    status: str  # of the claim as printed: holds, fails or undecided

    def _repr_markdown_(self) -> str:
        """As a notebook shows it."""
        return f"**Verdict: {self.verdict}.** {self.measured}"


def write(findings: Sequence[Finding], path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, Finding.__dataclass_fields__, lineterminator="\n")
        rows.writeheader()
        rows.writerows(asdict(finding) for finding in findings)
    return path


def summary(findings: Sequence[Finding]) -> str:
    """Claims and verdicts as a Markdown list."""
    return "\n".join(f"- {finding.claim} → **{finding.verdict}.**" for finding in findings)


def theorem3(result: "measure.Recursion") -> Finding:
    worst = max(result.p, result.q_ort, result.p_eowm, result.projector)
    return Finding(
        "theorem3",
        "The recursions of Eqs. 9 and 10 give P, Q_ort and, with Q = I − the new Q_ort, P_EOWM.",
        f"Over {result.steps} random vectors in {result.size} dimensions, with random "
        f"regularisers, the largest error against the closed forms is {result.p:.0e} for P, "
        f"{result.q_ort:.0e} for Q_ort, {result.p_eowm:.0e} for P_EOWM, and "
        f"{result.projector:.0e} for P in the lazy form that this project runs.",
        "confirmed" if worst < EXACT else "refuted",
        _status(worst < EXACT),
    )


def equation10(result: "measure.QRecursion") -> Finding:
    """Right is what equals Eq. 4; the definition decides, not the print."""
    late = result.late < EXACT and result.first < EXACT
    lag = (
        "It is one task late: it equals Eq. 4 with the last task left out, so Q = 0 while the "
        "second task is learnt, and P_s is then OWM with the learning rate times c1."
        if late
        else f"Nor is it one task late (error {result.late:.0e})."
    )
    verdicts = {
        (True, True): "both forms hold",
        (True, False): "refuted as printed; right with the new Q_ort",
        (False, True): "confirmed as printed",
        (False, False): "neither form holds",
    }
    return Finding(
        "equation10",
        "Q of the next step is I minus the old Q_ort (Eq. 10, Appendix A).",
        f"I − old Q_ort is off from Eq. 4 by up to {result.old:.2f}, I − new Q_ort by "
        f"{result.new:.0e}." + (f" {lag}" if result.old >= EXACT else ""),
        verdicts[result.new < EXACT, result.old < EXACT],
        _status(result.old < EXACT),
    )


def theorem4(cost: "measure.Cost") -> Finding:
    (published, ours), (count, our_count) = cost.slopes, cost.counted_slopes
    factor = cost.more_outputs / cost.outputs
    low, high = cost.widths[-3], cost.widths[-1]
    # A time is a noisy exponent: within a fifth counts as the claim.
    bound = published < 1.2 * 3 and cost.outputs_ratio < 1.2 * factor
    tight = published > 0.8 * 3 and cost.outputs_ratio > 0.8 * factor
    return Finding(
        "theorem4",
        "The time of EOWM is O(N_c³ N_n) for a layer of N_c inputs and N_n neurons.",
        f"From width {low} to {high} the published form grows with the power {published:.2f} of "
        f"the width ({count:.2f} by operations, d³ + m d²), and {factor:.0f} times the neurons "
        f"cost {cost.outputs_ratio:.2f} times the time ({cost.counted_ratio:.2f} by operations; "
        f"by the theorem, {factor:.0f}). The equal form of this project, 2 B d², grows with the "
        f"power {ours:.2f} ({our_count:.2f} by operations) and is "
        f"{cost.published[-1] / cost.ours[-1]:.1f} times faster at width {high}; the two "
        f"gradients differ by {cost.difference:.0e}.",
        ("confirmed" if tight else "an upper bound, but not tight") if bound else "refuted",
        _status(count <= 3 and cost.counted_ratio <= factor),  # a bound is about operations
    )


def theorem5(ranks: Sequence["measure.Rank"]) -> Finding:
    positive = [row for row in ranks if row.c1 > 0]
    equal = sum(row.eowm == row.owm for row in positive)
    above = sum(row.eowm > row.owm for row in positive)
    bounds = sorted({row.bound for row in positive})
    holds = "holds" if all(row.eowm <= row.bound for row in ranks) else "fails"
    below = [row for row in ranks if row.c1 == 0 and row.eowm < row.owm]
    extra = "".join(
        f" With c1 = 0 the rank falls to {row.eowm} in the {CASES[row.similar]} case."
        for row in below
    )
    return Finding(
        "theorem5",
        "The rank of P_EOWM (for the number of learnable tasks) is at most rank(P_OWM) + "
        "rank(P_OWM Q).",
        f"rank(P_EOWM) = rank(P_OWM) = {positive[0].owm} in {equal} of {len(positive)} "
        f"combinations of c1 > 0, c2 and case; the paper's bound says up to "
        f"{' or '.join(map(str, bounds))}.{extra}",
        f"the bound {holds}, but EOWM gains no rank"
        if not above
        else f"the bound {holds}, and EOWM gains rank in {above} of {len(positive)} combinations",
        _status(holds == "holds"),
    )


def capacity(ranks: Sequence["measure.Rank"]) -> Finding:
    """What Theorem 5 is there for: more rank than OWM, so more learnable tasks."""
    positive = [row for row in ranks if row.c1 > 0]
    gains = [row.eowm - row.owm for row in positive]
    low, high = min(gains), max(gains)
    span = f"{low} in all" if low == high else f"{low} to {high} in"
    return Finding(
        "capacity",
        "The enhanced projector leaves more room for tasks than OWM's (Theorem 5).",
        f"rank(P_EOWM) − rank(P_OWM) is {span} {len(positive)} "
        "combinations of c1 > 0, c2 and case.",
        "confirmed"
        if min(gains) > 0
        else "refuted: the rank is never larger"
        if max(gains) <= 0
        else "true for some combinations only",
        HOLDS if min(gains) > 0 else FAILS if max(gains) <= 0 else UNDECIDED,
    )


def order(leaks: Sequence["measure.Leak"]) -> Finding:
    """A leak below 1e-6 is what a small α leaves; above, the order is to blame."""
    kept = max(row.p_last for row in leaks)
    per_c2 = [row.q_last / row.c2 for row in leaks if row.c2 > 0]
    low, high = (f"{share:.2f}" for share in (min(per_c2), max(per_c2)))
    if kept >= 1e-6:
        verdict = "false"
    elif max(per_c2) < 1e-6:
        verdict = "true in both orders"
    else:
        verdict = "true if P acts last, false for Eq. 8 taken literally"
    return Finding(
        "order",
        "Old input-output mappings stay fixed under ΔW P_EOWM (Section 2.1, Eq. 8).",
        f"With P last, at most {kept:.0e} of the disturbance at stored inputs gets through, for "
        f"every c2. With Q last it is {low if low == high else f'{low} to {high}'} times c2.",
        verdict,
        _status(verdict == "true in both orders"),
    )


def initial_beta(rows: Sequence["measure.Start"]) -> Finding:
    """β = c2 is the border, where rounding decides the sign: EXACT counts as zero."""
    ascent = [row for row in rows if row.smallest < -EXACT]
    still = [row for row in rows if abs(row.smallest) <= EXACT]
    where, stop = (
        "; ".join(f"β = {r.beta:g} with c2 = {r.c2:g}" for r in rs) for rs in (ascent, still)
    )
    rule = all((row.beta < row.c2) == (row in ascent) for row in rows)
    return Finding(
        "initial-beta",
        "Q_ort starts at I/β (Algorithm 1, line 1).",
        f"c1 I + c2 Q has a negative eigenvalue, gradient ascent, in {len(ascent)} of "
        f"{len(rows)} settings ({where or 'none'})"
        + (f", and a zero, where learning stops, in {len(still)} ({stop})" if still else "")
        + (". The eigenvalue is negative exactly where β < c2." if rule and ascent else "."),
        "refuted for small β: only the start I agrees with Eq. 4"
        if ascent
        else "harmless in all settings tried",
        _status(not ascent),
    )


def mean_weight(cases: Sequence["measure.Case"]) -> Finding:
    worst = max(case.mean_weight for case in cases)
    return Finding(
        "mean-weight",
        "The mean weight vector carries the knowledge of the learnt task (Theorem 3, Appendix A).",
        "While task A is learnt from zero, the mean weight vector of the softmax layer moves by "
        f"at most {worst:.0e} of the length of its weight vectors: it stays as it was drawn.",
        "refuted for softmax output layers" if worst < EXACT else "not refuted here",
        FAILS if worst < EXACT else UNDECIDED,
    )


def caption(ends: Sequence["measure.End"], similar: bool) -> Finding:
    """The caption of Figure 1 has two halves: where OWM goes, and that EOWM goes elsewhere."""
    frame = _frame(ends)
    here = frame[frame.case == CASES[similar]]
    owm = here[here.method == "owm"].reset_index(drop=True)
    sentences = [
        f"OWM ends {owm.to_ab.mean():.2f} from the joint optimum and {owm.to_b.mean():.2f} from "
        f"B's (mean of {len(owm)} seeds; 1 is the distance between A's and B's optima, and less "
        f"than {SAME:g} counts as nothing)."
    ]
    gains = {}  # row by row: the same seeds in the same order
    for c2, eowm in here[here.method == "eowm"].groupby("c2"):
        gains[c2] = float((owm.to_ab - eowm.reset_index(drop=True).to_ab).mean())
        sentences.append(
            f"EOWM with c2 = {c2:g} ends {eowm.to_ab.mean():.2f} from the joint optimum, "
            f"{abs(gains[c2]):.3f} {'nearer' if gains[c2] > 0 else 'farther'} than OWM and "
            f"{eowm.from_owm.mean():.3f} off OWM's path."
        )
    sentences.append(
        f"P lets at most {100 * here.overlap.mean():.0f} % of a direction in the weight space "
        "through (spectral norm of Q P, mean of the seeds)."
    )
    to_b = int((owm.to_b < owm.to_ab).sum())
    nearer = [f"{c2:g}" for c2, gain in gains.items() if gain > SAME]
    goals = {
        0: "to the joint optimum than to B's",
        len(owm): "to B's optimum than to the joint one",
    }
    goal = goals.get(to_b, f"to B's optimum than to the joint one in {to_b} of {len(owm)} seeds")
    better = f"nearer to the joint one for c2 = {', '.join(nearer)}"
    confirmed = to_b == len(owm) and len(nearer) == len(gains)
    return Finding(
        f"figure1-{CASES[similar]}",
        f"On {CASES[similar]} tasks P_OWM goes towards the optimum of B, P_EOWM towards the "
        "joint optimum.",
        " ".join(sentences),
        f"{'confirmed' if confirmed else 'not reproduced'}: OWM ends nearer {goal}, and "
        f"EOWM gets {better if nearer else 'no nearer to the joint one'} than OWM",
        _status(confirmed),
    )


def _status(holds: bool) -> str:
    return HOLDS if holds else FAILS


# --- tables --------------------------------------------------------------------------------


def cost_table(cost: "measure.Cost") -> pd.DataFrame:
    rows = zip(cost.widths, cost.published, cost.ours, strict=True)
    return pd.DataFrame(
        {
            "width": width,
            "published [ms]": f"{1e3 * published:.2f}",
            "ours [ms]": f"{1e3 * ours:.2f}",
            "ratio": f"{published / ours:.1f}",
        }
        for width, published, ours in rows
    ).set_index("width")


def rank_table(ranks: Sequence["measure.Rank"]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "case": CASES[row.similar],
            "c1": f"{row.c1:.2f}",
            "c2": f"{row.c2:.2f}",
            "rank P_OWM": row.owm,
            "rank P_EOWM": row.eowm,
            "the paper's bound": row.bound,
        }
        for row in ranks
    ).set_index("case")


def leak_table(leaks: Sequence["measure.Leak"]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "case": CASES[row.similar],
            "c2": f"{row.c2:.2f}",
            "P last": f"{row.p_last:.0e}",
            "Q last": f"{row.q_last:.3f}" if row.q_last > 1e-3 else f"{row.q_last:.0e}",
        }
        for row in leaks
    ).set_index("case")


def beta_table(rows: Sequence["measure.Start"]) -> pd.DataFrame:
    """Adding zero turns a rounded −0.00 into 0.00."""
    return pd.DataFrame(
        {
            "β": f"{row.beta:g}",
            "c2": f"{row.c2:.2f}",
            "Q at the start": f"{row.q:g} I",
            "smallest eigenvalue of c1 I + c2 Q": f"{round(row.smallest, 2) + 0:.2f}",
            "gradients that go uphill": f"{100 * row.uphill:.0f} %",
        }
        for row in rows
    ).set_index("β")


def end_table(ends: Sequence["measure.End"]) -> pd.DataFrame:
    """Mean over seeds, with the range in parentheses."""
    columns = {
        "to_b": "to W*_B",
        "to_ab": "to W*_AB",
        "from_owm": "off OWM's path",
        "loss_a": "loss of A",
        "loss_b": "loss of B",
        "outside_end": "out of plane",
    }
    frame = _frame(ends)
    frame["method"] = [
        _title(method, c2) for method, c2 in zip(frame.method, frame.c2, strict=True)
    ]
    groups = frame.groupby(["case", "method"], sort=False)[list(columns)]
    return groups.agg(lambda x: f"{x.mean():.2f} ({x.min():.2f}–{x.max():.2f})").rename(
        columns=columns
    )


def _frame(ends: Sequence["measure.End"]) -> pd.DataFrame:
    frame = pd.DataFrame([asdict(end) for end in ends])
    frame["case"] = frame.similar.map(CASES)
    return frame


def _title(method: str, c2: float | None, symbol: str = "c2") -> str:
    return NAMES[method] if c2 is None or pd.isna(c2) else f"{NAMES[method]}, {symbol} = {c2:g}"


# --- figures -------------------------------------------------------------------------------


def figure1(panels: Sequence["measure.Landscape"], columns: int = 1) -> Figure:
    """Walks of SGD, OWM and EOWM over the losses, in the plane of the three optima.

    Panels stand above each other in a column of a paper, or beside each other (`columns=2`).
    """
    rows = -(-len(panels) // columns)
    width = COLUMN_WIDTH if columns == 1 else TEXT_WIDTH
    with style.context():
        figure = Figure(figsize=(width, 0.75 * rows * width / columns + 0.9), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for letter, panel, landscape in zip("abcdef", axes.flat, panels, strict=False):
            labels = "shared" if landscape.similar else "disjoint"
            title = f"({letter}) {CASES[landscape.similar]} tasks: {labels} labels"
            panel.set_title(title, loc="left")
            _landscape(panel, landscape)
        figure.legend(
            handles=_legend(panels[0]), loc="outside lower center", ncols=2 * columns,
            handlelength=2.6, columnspacing=1.5,
        )  # fmt: skip
    return figure


def _landscape(panel: Axes, landscape: "measure.Landscape") -> None:
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


def _note_outside(panel: Axes, lines: Sequence["measure.Line"]) -> None:
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


def _legend(landscape: "measure.Landscape") -> list[Line2D | Patch]:
    handles: list[Line2D | Patch] = []
    for line in landscape.lines:
        look = _end(line.method, line.c2) | _walk(line.method, line.c2)
        handles.append(Line2D([], [], **look, label=_title(line.method, line.c2, "$c_2$")))
    handles.append(
        Line2D([], [], color=AREAS["A"], linestyle="--", linewidth=0.9, label="loss of A")
    )
    handles.append(Line2D([], [], color=AREAS["B"], linewidth=0.9, label="loss of B"))
    handles.append(Patch(color=AREAS["AB"], alpha=0.3, linewidth=0, label="low loss of A and B"))
    return handles


def cost_figure(cost: "measure.Cost") -> Figure:
    """Theorem 4: seconds a step against the width, with the slope of each form."""
    with style.context():
        figure = Figure(figsize=(COLUMN_WIDTH, 2.4), layout="constrained")
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
