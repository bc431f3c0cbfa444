"""What tests of methods share."""

import torch

from eowm import nets
from eowm.training.loop import seed_everything


def batches(stream, count: int, size: int):
    generator = torch.Generator().manual_seed(0)
    train = stream.task(0).train
    for _ in range(count):
        yield train.batch(torch.randint(len(train), (size,), generator=generator))


def network(settings, stream):
    seed_everything(0)
    return nets.build(settings.net, stream.image_shape, stream.classes)


def learn(method, stream, tasks: int = 2, count: int = 8, size: int = 50) -> None:
    """A few batches of each task."""
    for t in range(tasks):
        torch.manual_seed(t)
        method.begin_task(stream.task(t))
        for x, y in batches(stream, count, size):
            method.observe(x, y, 0.0)
        method.end_task(stream.task(t))
