"""The paper's theorems and its Figure 1, measured instead of believed.

Each function returns plain numbers, in float64 and determined by a seed (but for the times of
Theorem 4); its docstring says what they would confirm or refute. `eowm.theory.theorems` judges
them. Vectors are rows here: the paper's A = (x₁, …, xₙ) is the
transpose of `inputs`, and a gradient G has the shape outputs × inputs.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from eowm.algebra import textbook
from eowm.algebra.projection import Projector, mean_input

PAPER_C2 = (0.05, 0.10, 0.15)  # w2 of Table 3, with c1 = 1 − c2


@dataclass(frozen=True)
class Effort:
    widths: tuple[int, ...] = (128, 256, 512, 1024, 2048)  # of Theorem 4's layers
    seeds: int = 10  # of Figure 1's experiment


SMALL = Effort(widths=(64, 128, 256, 512), seeds=2)


def effort(preset: str) -> Effort:
    return SMALL if preset == "smoke" else Effort()


def normal(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def identity(size: int) -> Tensor:
    return torch.eye(size, dtype=torch.float64)


def closed_form(vectors: Tensor, regularisers: Tensor) -> Tensor:
    """Eqs. 1 and 4 as printed, with one regulariser a vector: I − A (AᵀA + diag α)⁻¹ Aᵀ."""
    gram = vectors @ vectors.T + torch.diag(regularisers)
    return identity(vectors.shape[1]) - vectors.T @ torch.linalg.solve(gram, vectors)


def recursion(vectors: Tensor, regularisers: Tensor, start: Tensor | None = None) -> list[Tensor]:
    """Theorem 3's recursion from I (or from `start`): the matrix before and after each vector."""
    steps = [identity(vectors.shape[1]) if start is None else start]
    for vector, regulariser in zip(vectors, regularisers, strict=True):
        steps.append(textbook.owm_recursion(steps[-1], vector, float(regulariser)))
    return steps


def hard_projector(vectors: Tensor) -> Tensor:
    """The limit α → 0 of Eq. 1: what is orthogonal to all vectors stays, nothing else does."""
    basis = torch.linalg.qr(vectors.T).Q
    return identity(vectors.shape[1]) - basis @ basis.T


# --- Theorem 3 -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Recursion:
    """Largest absolute errors over all steps, each against a closed form."""

    size: int
    steps: int
    p: float  # P, Eq. 9 against Eq. 1
    q_ort: float  # Q_ort, Eq. 10 against Eq. 4
    p_eowm: float  # P_EOWM of both cases, Eq. 9 against Eq. 7
    projector: float  # P as this project computes it: lazy, low rank


@dataclass(frozen=True)
class QRecursion:
    """Two ways to get Qⁿ⁺¹, as largest absolute errors over all steps."""

    new: float  # I − Q_ortⁿ⁺¹ against Eq. 4
    old: float  # I − Q_ortⁿ, as Eq. 10 and Appendix A print it, against Eq. 4
    late: float  # the same against Eq. 4 with the last task left out
    first: float  # largest entry of the printed Q while the second task is learnt


def theorem3(size: int = 40, steps: int = 60, c2: float = 0.1, seed: int = 0) -> Recursion:
    """Theorem 3: the recursions give P and Q_ort, hence P_EOWM.

    Confirmed if all errors are rounding (< 1e-9) for random vectors and random regularisers,
    over fewer and over more vectors than dimensions.
    """
    inputs, alphas = _history(size, steps, seed)
    weights, betas = _history(size, steps, seed + 1000)
    ps, q_orts, lazy = recursion(inputs, alphas), recursion(weights, betas), Projector(size, lazy=7)
    errors = []
    for n in range(1, steps + 1):
        p, q_ort = closed_form(inputs[:n], alphas[:n]), closed_form(weights[:n], betas[:n])
        lazy.update(inputs[n - 1 : n], float(alphas[n - 1]))
        both = [
            textbook.eowm_projector(ps[n], q_orts[n], 1 - c2, c2, similar)
            - textbook.eowm_projector(p, q_ort, 1 - c2, c2, similar)
            for similar in (True, False)
        ]
        errors.append([ps[n] - p, q_orts[n] - q_ort, torch.cat(both), lazy.matrix - p])
    return Recursion(size, steps, *(max(map(_largest, kind)) for kind in zip(*errors, strict=True)))


