"""Task streams: the paper's splits, and its two ways to cut a dataset into tasks.

Images stay uint8 on the training device and are scaled batch by batch: a quarter of the memory
of floats, and no DataLoader in the hot path.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from eowm.data.store import Arrays
from eowm.settings.run import RunSettings

SPLIT_SEED = 2021  # which 3,000 of the 10,000 official test images are for validation
VALIDATION_IMAGES = 3000

# The constants of OWM's and EOWM's code, which use those of CIFAR-10 for CIFAR-100 too.
CIFAR_MEAN = (125.3 / 255, 123.0 / 255, 113.9 / 255)
CIFAR_STD = (63.0 / 255, 62.1 / 255, 66.7 / 255)

Scale = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Split:
    """Images (uint8) and labels (int64) of one task, resident on one device."""

    images: Tensor
    labels: Tensor
    scale: Scale

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, index: Tensor | slice) -> tuple[Tensor, Tensor]:
        if isinstance(index, slice):
            return self.scale(self.images[index]), self.labels[index]
        # Whole images are copied: a tenth of the time of `images[index]`, which goes by element.
        return self.scale(self.images.index_select(0, index)), self.labels.index_select(0, index)


@dataclass(frozen=True)
class Task:
    """What the loop hands to a method; `index` counts from 0."""

    index: int
    classes: tuple[int, ...]
    train: Split


@dataclass(frozen=True)
class Stream:
    """The tasks of a scenario in order, and every task's images for evaluation."""

    tasks: int
    image_shape: tuple[int, ...]
    classes: int
    labels: list[tuple[int, ...]]  # the classes of each task
    validation: list[Split]
    test: list[Split]
    _training: Callable[[int], Task]

    def task(self, index: int) -> Task:
        """Made when it is needed: twenty permuted copies of MNIST need not exist at once."""
        return self._training(index)

    def pooled(self) -> Task:
        """All tasks as one, for joint training."""
        tasks = [self.task(i) for i in range(self.tasks)]
        train = Split(
            torch.cat([task.train.images for task in tasks]),
            torch.cat([task.train.labels for task in tasks]),
            tasks[0].train.scale,
        )
        return Task(self.tasks - 1, tuple(range(self.classes)), train)


def build(settings: RunSettings, arrays: Arrays, device: torch.device | str = "cpu") -> Stream:
    """The stream of a scenario; it depends on the scenario alone, never on the run's seed."""
    limits = settings.limits
    classes = 100 if settings.dataset == "cifar100" else 10
    scale = _scale(settings.dataset, device)

    def split(images: Tensor, labels: Tensor, limit: int | None) -> Split:
        if limit is not None and limit < len(labels):
            keep = torch.from_numpy(stratified(labels.numpy(), limit, SPLIT_SEED))
            images, labels = images[keep], labels[keep]
        return Split(images.to(device), labels.long().to(device), scale)

    held_out = stratified(arrays.test_labels.numpy(), VALIDATION_IMAGES, SPLIT_SEED)
    is_validation = torch.zeros(len(arrays.test_labels), dtype=torch.bool)
    is_validation[torch.from_numpy(held_out)] = True
    train = split(arrays.train_images, arrays.train_labels, limits.train_images)
    validation = split(
        arrays.test_images[is_validation],
        arrays.test_labels[is_validation],
        limits.validation_images,
    )
    test = split(
        arrays.test_images[~is_validation], arrays.test_labels[~is_validation], limits.test_images
    )

    cut = _shuffle if settings.stream == "shuffled" else _select
    groups = _labels(settings.stream, classes, settings.tasks)
    return Stream(
        tasks=settings.tasks,
        image_shape=tuple(arrays.train_images.shape[1:]),
        classes=classes,
        labels=groups,
        validation=[cut(validation, i, groups[i]) for i in range(settings.tasks)],
        test=[cut(test, i, groups[i]) for i in range(settings.tasks)],
        _training=lambda i: Task(i, groups[i], cut(train, i, groups[i])),
    )


def stratified(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Sorted indices of `count` items with every class in proportion (largest remainders)."""
    classes, sizes = np.unique(labels, return_counts=True)
    quota = sizes * (count / len(labels))
    take = np.floor(quota).astype(int)
    missing = count - take.sum()
    take[np.argsort(take - quota, kind="stable")[:missing]] += 1
    rng = np.random.default_rng(seed)
    chosen = [
        rng.permutation(np.flatnonzero(labels == label))[:n]
        for label, n in zip(classes, take, strict=True)
    ]
    return np.sort(np.concatenate(chosen))


def permutation(task: int, size: int = 784) -> np.ndarray:
    """The published code's: the identity for task 0, then numpy's, seeded with the task index."""
    if task == 0:
        return np.arange(size)
    return np.random.RandomState(task).permutation(size)


def _labels(stream: str, classes: int, tasks: int) -> list[tuple[int, ...]]:
    """All classes in every task, or consecutive blocks in natural order."""
    if stream == "shuffled":
        return [tuple(range(classes))] * tasks
    size = classes // tasks
    return [tuple(range(i * size, (i + 1) * size)) for i in range(tasks)]


def _shuffle(split: Split, task: int, _: tuple[int, ...]) -> Split:
    if task == 0:
        return split
    order = torch.from_numpy(permutation(task, split.images[0].numel())).to(split.images.device)
    shape = split.images.shape
    return Split(split.images.flatten(1)[:, order].view(shape), split.labels, split.scale)


def _select(split: Split, _: int, classes: tuple[int, ...]) -> Split:
    keep = (split.labels >= classes[0]) & (split.labels <= classes[-1])
    return Split(split.images[keep], split.labels[keep], split.scale)


def _scale(dataset: str, device: torch.device | str) -> Scale:
    """MNIST to [0, 1]; CIFAR to zero mean and unit variance by channel."""
    if dataset == "mnist":
        return lambda images: images.float().div_(255)
    mean = torch.tensor(CIFAR_MEAN, device=device).view(3, 1, 1)
    std = torch.tensor(CIFAR_STD, device=device).view(3, 1, 1)
    return lambda images: images.float().div_(255).sub_(mean).div_(std)
