"""Images a second through the training loop: fine-tuning on shuffled MNIST, 784-100-10.

Against a bare loop over tensors with the same arithmetic, and against Avalanche's `Naive` strategy
with its default loader: on the library's own PermutedMNIST, and fed from tensors in memory, scaled
beforehand, the form that suits it best. Each learns one epoch of one task, in turns. Evaluation,
checkpoints and progress are off the clock.
"""

import struct
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from common import Effort, Row, Rows, figure, median, network_flops, peak, product, resolve
from costs import random_arrays
from torch import Tensor
from torch.nn import functional as F

from eowm import methods, nets
from eowm.data import streams, torchvision_shim
from eowm.data.streams import Split, Stream
from eowm.settings.run import Limits, RunSettings
from eowm.training.loop import Loop, seed_everything
from eowm.training.progress import Reporter

IMAGES = 20_000  # an epoch, of MNIST's 60,000: short turns, many of them
INSTALL = "not installed; benchmarks/README.md tells how to install avalanche-lib"


def rows(effort: Effort) -> Rows:
    settings = resolve("finetune", "shuffled-mnist-3", epochs=1)
    limits = Limits(
        train_images=1000 if effort.small else IMAGES, validation_images=100, test_images=100
    )
    settings = settings.model_copy(update={"limits": limits})
    stream = streams.build(settings, random_arrays("mnist"))
    contenders = {
        "ours": lambda: ours(settings, stream),
        "bare": lambda: bare(settings, stream),
        **avalanche(settings, stream),
    }
    rounds = [  # each contender times itself, so that only training counts
        {name: epoch() for name, epoch in contenders.items()} for _ in range(3 * effort.repeats + 1)
    ][1:]
    images = len(stream.task(0).train)
    speeds = ", ".join(f"{name} {images / median(rounds, name):,.0f}" for name in contenders)
    detail = f"images/s: {speeds}; all arithmetic at peak: {limit(settings, stream):,.0f}"
    what = "MLP training, the project's loop"
    yield Row(
        "loop-bare", what, "a bare loop of tensors",
        **figure(rounds, lambda s: s["bare"] / s["ours"]), sign="≥", limit=0.8, detail=detail,
        reason="a step is so short that the Python of the loop and its optimiser shows",
    )  # fmt: skip
    for name, against, contender, goal in (
        ("loop-avalanche", "Avalanche, Naive on its PermutedMNIST", "Avalanche",
         {"sign": "≥", "limit": 10.0}),
        ("loop-avalanche-tensors", "Avalanche, Naive on tensors in memory", "from tensors", {}),
    ):  # fmt: skip
        if contender in contenders:
            ratio = figure(rounds, lambda s, c=contender: s[c] / s["ours"])
            bound = figure(rounds, lambda s, c=contender: s[c] / s["bare"])["value"]
            reason = f"the bare loop, little more than its arithmetic, reaches {bound:.1f}×"
        else:
            ratio, reason = {"value": None}, INSTALL
        yield Row(name, what, against, **ratio, **goal, reason=reason)


def build(settings: RunSettings, stream: Stream) -> torch.nn.Module:
    seed_everything(0)
    return nets.build(settings.net, stream.image_shape, stream.classes)


def ours(settings: RunSettings, stream: Stream) -> float:
    method = methods.find("finetune")(build(settings, stream), settings)
    reporter = Reporter("", settings.tasks, 1, quiet=True)
    return Loop(method, stream, settings, reporter, first_tasks=1).run().train_seconds


def bare(settings: RunSettings, stream: Stream) -> float:
    """What one would write for this network alone, on the same uint8 images."""
    net, train, training = build(settings, stream), stream.task(0).train, settings.training
    first, last, bias = net.fc1.weight, net.fc2.weight, net.bias1
    started = time.perf_counter()
    for index in torch.randperm(len(train)).split(training.batch_size):
        x = train.images.index_select(0, index).flatten(1).float().div_(255)
        logits = F.relu(x @ first.T + bias) @ last.T
        loss = F.cross_entropy(logits, train.labels[index])
        loss = loss + training.norm_penalty * (first.norm() + last.norm())
        gradients = torch.autograd.grad(loss, (first, last))
        with torch.no_grad():
            for weight, gradient in zip((first, last), gradients, strict=True):
                weight.sub_(gradient, alpha=training.learning_rate)
    return time.perf_counter() - started


def avalanche(settings: RunSettings, stream: Stream) -> dict[str, Callable[[], float]]:
    """Epochs of Avalanche's plain fine-tuning, by the data it is fed; none if not installed."""
    torchvision_shim.datasets()  # Avalanche imports torchvision
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it finds no QP solver, and needs none here
            from avalanche.benchmarks import benchmark_from_datasets
            from avalanche.benchmarks.classic import PermutedMNIST
            from avalanche.benchmarks.utils import as_classification_dataset
    except ImportError:
        return {}
    train = stream.task(0).train
    tensors = torch.utils.data.TensorDataset(*train.batch(slice(None)))
    tensors.targets = train.labels.tolist()
    in_memory = benchmark_from_datasets(train=[as_classification_dataset(tensors)])
    with tempfile.TemporaryDirectory() as folder:
        write_mnist(Path(folder) / "MNIST" / "raw", train)
        permuted = PermutedMNIST(1, dataset_root=folder)
    sources = {"Avalanche": permuted, "from tensors": in_memory}
    return {
        name: lambda source=source: naive(settings, stream, source.train_stream[0])
        for name, source in sources.items()
    }


def naive(settings: RunSettings, stream: Stream, experience: object) -> float:
    """One epoch with the default loader, and neither metrics nor logs."""
    from avalanche.training.plugins import EvaluationPlugin
    from avalanche.training.supervised import Naive

    net, training = build(settings, stream), settings.training
    weights = [layer.weight for _, layer in nets.layers(net)]

    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        norms = sum(weight.norm() for weight in weights)
        return F.cross_entropy(logits, labels) + training.norm_penalty * norms

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no loggers: as wanted
        evaluator = EvaluationPlugin()
    strategy = Naive(
        model=net,
        optimizer=torch.optim.SGD(net.parameters(), lr=training.learning_rate),
        criterion=loss,
        train_mb_size=training.batch_size,
        train_epochs=1,
        evaluator=evaluator,
    )
    started = time.perf_counter()
    strategy.train(experience)
    return time.perf_counter() - started


def write_mnist(folder: Path, split: Split) -> None:
    """The four files of MNIST with other images; the test images are not used."""
    folder.mkdir(parents=True)
    for part, count in {"train": len(split), "t10k": 1000}.items():
        images, labels = split.images[:count], split.labels[:count].to(torch.uint8)
        for name, head, values in (
            (f"{part}-images-idx3-ubyte", (2051, count, 28, 28), images),
            (f"{part}-labels-idx1-ubyte", (2049, count), labels),
        ):
            header = struct.pack(f">{len(head)}I", *head)
            (folder / name).write_bytes(header + values.numpy().tobytes())


def limit(settings: RunSettings, stream: Stream) -> float:
    """Images a second if all arithmetic ran at the machine's peak."""
    x, _ = stream.task(0).train.batch(slice(0, settings.training.batch_size))
    multiply = product()
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        multiply()
        seconds.append(time.perf_counter() - started)
    flops_an_image = network_flops(build(settings, stream), x) / len(x)
    return peak(min(seconds)) / flops_an_image
