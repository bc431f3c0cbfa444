"""What this folder measures, as sentences with a verdict."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:  # judging does not need torch
    from eowm.theory import figure1, projectors
    from eowm.theory.cost import Cost

EXACT = 1e-9  # an error below this is rounding
SAME = 0.01  # of ‖W*_B − W*_A‖: no reader of Figure 1 would see it

CASES = {True: "similar", False: "dissimilar"}
NAMES = {"finetune": "SGD", "owm": "OWM", "eowm": "EOWM"}
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
    pd.DataFrame(findings).to_csv(path, index=False, lineterminator="\n")
    return path


def summary(findings: Sequence[Finding]) -> str:
    """Claims and verdicts as a Markdown list."""
    return "\n".join(f"- {finding.claim} → **{finding.verdict}.**" for finding in findings)


def theorem3(result: "projectors.Recursion") -> Finding:
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


def equation10(result: "projectors.QRecursion") -> Finding:
    """Right is what equals Eq. 4; the definition decides, not the print."""
    measured = (
        f"I − old Q_ort is off from Eq. 4 by up to {result.old:.2f}, I − new Q_ort by "
        f"{result.new:.0e}."
    )
    if result.old >= EXACT and max(result.late, result.first) < EXACT:
        measured += (
            " It is one task late: it equals Eq. 4 with the last task left out, so Q = 0 while the "
            "second task is learnt, and P_s is then OWM with the learning rate times c1."
        )
    right = "right with the new Q_ort" if result.new < EXACT else "nor right with the new Q_ort"
    return Finding(
        "equation10",
        "Q of the next step is I minus the old Q_ort (Eq. 10, Appendix A).",
        measured,
        "confirmed as printed" if result.old < EXACT else f"refuted as printed; {right}",
        _status(result.old < EXACT),
    )


def theorem4(cost: "Cost") -> Finding:
    """By operations: a bound is about them, and a time differs from machine to machine."""
    (published, ours), ratio = cost.counted_slopes, cost.counted_ratio
    factor, high = cost.more_outputs / cost.outputs, cost.widths[-1]
    bound = published <= 3 and ratio <= factor
    tight = published > 0.8 * 3 and ratio > 0.8 * factor
    return Finding(
        "theorem4",
        "The time of EOWM is O(N_c³ N_n) for a layer of N_c inputs and N_n neurons.",
        f"From width {cost.widths[-3]} to {high} the operations of the published form, d³ + m d², "
        f"grow with the power {published:.2f} of the width, and {factor:.0f} times the neurons "
        f"take {ratio:.2f} times as many (by the theorem, {factor:.0f}). Those of the equal form "
        f"of this project, 2 B d², grow with the power {ours:.2f} and are "
        f"{cost.counted_gain:.1f} times fewer at width {high}; the two gradients differ by "
        f"{cost.difference:.0e}.",
        ("confirmed" if tight else "an upper bound, but not tight") if bound else "refuted",
        _status(bound),
    )


def theorem5(ranks: Sequence["projectors.Rank"]) -> Finding:
    positive = [row for row in ranks if row.c1 > 0]
    equal = sum(row.eowm == row.owm for row in positive)
    above = sum(row.eowm > row.owm for row in positive)
    bounds = " or ".join(map(str, sorted({row.bound for row in positive})))
    holds = all(row.eowm <= row.bound for row in ranks)
    falls = "".join(
        f" With c1 = 0 the rank falls to {row.eowm} in the {CASES[row.similar]} case."
        for row in ranks
        if row.c1 == 0 and row.eowm < row.owm
    )
    gain = f"and EOWM gains rank in {above} of {len(positive)} combinations"
    return Finding(
        "theorem5",
        "The rank of P_EOWM (for the number of learnable tasks) is at most rank(P_OWM) + "
        "rank(P_OWM Q).",
        f"rank(P_EOWM) = rank(P_OWM) = {positive[0].owm} in {equal} of {len(positive)} "
        f"combinations of c1 > 0, c2 and case; the paper's bound says up to {bounds}.{falls}",
        f"the bound {_status(holds)}, {gain if above else 'but EOWM gains no rank'}",
        _status(holds),
    )


def capacity(ranks: Sequence["projectors.Rank"]) -> Finding:
    """What Theorem 5 is there for: more rank than OWM, so more learnable tasks."""
    gains = [row.eowm - row.owm for row in ranks if row.c1 > 0]
    low, high = min(gains), max(gains)
    verdict, status = "true for some combinations only", UNDECIDED
    if low > 0:
        verdict, status = "confirmed", HOLDS
    elif high <= 0:
        verdict, status = "refuted: the rank is never larger", FAILS
    span = f"{low} in all" if low == high else f"{low} to {high} in"
    return Finding(
        "capacity",
        "The enhanced projector leaves more room for tasks than OWM's (Theorem 5).",
        f"rank(P_EOWM) − rank(P_OWM) is {span} {len(gains)} combinations of c1 > 0, c2 and case.",
        verdict,
        status,
    )


def order(leaks: Sequence["projectors.Leak"]) -> Finding:
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


def initial_beta(rows: Sequence["projectors.Start"]) -> Finding:
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


def mean_weight(cases: Sequence["figure1.Case"]) -> Finding:
    worst = max(case.mean_weight for case in cases)
    return Finding(
        "mean-weight",
        "The mean weight vector carries the knowledge of the learnt task (Theorem 3, Appendix A).",
        "While task A is learnt from zero, the mean weight vector of the softmax layer moves by "
        f"at most {worst:.0e} of the length of its weight vectors: it stays as it was drawn.",
        "refuted for softmax output layers" if worst < EXACT else "not refuted here",
        FAILS if worst < EXACT else UNDECIDED,
    )


def caption(ends: Sequence["figure1.End"], similar: bool) -> Finding:
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


def end_table(ends: Sequence["figure1.End"]) -> pd.DataFrame:
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
    frame["method"] = [title(method, c2) for method, c2 in zip(frame.method, frame.c2, strict=True)]
    groups = frame.groupby(["case", "method"], sort=False)[list(columns)]
    return groups.agg(lambda x: f"{x.mean():.2f} ({x.min():.2f}–{x.max():.2f})").rename(
        columns=columns
    )


def _frame(ends: Sequence["figure1.End"]) -> pd.DataFrame:
    frame = pd.DataFrame([asdict(end) for end in ends])
    frame["case"] = frame.similar.map(CASES)
    return frame


def title(method: str, c2: float | None, symbol: str = "c2") -> str:
    return NAMES[method] if c2 is None or pd.isna(c2) else f"{NAMES[method]}, {symbol} = {c2:g}"
