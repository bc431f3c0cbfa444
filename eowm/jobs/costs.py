"""What a training job needs: minutes, memory, GPUs. For schedulers and plans alone."""

import math
from dataclasses import dataclass

from eowm.settings.cells import Cell
from eowm.settings.config import Config
from eowm.settings.run import RunSettings

SIZE = {"mnist": 60_000, "cifar10": 50_000, "cifar100": 50_000}  # training images
TEST_IMAGES = 10_000  # validation and test, evaluated after every epoch
EVALUATION_SHARE = 1 / 3  # of the time that learning from an image takes: no backward pass

# A limit must hold on a slower or busier machine than the one that was measured. A run that hits
# it resumes from its checkpoint in the next attempt.
MARGIN = 3
START_MINUTES = 10


@dataclass(frozen=True)
class Needs:
    minutes: int
    mem_mb: int
    gpu: int


def needs(config: Config, cell: Cell, preset: str, seeds: int = 1, attempt: int = 1) -> Needs:
    """Of one job that trains this many seeds in turn; a further attempt gets more."""
    settings = config.resolve(cell, 0, preset)
    cost = config.jobs.cost(settings.dataset, settings.method, settings.variant)
    seconds = seeds * _images(settings) / cost.images_per_second
    minutes = attempt * (START_MINUTES + math.ceil(MARGIN * seconds / 60))
    return Needs(min(minutes, config.jobs.max_minutes), attempt * cost.mem_mb, cost.gpu)


@dataclass(frozen=True)
class Estimate:
    """What a run should take, without a margin."""

    core_hours: float  # on one CPU core, from its measured images a second
    gpu_hours: float  # by the assumed speed of a GPU


def estimate(config: Config, cell: Cell, preset: str) -> Estimate:
    settings = config.resolve(cell, 0, preset)
    cost = config.jobs.cost(settings.dataset, settings.method, settings.variant)
    speedup = cost.gpu_speedup or config.jobs.gpu_speedup.get(settings.dataset, 1.0)
    hours = _images(settings) / cost.images_per_second / 3600
    return Estimate(hours, hours / speedup)


def batches(seeds: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    """Job by job."""
    return [seeds[start : start + size] for start in range(0, len(seeds), size)]


def _images(settings: RunSettings) -> float:
    """Images learnt from in the whole run, and those evaluated by their share."""
    size = settings.limits.train_images or SIZE[settings.dataset]
    shuffled = settings.stream == "shuffled"  # every task has all images, not a part of them
    in_a_task = size if shuffled else size / settings.tasks
    learnt = settings.tasks * min(in_a_task, settings.training.images_per_epoch or in_a_task)
    seen_on_average = (settings.tasks + 1) / 2
    evaluated = TEST_IMAGES * (settings.tasks if shuffled else 1) * seen_on_average
    return settings.training.epochs * (learnt + EVALUATION_SHARE * evaluated)
