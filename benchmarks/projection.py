"""What projection costs: a step of OWM and EOWM against plain SGD, and against the published form.

    step ratio = time of a step / time of an SGD step on the same network
    overhead   = time of a step − time of an SGD step
    gain       = overhead of the published formulation / our overhead

The published formulation (gradient · P, explicit P·Q, loops of rank-1 updates, float32) is
`eowm.reference.PlainEOWM`.
"""

import argparse
from collections.abc import Callable

import torch
from common import goal, interleaved, network, random_task, show
from rich.table import Table

from eowm import methods
from eowm.config import load_config
from eowm.reference import PlainEOWM

GOALS = {"owm": (1.3, 4.0), "eowm": (1.7, 8.0)}  # largest step ratio, smallest gain


def main() -> None:
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    steps = build_steps(arguments.scenario, arguments.batch)
    for step in steps.values():  # warm up, and fill the lazy factors to their mean length
        step()
    counts = {name: 1 if name.startswith("published") else arguments.steps for name in steps}
    report(arguments, interleaved(steps, arguments.repeats, counts))


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
        task = random_task(settings.dataset)
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


def report(arguments: argparse.Namespace, seconds: dict[str, float]) -> None:
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
            goal(ratio, "≤", largest, "×"),
            f"{published * 1e3:.0f} ms", f"{gain:.1f}×",
            goal(gain, "≥", smallest, "×"),
        )  # fmt: skip
    show(table)


if __name__ == "__main__":
    main()