def q_recursions(size: int = 40, steps: int = 60, seed: int = 0) -> QRecursion:
    """Eq. 10 prints Qⁿ⁺¹ = I − Q_ortⁿ; Definition 3 (Q + Q_ort = I) asks for I − Q_ortⁿ⁺¹.

    The one with an error of rounding against Eq. 4's Q is right. The printed one is late by a
    task if it equals Eq. 4 without the last task; then Q = 0 while the second task is learnt,
    and P_s = c1 P is OWM with a smaller learning rate.
    """
    weights, betas = _history(size, steps, seed)
    q_orts = recursion(weights, betas)
    q = [identity(size) - closed_form(weights[:n], betas[:n]) for n in range(steps + 1)]
    new = [identity(size) - q_orts[n + 1] for n in range(steps)]
    printed = [identity(size) - q_orts[n] for n in range(steps)]
    return QRecursion(
        new=max(_largest(new[n] - q[n + 1]) for n in range(steps)),
        old=max(_largest(printed[n] - q[n + 1]) for n in range(steps)),
        late=max(_largest(printed[n] - q[n]) for n in range(steps)),
        first=_largest(printed[0]),
    )


def _history(size: int, steps: int, seed: int) -> tuple[Tensor, Tensor]:
    """Random vectors, and regularisers spread over the decades from 1e-3 to 1."""
    exponents = torch.rand(steps, generator=torch.Generator().manual_seed(seed + 1))
    return normal(seed, steps, size), 10 ** (-3 * exponents.double())


def _largest(difference: Tensor) -> float:
    return float(difference.abs().max())


# --- Theorem 4 -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """Seconds for one projected gradient of one layer, on one thread."""

    batch: int
    outputs: int
    widths: tuple[int, ...]
    published: tuple[float, ...]
    ours: tuple[float, ...]
    difference: float  # largest relative difference between the two gradients
    more_outputs: int  # Theorem 4's N_n, raised at a width in the middle …
    outputs_ratio: float  # … makes the published form slower by this factor

    @property
    def slopes(self) -> tuple[float, float]:
        """Log–log slopes over the three largest widths: published, ours."""
        return slope(self.widths[-3:], self.published[-3:]), slope(self.widths[-3:], self.ours[-3:])

    def _operations(self, width: int, outputs: int = 0) -> tuple[int, int]:
        counts = operations(width, self.batch, outputs or self.outputs)
        return counts["published"], counts["ours"]

    @property
    def counted_slopes(self) -> tuple[float, float]:
        """The same of the numbers of operations."""
        widths = self.widths[-3:]
        published, ours = zip(*map(self._operations, widths), strict=True)
        return slope(widths, published), slope(widths, ours)

    @property
    def counted_ratio(self) -> float:
        """What `outputs_ratio` is by the numbers of operations; Theorem 4 says m'/m."""
        middle = self.widths[-2]
        return self._operations(middle, self.more_outputs)[0] / self._operations(middle)[0]

    @property
    def counted_gain(self) -> float:
        """How many times fewer operations our form takes at the largest width."""
        published, ours = self._operations(self.widths[-1])
        return published / ours


