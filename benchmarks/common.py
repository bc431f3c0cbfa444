"""What the benchmarks share: a task of random images, a network, and interleaved timing."""

import statistics
import time
from collections.abc import Callable, Mapping

import torch
from rich.console import Console
from rich.table import Table

from eowm import nets
from eowm.data.streams import Split, Task
from eowm.settings import RunSettings
from eowm.training import seed_everything


def random_task(dataset: str, images: int = 1000) -> Task:
    """Speed does not depend on what is in the images."""
    torch.manual_seed(0)
    shape = (1, 28, 28) if dataset == "mnist" else (3, 32, 32)
    pixels = torch.randint(256, (images, *shape), dtype=torch.uint8)
    labels = torch.randint(10, (images,))
    return Task(0, tuple(range(10)), Split(pixels, labels, lambda u: u.float() / 255))


def network(settings: RunSettings, task: Task) -> torch.nn.Module:
    seed_everything(0)
    classes = 100 if settings.dataset == "cifar100" else 10
    return nets.build(settings.net, tuple(task.train.images.shape[1:]), classes)


def interleaved(
    steps: Mapping[str, Callable[[], object]], repeats: int, counts: Mapping[str, int]
) -> dict[str, float]:
    """Median seconds of each step; contenders take turns, so that all see the same machine."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            started = time.perf_counter()
            for _ in range(counts[name]):
                step()
            seconds[name].append((time.perf_counter() - started) / counts[name])
    return {name: statistics.median(times) for name, times in seconds.items()}


def goal(value: float, sign: str, limit: float, unit: str) -> str:
    met = value <= limit if sign == "≤" else value >= limit
    return f"{sign} {limit:g}{unit} {'met' if met else 'MISSED'}"


def show(table: Table) -> None:
    Console(width=None if Console().is_terminal else 140).print(table)
