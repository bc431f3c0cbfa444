"""Figure 1's experiment: where SGD, OWM and EOWM go when task B is learnt after task A."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from eowm.algebra.projection import Projector, mean_input
from eowm.theory.projectors import identity

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