def theorem4(widths: Sequence[int], batch: int = 100, outputs: int = 100, repeats: int = 7) -> Cost:
    """Theorem 4: the cost of EOWM is O(N_c³ N_n), N_c inputs (d below), N_n neurons (m below).

    By count, the published form (rank-1 updates, explicit P·Q, gradient · M) takes d³ + m d² and
    lower terms: a log–log slope towards 3 confirms the cube, and a cost that grows less than
    N_n shows that the product is no more than an upper bound. Ours (inputs through Q_ort and P,
    lazy updates) takes 2 B d² for a batch of B: a slope of about 2 shows that the cube belongs
    to the formulation, not to EOWM.
    The batch is Table 1's, the outputs are the hidden units of the paper's MNIST network.
    """
    with _one_thread():
        # Short measurements are noisier, and cheaper to repeat.
        rows = [_compare(w, batch, outputs, repeats * widths[-1] // w) for w in widths]
        few, many = (PublishedForm(widths[-2], batch, m) for m in (outputs, 8 * outputs))
        seconds = interleaved([few.step, many.step], repeats)
    published, ours, differences = zip(*rows, strict=True)
    return Cost(
        batch,
        outputs,
        tuple(widths),
        published,
        ours,
        difference=max(differences),
        more_outputs=8 * outputs,
        outputs_ratio=seconds[1] / seconds[0],
    )


def operations(width: int, batch: int, outputs: int) -> dict[str, int]:
    """Multiply-adds of one projected gradient, and what Theorem 4 claims.

    A rank-1 update is three products with a vector and one outer product; a lazy one is one
    product, and its share of a flush.
    """
    gradient, square = batch * outputs * width, width**2
    return {
        "claimed": width**3 * outputs,
        "published": gradient + 2 * 4 * square + width**3 + outputs * square,
        "ours": gradient + 2 * 2 * square + 2 * batch * square,
    }


def slope(widths: Sequence[int], values: Sequence[float]) -> float:
    """Of the straight line through the logarithms: the exponent of a power law."""
    return float(np.polyfit(np.log(widths), np.log(values), 1)[0])


class PublishedForm:
    """Eqs. 8 to 10 as they are published: rank-1 updates, P·Q multiplied out, gradient · M."""

    def __init__(self, width: int, batch: int, outputs: int) -> None:
        self.x, self.delta, self.w = _layer(width, batch, outputs)
        self.p, self.q_ort = identity(width), identity(width)

    def step(self, c2: float = 0.1) -> Tensor:
        """Both updates, and the projected gradient."""
        self.p = textbook.owm_recursion(self.p, self.x.mean(0), 1.0)
        self.q_ort = textbook.owm_recursion(self.q_ort, self.w, 1.0)
        matrix = textbook.eowm_projector(self.p, self.q_ort, 1 - c2, c2, similar=True)
        return (self.delta.T @ self.x) @ matrix.T


class OurForm:
    """The same gradient: δᵀ(X (c1 I + c2 Q) P), never a product of two square matrices."""

    cycle = 8  # steps between two flushes of the lazy updates

    def __init__(self, width: int, batch: int, outputs: int) -> None:
        self.x, self.delta, self.w = _layer(width, batch, outputs)
        self.p, self.q_ort = (Projector(width, lazy=self.cycle) for _ in range(2))

    def step(self, c2: float = 0.1) -> Tensor:
        self.p.update(mean_input(self.x), 1.0)
        self.q_ort.update(self.w[None], 1.0)
        mixed = self.x - c2 * self.q_ort.project(self.x)  # c1 I + c2 Q = I − c2 Q_ort
        return self.delta.T @ self.p.project(mixed)

    def steps(self) -> None:
        """A whole cycle, so that every measurement pays for one flush."""
        for _ in range(self.cycle):
            self.step()


def interleaved(forms: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Median seconds of each, measured in turns: another load on the machine hits all alike."""
    times: list[list[float]] = [[] for _ in forms]
    for repeat in range(repeats + 1):
        for form, seconds in zip(forms, times, strict=True):
            start = time.perf_counter()
            form()
            if repeat:  # the first round warms up
                seconds.append(time.perf_counter() - start)
    return [statistics.median(seconds) for seconds in times]


def _compare(width: int, batch: int, outputs: int, repeats: int) -> tuple[float, float, float]:
    """Seconds of both forms, and the relative difference of their first gradients."""
    published, ours = PublishedForm(width, batch, outputs), OurForm(width, batch, outputs)
    expected = published.step()
    difference = _largest(ours.step() - expected) / _largest(expected)
    seconds = interleaved([published.step, ours.steps], repeats)
    return seconds[0], seconds[1] / ours.cycle, difference


def _layer(width: int, batch: int, outputs: int) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, output gradients, and a mean weight vector."""
    return normal(0, batch, width), normal(1, batch, outputs), normal(2, width)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Slopes of a power law need the same machine at every width."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


# --- Theorem 5 -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Rank:
    similar: bool
    c1: float
    c2: float
    owm: int  # rank(P_OWM)
    eowm: int  # rank(P_EOWM)
    bound: int  # the paper's: rank(P_OWM) + rank(P_OWM Q), or Q_ort


def theorem5(
    c2s: Sequence[float] = (*PAPER_C2, 0.5, 0.9, 1.0),
    size: int = 60,
    inputs: int = 25,
    weights: int = 20,
    seed: int = 0,
) -> list[Rank]:
    """Theorem 5 bounds rank(P_EOWM), "the number of learnable tasks", by more than rank(P_OWM).

    Two lines refute the gain. Q and Q_ort are symmetric with eigenvalues in [0, 1], so those of
    c1 I + c2 Q lie in [c1, c1 + c2]: for c1 > 0 it is invertible. A product with an invertible
    matrix keeps the rank, so rank(P_EOWM) = rank(P_OWM). Numerically, with P and Q in the limit
    α, β → 0 (else P has full rank and there is nothing to count), any row with c1 > 0 and
    different ranks would refute the argument. c2 = 1 shows what c1 = 0 does: the rank falls.
    """
    p = hard_projector(normal(seed, inputs, size))
    q_ort = hard_projector(normal(seed + 1, weights, size))
    return [rank(p, q_ort, 1 - c2, c2, similar) for similar in (True, False) for c2 in c2s]


def rank(p: Tensor, q_ort: Tensor, c1: float, c2: float, similar: bool) -> Rank:
    """Singular values below 1e-9 count as zero: all others here are of the order of c1."""
    q = identity(len(p)) - q_ort if similar else q_ort
    matrices = (p, textbook.eowm_projector(p, q_ort, c1, c2, similar), p @ q)
    owm, eowm, extra = (int(torch.linalg.matrix_rank(m, atol=1e-9, rtol=0.0)) for m in matrices)
    return Rank(similar, c1, c2, owm, eowm, owm + extra)


# --- the order of P and Q ------------------------------------------------------------------


@dataclass(frozen=True)
class Leak:
    """‖ΔW x‖ over all stored inputs x, relative to the unprojected gradient's."""

    similar: bool
    c2: float
    p_last: float
    q_last: float


def leaks(
    c2s: Sequence[float] = (0.0, *PAPER_C2, 0.5, 1.0),
    size: int = 60,
    alpha: float = 1e-9,
    beta: float = 0.1,
    seed: int = 0,
) -> list[Leak]:
    """Does the answer to stored inputs stay as it was, W_new x = W_old x?

    The promise of OWM (Section 2.1). With the published code's order, G (c1 I + c2 Q) P, what
    remains is of the order of α for any c2. Eq. 8 taken literally, G P (c1 I + c2 Q), lets Q
    turn the gradient back into the protected directions: a leak in proportion to c2.
    """
    stored, gradient = normal(seed, 20, size), normal(seed + 2, 8, size)
    p, q_ort = Projector(size), Projector(size)
    p.update(stored, alpha)
    q_ort.update(normal(seed + 1, 10, size), beta)
    unprotected = float((gradient @ stored.T).norm())

    def leak(matrix: Tensor) -> float:
        return float((gradient @ matrix @ stored.T).norm()) / unprotected

    rows = []
    for similar in (True, False):
        for c2 in c2s:
            matrix = textbook.eowm_projector(p.matrix, q_ort.matrix, 1 - c2, c2, similar)
            rows.append(Leak(similar, c2, p_last=leak(matrix.T), q_last=leak(matrix)))
    return rows


# --- the initial I/β -----------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    beta: float
    c2: float
    q: float  # Q = q I before any weights are known
    smallest: float  # eigenvalue of c1 I + c2 Q once some weights are known
    uphill: float  # share of random gradients whose step raises the loss to first order


def initial_beta(
    betas: Sequence[float] = (0.01, 0.1, 0.5, 1.0, 10.0),
    c2s: Sequence[float] = PAPER_C2,
    size: int = 40,
    weights: int = 10,
    seed: int = 0,
) -> list[Start]:
    """Algorithm 1, line 1, starts from Q_ort = I/β; Eq. 4 with no weights says I.

    Then Q = I − Q_ort starts at (1 − 1/β) I, negative for β < 1, and keeps that value in every
    direction the weights do not span. There c1 I + c2 Q is c1 + c2 (1 − 1/β), with c1 + c2 = 1
    just 1 − c2/β: for β < c2 the step of P_s goes up the loss. A smallest eigenvalue below zero
    confirms it. Table 1 allows β in (0, 1), and Definition 3 calls it very small.
    """
    known, gradients = normal(seed, weights, size), normal(seed + 1, 1000, size)
    rows = []
    for beta in betas:
        same = torch.full((weights,), beta)
        q = identity(size) - recursion(known, same, start=identity(size) / beta)[-1]
        for c2 in c2s:
            matrix = (1 - c2) * identity(size) + c2 * q
            smallest = float(torch.linalg.eigvalsh((matrix + matrix.T) / 2)[0])
            descent = ((gradients @ matrix) * gradients).sum(1)
            uphill = float((descent < 0).double().mean())
            rows.append(Start(beta, c2, 1 - 1 / beta, smallest, uphill))
    return rows


# --- Figure 1 ------------------------------------------------------------------------------

RIDGE = 1e-2  # makes each loss strictly convex: W*_A, W*_B and W*_AB are unique
Projection = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Problem:
    """One task for a linear softmax classifier: inputs, and labels as one-hot rows."""

    x: Tensor
    y: Tensor

    def loss(self, w: Tensor) -> Tensor:
        """Cross-entropy and ridge of one weight matrix, or of a stack of them."""
        scores = torch.log_softmax(self.x @ w.mT, -1)
        return RIDGE / 2 * (w**2).sum((-2, -1)) - (self.y * scores).sum(-1).mean(-1)

    def gradient(self, w: Tensor, rows: Tensor) -> Tensor:
        x, y = self.x[rows], self.y[rows]
        return (torch.softmax(x @ w.T, -1) - y).T @ x / len(rows) + RIDGE * w

    def optimum(self) -> Tensor:
        w = torch.zeros(self.y.shape[1], self.x.shape[1], dtype=torch.float64, requires_grad=True)
        solver = torch.optim.LBFGS(
            [w], max_iter=500, tolerance_grad=1e-10, tolerance_change=1e-14,
            line_search_fn="strong_wolfe",
        )  # fmt: skip

        def closure() -> Tensor:
            solver.zero_grad()
            loss = self.loss(w)
            loss.backward()
            return loss

        solver.step(closure)
        return w.detach()


@dataclass(frozen=True)
class Walk:
    """The weights of one method after each step of learning B, from W*_A on."""

    method: str
    c2: float | None  # EOWM only
    weights: Tensor  # steps × outputs × inputs


@dataclass(frozen=True)
class Case:
    """One panel of Figure 1, as weights."""

    similar: bool
    a: Problem
    b: Problem
    w_a: Tensor  # the optima
    w_b: Tensor
    w_ab: Tensor
    walks: tuple[Walk, ...]
    overlap: float  # ‖Q P‖: the most that P lets through of a direction in the weight space
    mean_weight: float  # ‖mean row of W*_A‖, relative to its rows' mean norm

    @property
    def unit(self) -> float:
        """‖W*_B − W*_A‖, the length that all distances are given in."""
        return float((self.w_b - self.w_a).norm())


def learn(
    similar: bool,
    seed: int = 0,
    c2s: Sequence[float] = (0.1, 0.9),
    alpha: float = 0.01,
    beta: float = 0.1,
    rate: float = 0.5,
    epochs: int = 20,
    batch: int = 20,
) -> Case:
    """Figure 1's caption: P_OWM goes towards W*_B, P_EOWM always towards W*_AB.

    Linear softmax regression learns A to its optimum, then B by SGD, OWM and EOWM, all with the
    same batches. P knows A's batch means and stays as it is while B is learnt (Algorithm 1).
    Q_ort knows W*_A by its rows, as Definition 1 says: the mean row would know nothing, because
    the gradients of a softmax layer sum to zero over the classes (`mean_weight`).

    The caption is confirmed if OWM ends nearer to W*_B than to W*_AB, and EOWM nearer to W*_AB
    than OWM does. Against it speaks that weights learnt by gradients lie in the span of the
    inputs, which P removes: P Q ≈ 0 (`overlap`), so that P_s ≈ c1 P and P_ds ≈ P.
    """
    generator = torch.Generator().manual_seed(seed)
    a, b = two_tasks(similar, generator)
    w_a = a.optimum()
    p, q_ort = Projector(a.x.shape[1]), Projector(a.x.shape[1])
    for rows in torch.randperm(len(a.x), generator=generator).split(batch):
        p.update(mean_input(a.x[rows]), alpha)
    q_ort.update(w_a, beta)
    batches = [
        rows
        for _ in range(epochs)
        for rows in torch.randperm(len(b.x), generator=generator).split(batch)
    ]
    ways: list[tuple[str, float | None, Projection]] = [
        ("finetune", None, lambda gradient: gradient),
        ("owm", None, p.project),
        *(("eowm", c2, enhanced(p, q_ort, c2, similar)) for c2 in c2s),
    ]
    q = identity(a.x.shape[1]) - q_ort.matrix
    return Case(
        similar,
        a,
        b,
        w_a,
        w_b=b.optimum(),
        w_ab=Problem(torch.cat([a.x, b.x]), torch.cat([a.y, b.y])).optimum(),
        walks=tuple(Walk(m, c2, _walk(b, w_a, way, batches, rate)) for m, c2, way in ways),
        overlap=float(torch.linalg.matrix_norm(q @ p.matrix, ord=2)),
        mean_weight=float(w_a.mean(0).norm() / w_a.norm(dim=1).mean()),
    )


def two_tasks(similar: bool, generator: torch.Generator) -> tuple[Problem, Problem]:
    """Two classes each: clouds around ±m in three dimensions of twenty, so that P leaves room.

    B's three dimensions are A's, turned by 60°. Similar: the same clouds and labels, turned.
    Dissimilar: clouds of its own, with labels of its own in the same head.
    """
    size, inner, count, angle, separation = 20, 3, 400, math.radians(60), 1.5

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def task(basis: Tensor, middle: Tensor, first_label: int) -> Problem:
        label = torch.arange(count) % 2
        x = (torch.stack([middle, -middle])[label] + draw(count, inner)) @ basis
        y = F.one_hot(first_label + label, 2 if similar else 4).to(x.dtype)
        return Problem(x + 0.02 * draw(count, size), y)

    here, aside = torch.linalg.qr(draw(size, 2 * inner)).Q.T.split(inner)
    middles = separation * F.normalize(draw(2, inner))
    turned = math.cos(angle) * here + math.sin(angle) * aside
    a = task(here, middles[0], 0)
    return a, task(turned, middles[0], 0) if similar else task(turned, middles[1], 2)


def enhanced(p: Projector, q_ort: Projector, c2: float, similar: bool) -> Projection:
    """Eq. 7 with c1 = 1 − c2, P acting last: G ↦ G (c1 I + c2 Q) P, or with Q_ort."""

    def project(gradient: Tensor) -> Tensor:
        aside = q_ort.project(gradient)
        return p.project((1 - c2) * gradient + c2 * (gradient - aside if similar else aside))

    return project


def _walk(
    b: Problem, start: Tensor, projection: Projection, batches: Sequence[Tensor], rate: float
) -> Tensor:
    steps = [start]
    for rows in batches:
        steps.append(steps[-1] - rate * projection(b.gradient(steps[-1], rows)))
    return torch.stack(steps)


@dataclass(frozen=True)
class End:
    """Where a walk ends; lengths in units of ‖W*_B − W*_A‖."""

    similar: bool
    method: str
    c2: float | None
    to_b: float  # distance to W*_B
    to_ab: float  # distance to W*_AB
    from_owm: float  # distance to the nearest point of OWM's walk: direction without speed
    loss_a: float
    loss_b: float
    outside_end: float  # see `Plane.outside`: at the end …
    outside_most: float  # … and at the worst point
    overlap: float  # see `Case.overlap`


def ends(case: Case) -> list[End]:
    """The numbers by which the caption of Figure 1 is judged."""
    plane, rows = Plane(case), []
    owm = next(walk for walk in case.walks if walk.method == "owm")
    for walk in case.walks:
        end, outside = walk.weights[-1], plane.outside(walk.weights)
        row = End(
            case.similar,
            walk.method,
            walk.c2,
            to_b=float((end - case.w_b).norm()) / case.unit,
            to_ab=float((end - case.w_ab).norm()) / case.unit,
            from_owm=float(_norms(owm.weights - end).min()) / case.unit,
            loss_a=float(case.a.loss(end)),
            loss_b=float(case.b.loss(end)),
            outside_end=float(outside[-1]),
            outside_most=float(outside.max()),
            overlap=case.overlap,
        )
        rows.append(row)
    return rows


class Plane:
    """The plane through W*_A, at (0, 0), W*_B, at (1, 0), and W*_AB."""

    def __init__(self, case: Case) -> None:
        self.origin, self.unit = case.w_a, case.unit
        first = (case.w_b - case.w_a) / case.unit
        second = case.w_ab - case.w_a
        second = second - (second * first).sum() * first
        self.axes = torch.stack([first, second / second.norm()]).flatten(1)

    def coordinates(self, weights: Tensor) -> Tensor:
        return (weights - self.origin).flatten(-2) @ self.axes.T / self.unit

    def weights(self, coordinates: Tensor) -> Tensor:
        moved = self.unit * coordinates @ self.axes
        return self.origin + moved.unflatten(-1, self.origin.shape)

    def outside(self, weights: Tensor) -> Tensor:
        """Of each point of a walk: its distance from the plane relative to that from W*_A.
        A picture in the plane does not show it."""
        missing = weights - self.weights(self.coordinates(weights))
        return torch.nan_to_num(_norms(missing) / _norms(weights - self.origin))  # 0/0 at W*_A


@dataclass(frozen=True)
class Line:
    """A walk as it is drawn."""

    method: str
    c2: float | None
    points: np.ndarray  # steps × 2
    outside: np.ndarray  # steps: see `Plane.outside`


@dataclass(frozen=True)
class Landscape:
    """One panel of Figure 1, as it is drawn: all in the plane of the three optima."""

    similar: bool
    optima: dict[str, np.ndarray]  # A, B and AB
    lines: tuple[Line, ...]
    x: np.ndarray
    y: np.ndarray
    losses: dict[str, np.ndarray]  # A, B and AB (their mean) on the grid (y, x)
    levels: dict[str, np.ndarray]  # contours: see `_levels`


def landscape(case: Case, points: int = 61, margin: float = 0.2) -> Landscape:
    """The case in its plane: walks, optima, and the losses on a grid that holds them all."""
    plane = Plane(case)
    lines = tuple(
        Line(
            walk.method,
            walk.c2,
            plane.coordinates(walk.weights).numpy(),
            plane.outside(walk.weights).numpy(),
        )
        for walk in case.walks
    )
    optima = {"A": case.w_a, "B": case.w_b, "AB": case.w_ab}
    spots = {name: plane.coordinates(w).numpy() for name, w in optima.items()}
    x, y = _frame([*spots.values(), *(line.points for line in lines)], points, margin)
    grid = plane.weights(torch.from_numpy(np.stack(np.meshgrid(x, y), -1)))
    a, b = (torch.stack([task.loss(row) for row in grid]).numpy() for task in (case.a, case.b))
    levels = {
        "A": _levels(case.a.loss, case.w_a, case.w_b),
        "B": _levels(case.b.loss, case.w_b, case.w_a),
        "AB": _levels(lambda w: (case.a.loss(w) + case.b.loss(w)) / 2, case.w_ab, case.w_a),
    }
    return Landscape(case.similar, spots, lines, x, y, {"A": a, "B": b, "AB": (a + b) / 2}, levels)


def _frame(
    content: Sequence[np.ndarray], points: int, margin: float
) -> tuple[np.ndarray, np.ndarray]:
    """Grid lines around the content; 4 : 3, so that all panels have one shape."""
    everything = np.concatenate([np.atleast_2d(part) for part in content])
    low, high = everything.min(0), everything.max(0)
    half = (high - low) / 2 + margin * (high - low).max()
    half = max(half[0], half[1] / 0.75) * np.array([1.0, 0.75])
    corner, opposite = (low + high) / 2 - half, (low + high) / 2 + half
    return (
        np.linspace(corner[0], opposite[0], points),
        np.linspace(corner[1], opposite[1], points),
    )


def _levels(loss: Callable[[Tensor], Tensor], best: Tensor, other: Tensor) -> np.ndarray:
    """Shares 1/16, 4/16, 9/16, … of the loss's rise from its optimum to another: on a quadratic
    bowl these contours stand at equal distances."""
    low, high = float(loss(best)), float(loss(other))
    return low + (high - low) * (np.arange(1, 6) / 4) ** 2


def _norms(weights: Tensor) -> Tensor:
    return weights.flatten(1).norm(dim=1)
