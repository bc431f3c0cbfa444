"""What projection costs: a step of OWM and EOWM against plain SGD, and against the published form.

    step ratio = time of a step / time of an SGD step on the same network
    overhead   = time of a step − time of an SGD step
    gain       = overhead of the published formulation / our overhead

The published formulation (gradient · P, explicit P·Q, loops of rank-1 updates, float32) is
`eowm.reference.PlainEOWM`.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from eowm import methods, nets
from eowm.config import load_config
from eowm.data.streams import Split, Task
from eowm.reference import PlainEOWM
from eowm.training import seed_everything

GOALS = {"owm": (1.3, 4.0), "eowm": (1.7, 8.0)}  # largest step ratio, smallest gain


def main() -> None:
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    steps = build_steps(arguments.scenario, arguments.batch)
    for step in steps.values():  # warm up, and fill the lazy factors to their mean length
        step()
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in track(range(arguments.repeats), description="measuring"):
        for name, step in steps.items():
            count = 1 if name.startswith("published") else arguments.steps
            started = time.perf_counter()
            for _ in range(count):
                step()
            seconds[name].append((time.perf_counter() - started) / count)
    show(arguments, {name: statistics.median(times) for name, times in seconds.items()})


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="cifar10-5", help="whose network and settings")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="medians are over these")
    parser.add_argument("--steps", type=int, default=64, help="a whole cycle of lazy updates")
    return parser.parse_args()


def build_steps(scenario: str, batch: int) -> dict[str, Callable[[], object]]:
    """One function a contender; all learn the same batch from the same initial weights."""
    config = load_config()
    steps: dict[str, Callable[[], object]] = {}
    for name in ("finetune", "owm", "eowm"):
        cell = config.cell(f"table2/{scenario}/{name}")
        settings = config.resolve(cell, 0, "paper", {"batch_size": batch})
        task = random_task(settings.dataset, batch)
        x, y = task.train.batch(slice(0, batch))
        method = methods.find(name)(network(settings, task), settings)
        method.begin_task(task)
        steps[name] = lambda method=method, x=x, y=y: method.observe(x, y, 0.5)
        if name != "finetune":
            plain = PlainEOWM(
                network(settings, task),
                settings,
                method.coefficients if name == "eowm" else None,
                getattr(method, "_is_similar", bool),
                torch.float32,
            )
            steps[f"published {name}"] = lambda plain=plain, x=x, y=y: plain.step(x, y, 0.5)
    return steps


def random_task(dataset: str, batch: int) -> Task:
    """Speed does not depend on what is in the images."""
    torch.manual_seed(0)
    shape = (1, 28, 28) if dataset == "mnist" else (3, 32, 32)
    images = torch.randint(256, (max(batch, 1000), *shape), dtype=torch.uint8)
    labels = torch.randint(10, (len(images),))
    return Task(0, tuple(range(10)), Split(images, labels, lambda u: u.float() / 255))


def network(settings, task: Task) -> torch.nn.Module:
    seed_everything(0)
    classes = 100 if settings.dataset == "cifar100" else 10
    return nets.build(settings.net, tuple(task.train.images.shape[1:]), classes)


def show(arguments: argparse.Namespace, seconds: dict[str, float]) -> None:
    sgd = seconds["finetune"]
    table = Table(
        "method", "step", "÷ SGD", "goal", "published step", "overhead gain", "goal", box=None,
        title=f"{arguments.scenario}, batch {arguments.batch}, {arguments.threads} threads, "
        f"median of {arguments.repeats}; SGD step {sgd * 1e3:.1f} ms",
    )  # fmt: skip
    for name, (largest, smallest) in GOALS.items():
        ratio = seconds[name] / sgd
        published = seconds[f"published {name}"]
        gain = (published - sgd) / (seconds[name] - sgd)
        table.add_row(
            name, f"{seconds[name] * 1e3:.1f} ms", f"{ratio:.2f}×",
            f"≤ {largest}× {'met' if ratio <= largest else 'MISSED'}",
            f"{published * 1e3:.0f} ms", f"{gain:.1f}×",
            f"≥ {smallest:g}× {'met' if gain >= smallest else 'MISSED'}",
        )  # fmt: skip
    Console(width=None if Console().is_terminal else 140).print(table)


if __name__ == "__main__":
    main()
