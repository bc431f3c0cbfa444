"""c1 and c2 of P_EOWM = P_OWM (c1 I + c2 Q) (Eq. 7): constants, or the rule of the published code.

The paper calls them empirical and prints no formula. The published code computes, from a task
similarity s, the progress p of the task and the number of tasks T, with r = 0.99 of Table 1:

    c1 = (s + rᵖ eˢ) / (s + eˢ)
    c2 = (1 − c1) (1 − f (1 + s)⁻ᵀ),   f = +1 for similar tasks, −1 for dissimilar ones.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from eowm.data.streams import Task
from eowm.methods.owm import Options
from eowm.settings.run import RunSettings

SAMPLE = {"image-means": 1000, "pixels": 500}  # images a task, as in the published code


class Coefficients:
    """Knows the similarity of the current task to the one before it."""

    def __init__(self, options: Options, settings: RunSettings) -> None:
        self.options = options
        self.tasks = settings.tasks
        self.epochs = settings.training.epochs
        self.batch_size = settings.training.batch_size
        self.similarity = 0.0  # of the first task, which has nothing before it
        self.previous: Tensor | None = None  # what the similarity of the next task needs

    def begin_task(self, task: Task) -> None:
        """s per pair of neighbouring tasks; the published code's list holds one row only."""
        if self.options.coefficients not in ("published", "published-raw"):
            return
        current = describe(task, self.options.similarity)
        if self.previous is not None:
            self.similarity = compare(self.previous, current, self.options.similarity)
        self.previous = current

    def c1(self, progress: float) -> float:
        match self.options.coefficients:
            case "one":
                return 1.0
            case "constant":
                return 1.0 - self.options.w2
            case "published":
                return published_c1(self.similarity, self.options.r, progress)
            case "published-raw":
                # The slip: sample offset / batches per epoch, so p runs from 0 to the batch size.
                within_epoch = (progress * self.epochs) % 1.0
                return published_c1(self.similarity, self.options.r, within_epoch * self.batch_size)

    def c2(self, progress: float, similar: bool) -> float:
        match self.options.coefficients:
            case "one":
                return 0.0
            case "constant":
                return self.options.w2
            case "published":
                return published_c2(self.c1(progress), self.similarity, self.tasks, similar)
            case "published-raw":  # the slip: r itself in the place of c1
                return published_c2(self.options.r, self.similarity, self.tasks, similar)

    def state_dict(self) -> dict[str, Any]:
        return {"similarity": self.similarity, "previous": self.previous}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.similarity, self.previous = state["similarity"], state["previous"]


def published_c1(s: float, r: float, p: float) -> float:
    return (s + r**p * math.exp(s)) / (s + math.exp(s))


def published_c2(c1: float, s: float, tasks: int, similar: bool) -> float:
    sign = 1.0 if similar else -1.0
    return (1.0 - c1) * (1.0 - sign * (1.0 + s) ** -tasks)


def describe(task: Task, how: str) -> Tensor:
    """A random sample of a task's images as one vector: their mean pixels, or all their pixels."""
    count = min(SAMPLE[how], len(task.train))
    chosen = torch.randperm(len(task.train))[:count].to(task.train.labels.device)
    images = task.train.batch(chosen)[0].flatten(1)
    return images.mean(1) if how == "image-means" else images.flatten()


def compare(first: Tensor, second: Tensor, how: str) -> float:
    """Cosine of two tasks; of mean pixels moved into [0, 1], of raw pixels as it is.

    Of mean pixels it is the same for all permutations of the pixels: on shuffled tasks it says
    nothing about the tasks. Negative values occur for raw pixels, and make c2 of P_s negative.
    """
    size = min(len(first), len(second))
    cosine = float(F.cosine_similarity(first[:size].to(second), second[:size], dim=0))
    return 0.5 + 0.5 * cosine if how == "image-means" else cosine
