"""What EWC's Fisher information and OGD's projection cost.

Fisher: all images of MNIST, every label, by the closed form of `eowm.methods.ewc`, against the
definition: one image and one label at a time (timed on some images, given per image).
OGD: a step on the CIFAR-10 network after each task, against a step of SGD; the memory of what is
kept, against whole gradient vectors, and the peak of the process.
"""

import argparse
import resource
import sys
import time

import torch
from common import goal, interleaved, network, random_task, show
from rich.progress import track
from rich.table import Table

from eowm import methods, nets
from eowm.config import load_config
from eowm.methods.base import Method
from eowm.methods.ewc import EWC
from eowm.methods.ogd import OGD


def main() -> None:
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    fisher(arguments)
    projection(arguments)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=60_000, help="for the Fisher information")
    parser.add_argument("--single", type=int, default=100, help="of these one at a time")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=5)
    parser.add_argument("--memory", type=int, default=100, help="gradients OGD keeps of a task")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5, help="medians are over these")
    return parser.parse_args()


def make(name: str, scenario: str, images: int, **overrides: object) -> tuple[Method, object]:
    config = load_config()
    settings = config.resolve(config.cell(f"table2/{scenario}/{name}"), 0, "paper", overrides)
    task = random_task(settings.dataset, images)
    method = methods.find(name)(network(settings, task), settings)
    method.begin_task(task)
    return method, task


def fisher(arguments: argparse.Namespace) -> None:
    method, task = make("ewc", "shuffled-mnist-10", arguments.images,
                        fisher_images=arguments.images)  # fmt: skip
    assert isinstance(method, EWC)
    started = time.perf_counter()
    method.fisher(task)
    closed = (time.perf_counter() - started) / arguments.images
    x, _ = task.train.batch(slice(0, arguments.single))
    started = time.perf_counter()
    one_at_a_time(method.net, x)
    looped = (time.perf_counter() - started) / arguments.single
    table = Table(
        "Fisher information", "an image", "gain", "goal", box=None,
        title=f"784-100-10, 10 labels, {arguments.images:,} images, {arguments.threads} threads",
    )  # fmt: skip
    table.add_row("closed form", f"{closed * 1e3:.2f} ms", f"{looped / closed:.0f}×",
                  goal(looped / closed, "≥", 20, "×"))  # fmt: skip
    table.add_row("one image, one label at a time", f"{looped * 1e3:.2f} ms", "1×", "")
    show(table)


def one_at_a_time(net: torch.nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """The definition: Σ over images and labels of p(y|x) (∂ log p(y|x)/∂W)²."""
    weights = [layer.weight for _, layer in nets.layers(net)]
    total = [torch.zeros_like(weight) for weight in weights]
    for image in x:
        log_p = net(image[None]).log_softmax(1)[0]
        for value in log_p:
            gradients = torch.autograd.grad(value, weights, retain_graph=True)
            for sum_, gradient in zip(total, gradients, strict=True):
                sum_ += value.detach().exp() * gradient.square()
    return total


def projection(arguments: argparse.Namespace) -> None:
    changes = {"batch_size": arguments.batch, "memory": arguments.memory}
    ogd, task = make("ogd", "cifar10-5", 1000, **changes)
    sgd, _ = make("ogd", "cifar10-5", 1000, **changes | {"memory": 0})
    assert isinstance(ogd, OGD)
    x, y = task.train.batch(slice(0, arguments.batch))
    steps = {"SGD": lambda: sgd.observe(x, y, 0.5), "OGD": lambda: ogd.observe(x, y, 0.5)}
    size = sum(weight.numel() for weight in ogd.weights)
    table = Table(
        "task", "gradients kept", "SGD step", "OGD step", "÷ SGD", "goal", "factored", "explicit",
        box=None,
        title=f"OGD on the CIFAR-10 network ({size:,} weights), batch {arguments.batch}, "
        f"{arguments.threads} threads, median of {arguments.repeats}",
    )  # fmt: skip
    for number in track(range(1, arguments.tasks + 1), description="OGD, task by task"):
        for step in steps.values():
            step()
        seconds = interleaved(steps, arguments.repeats, dict.fromkeys(steps, 2))
        ratio = seconds["OGD"] / seconds["SGD"]
        last = number == arguments.tasks
        limit = goal(ratio, "≤", 4, "×") if last else ""
        table.add_row(
            str(number), str(len(ogd.span)), f"{seconds['SGD'] * 1e3:.0f} ms",
            f"{seconds['OGD'] * 1e3:.0f} ms", f"{ratio:.2f}×", limit,
            f"{kept_bytes(ogd) / 1e6:,.0f} MB", f"{len(ogd.span) * size * 4 / 1e6:,.0f} MB",
        )  # fmt: skip
        if not last:
            ogd.end_task(task)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    table.caption = (
        f"peak memory of the process {peak / 1e9:.2f} GB, {goal(peak / 1e9, '≤', 3, ' GB')}"
    )
    show(table)


def kept_bytes(ogd: OGD) -> int:
    tensors = [t for pair in ogd.span.factors.values() for t in pair]
    tensors += ogd.span.explicit.values()
    tensors += [ogd.span.inverse] if ogd.span.inverse is not None else []
    return sum(t.numel() * t.element_size() for t in tensors)


if __name__ == "__main__":
    main()
