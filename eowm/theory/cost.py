"""Theorem 4: what one projected gradient costs, by operations and in seconds."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from eowm.algebra import textbook
from eowm.algebra.projection import Projector, mean_input
from eowm.theory.projectors import identity, largest, normal


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
    difference = largest(ours.step() - expected) / largest(expected)
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
