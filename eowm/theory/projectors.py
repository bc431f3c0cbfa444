"""Theorems 3 and 5, Eqs. 8 and 10 and the start of Algorithm 1, measured on random matrices.

Each function returns plain numbers, in float64 and determined by a seed; its docstring says what
they would confirm or refute. `eowm.theory.theorems` judges them. Vectors are rows here: the paper's
A = (x₁, …, xₙ) is the transpose of `inputs`, and a gradient G has the shape outputs × inputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from eowm.algebra import textbook
from eowm.algebra.projection import Projector

PAPER_C2 = (0.05, 0.10, 0.15)  # w2 of Table 3, with c1 = 1 − c2


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


def largest(difference: Tensor) -> float:
    return float(difference.abs().max())


# --- Theorem 3 and Eq. 10 ------------------------------------------------------------------------


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
    return Recursion(size, steps, *(max(map(largest, kind)) for kind in zip(*errors, strict=True)))


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
        new=max(largest(new[n] - q[n + 1]) for n in range(steps)),
        old=max(largest(printed[n] - q[n + 1]) for n in range(steps)),
        late=max(largest(printed[n] - q[n]) for n in range(steps)),
        first=largest(printed[0]),
    )


def _history(size: int, steps: int, seed: int) -> tuple[Tensor, Tensor]:
    """Random vectors, and regularisers spread over the decades from 1e-3 to 1."""
    exponents = torch.rand(steps, generator=torch.Generator().manual_seed(seed + 1))
    return normal(seed, steps, size), 10 ** (-3 * exponents.double())


# --- Theorem 5 -----------------------------------------------------------------------------------


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


# --- The order of P and Q, and the start of Q_ort ------------------------------------------------


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
