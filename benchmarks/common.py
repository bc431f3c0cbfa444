"""What the benchmarks share: rows with goals, interleaved timing, the machine's peak, a network."""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch

from eowm import methods, nets
from eowm.data.streams import Split, Task
from eowm.methods.base import Method
from eowm.settings.config import load_config
from eowm.settings.run import RunSettings
from eowm.training.loop import seed_everything

BATCH = 100  # Table 1 of the paper, for every dataset
PEAK_SIZE = 2048  # of the square matrices whose product is taken for the machine's peak

Seconds = Mapping[str, float]  # by contender, in one round
Rounds = list[Seconds]


@dataclass(frozen=True)
class Row:
    """One figure, mostly a ratio of two things that ran side by side."""

    name: str  # stays the same from run to run: what `--compare` goes by
    what: str
    against: str
    value: float | None  # None: not measured, for the reason given
    unit: str = "×"
    sign: str = ""  # of the goal: ≤ or ≥; nothing: told, not judged
    limit: float | None = None
    spread: tuple[float, float] | None = None  # quartiles of the rounds
    detail: str = ""  # the absolute figures behind it
    series: Mapping[str, float] | None = None  # seconds, where the value is a slope over them
    reason: str = ""  # shown where the goal is missed, or the row is not measured

    @property
    def met(self) -> bool | None:
        """None where there is no goal or no figure."""
        if self.value is None or self.limit is None:
            return None
        return self.value <= self.limit if self.sign == "≤" else self.value >= self.limit

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"met": self.met}


@dataclass(frozen=True)
class Effort:
    """How long to measure, and with how many threads."""

    threads: int
    repeats: int
    small: bool = False  # a toy size: for the tests, its figures mean nothing


# --- timing -----------------------------------------------------------------------------------


def interleaved(
    steps: Mapping[str, Callable[[], object]],
    repeats: int,
    counts: Mapping[str, int] | None = None,
    before: Mapping[str, Callable[[], object]] | None = None,
) -> Rounds:
    """Seconds of each step, round by round; contenders take turns, so that all see the same
    machine. `before` runs off the clock. A first round warms up and does not count."""
    rounds = []
    for number in range(repeats + 1):
        seconds = {}
        for name, step in steps.items():
            count = (counts or {}).get(name, 1)
            (before or {}).get(name, lambda: None)()
            started = time.perf_counter()
            for _ in range(count if number else 1):
                step()
            seconds[name] = (time.perf_counter() - started) / (count if number else 1)
        rounds.append(seconds)
    return rounds[1:]


def figure(rounds: Rounds, formula: Callable[[Seconds], float]) -> dict[str, Any]:
    """`value` and `spread` of a row: median and quartiles of a formula over the rounds."""
    found = sorted(formula(seconds) for seconds in rounds)
    low, _, high = statistics.quantiles(found, n=4) if len(found) > 1 else found * 3
    return {"value": statistics.median(found), "spread": (low, high)}


def median(rounds: Rounds, name: str) -> float:
    return statistics.median(seconds[name] for seconds in rounds)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


# --- the physical limit -------------------------------------------------------------------------


def product(size: int = PEAK_SIZE) -> Callable[[], object]:
    """One float32 matrix product, to be timed beside the others: nothing multiplies faster."""
    a, b = torch.rand(size, size), torch.rand(size, size)
    return lambda: a @ b


def peak(seconds: float, size: int = PEAK_SIZE) -> float:
    """Operations a second, from the time of a product."""
    return 2 * size**3 / seconds


def network_flops(net: torch.nn.Module, x: torch.Tensor) -> int:
    """Operations of a step in convolutions and linear layers: forward, and backward by weights
    and by inputs; the images need no gradient, so the first layer has no backward by inputs."""
    forward: list[int] = []

    def count(layer: nets.Layer, _: object, output: torch.Tensor) -> None:
        places = output.numel() // layer.weight.shape[0]
        forward.append(2 * places * layer.weight.numel())

    hooks = [layer.register_forward_hook(count) for _, layer in nets.layers(net)]
    with torch.no_grad():
        net(x)
    for hook in hooks:
        hook.remove()
    return 3 * sum(forward) - forward[0]


# --- something to measure -----------------------------------------------------------------------


def random_task(dataset: str, images: int = 1000, index: int = 0) -> Task:
    """Speed does not depend on what is in the images."""
    torch.manual_seed(index)
    shape = (1, 28, 28) if dataset == "mnist" else (3, 32, 32)
    pixels = torch.randint(256, (images, *shape), dtype=torch.uint8)
    labels = torch.randint(10, (images,))
    return Task(index, tuple(range(10)), Split(pixels, labels, lambda u: u.float() / 255))


def network(settings: RunSettings, task: Task) -> torch.nn.Module:
    seed_everything(0)
    classes = 100 if settings.dataset == "cifar100" else 10
    return nets.build(settings.net, tuple(task.train.images.shape[1:]), classes)


def resolve(name: str, scenario: str, **changes: object) -> RunSettings:
    """The paper's settings of a cell, with changes."""
    config = load_config()
    return config.resolve(config.cell(f"table2/{scenario}/{name}"), 0, "paper", changes)


def learner(settings: RunSettings, tasks: int = 2, images: int = 1000) -> Method:
    """A method that has begun its second task: in the first one EOWM leaves Q out."""
    first = random_task(settings.dataset, images)
    method = methods.find(settings.method)(network(settings, first), settings)
    for index in range(tasks):
        method.begin_task(random_task(settings.dataset, images, index))
    return method


def batch(settings: RunSettings) -> tuple[torch.Tensor, torch.Tensor]:
    task = random_task(settings.dataset, settings.training.batch_size)
    return task.train.batch(slice(0, settings.training.batch_size))


def processors() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Rows = Iterator[Row]
