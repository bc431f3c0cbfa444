"""No step of any method reads the device or mixes devices.

Torch's `meta` device stands in for an accelerator: shapes and autograd work, but there is no
content, so `.item()`, a Python `if` on a tensor or a boolean mask raise, and so does mixing with
CPU tensors. What waits for a CUDA device in a step, and would slow every one of them, fails here.
"""

from typing import Any

import pytest
import torch
from golden import arrays, known_methods
from torch import Tensor

from eowm import methods, nets
from eowm.data import streams
from eowm.data.streams import Split, Stream, Task
from eowm.methods.base import Method
from eowm.settings.run import RunSettings
from eowm.training.loop import seed_everything

SCENARIOS = ["shuffled-mnist-2", "cifar10-2"]
VARIANTS = ["eowm:paper", "eowm:literal", "owm:matched"]


def on_meta(value: Any, home: frozenset[str] = frozenset(), name: str = "") -> Any:
    """A method's saved state without its content; `home` names what a method keeps on the host."""
    if isinstance(value, Tensor):
        return value if name in home else value.to("meta")
    if isinstance(value, dict):
        return {key: on_meta(item, home, key) for key, item in value.items()}
    if isinstance(value, list):
        return [on_meta(item, home, name) for item in value]
    return value


def learner(settings: RunSettings, stream: Stream, device: str) -> Method:
    seed_everything(0)
    net = nets.build(settings.net, stream.image_shape, stream.classes).to(device)
    return methods.find(settings.method)(net, settings)


def steps(method: Method, task: Task, size: int, epochs: int) -> Tensor:
    """Three batches in the first epoch and three in the last."""
    for progress in (0.0, (epochs - 1) / epochs):
        for b in range(3):
            x, y = task.train.batch(slice(b * size, (b + 1) * size))
            loss = method.observe(x, y, progress + b * 1e-3)
    return loss


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("row", [*known_methods(), *VARIANTS])
def test_steps_never_read_the_device(row, scenario, resolve):
    settings = resolve(scenario, row)
    size, epochs = settings.training.batch_size, settings.training.epochs
    stream = streams.build(settings, arrays(settings.dataset))
    real = learner(settings, stream, "cpu")
    real.begin_task(stream.task(0))
    steps(real, stream.task(0), size, epochs)
    real.end_task(stream.task(0))
    real.begin_task(stream.task(1))  # once a task, a method may look at the device

    away = learner(settings, stream, "meta")
    away.load_state_dict(on_meta(real.state_dict(), home=frozenset({"tasks", "steps"})))
    later = stream.task(1)
    images, labels = later.train.images.to("meta"), later.train.labels.to("meta")
    split = Split(images, labels, streams._scale(settings.dataset, "meta"))
    assert steps(away, Task(1, later.classes, split), size, epochs).device.type == "meta"
    assert away.predict(split.batch(slice(0, 10))[0]).device.type == "meta"


@pytest.mark.parametrize(
    "fault",
    [lambda loss: loss.item(), lambda loss: bool(loss > 0), lambda loss: loss + torch.ones(1)],
    ids=["item", "if", "mix"],
)
def test_a_step_that_does_is_found(fault, resolve, monkeypatch):
    finetune = methods.find("finetune")
    plain = finetune.objective
    monkeypatch.setattr(finetune, "objective", lambda *batch: plain(*batch) + fault(plain(*batch)))
    with pytest.raises(RuntimeError, match="meta"):
        test_steps_never_read_the_device("finetune", "shuffled-mnist-2", resolve)
