"""How the time of a step grows: with the tasks learnt, for every method, and with the network's
width, for OWM and EOWM. Slopes of log time over log size, beside what theory says.

Shuffled MNIST, 784-100-10, the settings of the paper but for two that only make the preparation
shorter. A method learns a few batches of each task; what it then knows goes by `state_dict` into a
copy for each number of tasks, and the copies take their steps in turns.
"""

import copy
import math

import torch
from common import (
    Effort,
    Rounds,
    Row,
    Rows,
    batch,
    figure,
    interleaved,
    learner,
    median,
    milliseconds,
    network_flops,
    random_task,
    resolve,
)
from projection import projection_flops

from eowm.analysis import style
from eowm.methods.base import Method
from eowm.methods.owm.method import OWM
from eowm.settings.config import load_config
from eowm.settings.run import RunSettings

TASKS = (3, 5, 10, 20)
WIDTHS = (100, 200, 400, 800)
BATCHES = 2  # learnt from each task
STEPS = {"pgma": 3, "ae-mir": 3}  # timed in a round; 20 of the others
SHORTER = {"ogd": {"memory": 100}, "pgma": {"replay_bank": 1000}}
FLAT = 0.1  # the largest slope that counts as none
THEORY = {  # exponent of the tasks in the time of a step
    "finetune": "0",
    "owm": "0, P has the size of a layer's input, whatever it knows",
    "eowm": "0, so has Q",
    "ewc": "0, all tasks in one quadratic",
    "pgma": "0, a replay batch of fixed size",
    "er-mir": "0, a memory of fixed size",
    "ae-mir": "0, a memory of fixed size",
    "ogd": "1 to 2 for its projection: every kept gradient is read, and K⁺ with their square",
    "ogd-plus": "1 to 2 for its projection, as OGD",
}


def rows(effort: Effort) -> Rows:
    tasks = TASKS[:2] if effort.small else TASKS
    for name in THEORY:
        yield by_tasks(name, tasks, effort)
    for name in ("owm", "eowm"):
        yield by_width(name, WIDTHS[:2] if effort.small else WIDTHS, effort)


def title(name: str) -> str:
    return style.title(load_config(), name)


# --- tasks ----------------------------------------------------------------------------------------


def by_tasks(name: str, tasks: tuple[int, ...], effort: Effort) -> Row:
    settings = resolve(name, "shuffled-mnist-20", **SHORTER.get(name, {}))
    x, y = batch(settings)
    steps = {
        str(count): lambda method=method: method.observe(x, y, 0.9)
        for count, method in after(settings, tasks).items()
    }
    plain = resolve("finetune", "shuffled-mnist-20", batch_size=len(y), norm_penalty=0.0)
    sgd = learner(plain)
    steps["SGD"] = lambda: sgd.observe(x, y, 0.9)
    counts = dict.fromkeys(steps, STEPS.get(name, 20))
    rounds = interleaved(steps, 2 * effort.repeats, counts)
    times = ", ".join(f"{count}: {milliseconds(median(rounds, str(count)))}" for count in tasks)
    flat = THEORY[name].startswith("0")
    grows = {str(count): count for count in tasks}
    overhead = (
        "" if flat else f"; slope of the projection alone: {overhead_slope(rounds, grows):.2f}"
    )
    return Row(
        f"tasks-{name}", f"{title(name)} step time, exponent of the number of tasks",
        f"theory: {THEORY[name]}",
        **figure(rounds, lambda s: slope(grows, s)), unit="",
        **({"sign": "≤", "limit": FLAT} if flat else {}),
        detail=f"after so many tasks, {times}{overhead}",
        series={count: median(rounds, count) for count in grows},
        reason="a step grows with the tasks where theory says it should not",
    )  # fmt: skip


def after(settings: RunSettings, tasks: tuple[int, ...]) -> dict[int, Method]:
    """The method as it is in the task after so many, for each of `tasks`."""
    method = learner(settings, tasks=0)
    size = settings.training.batch_size
    found = {}
    for index in range(max(tasks) + 1):
        task = random_task(settings.dataset, max(1000, BATCHES * size), index)
        method.begin_task(task)
        for number in range(BATCHES):
            for progress in (0.0, 0.99):  # memories fill in the first epoch, or in the last
                x, y = task.train.batch(slice(number * size, (number + 1) * size))
                method.observe(x, y, progress)
        if index in tasks:
            found[index] = twin(method, settings)
        method.end_task(task)
    return found


def twin(method: Method, settings: RunSettings) -> Method:
    other = learner(settings, tasks=0)
    other.load_state_dict(copy.deepcopy(method.state_dict()))
    return other


# --- width ----------------------------------------------------------------------------------------


def by_width(name: str, widths: tuple[int, ...], effort: Effort) -> Row:
    x, y = batch(resolve(name, "shuffled-mnist-3"))
    steps, flops = {}, {}
    for width in widths:
        method = learner(resolve(name, "shuffled-mnist-3", hidden=(width,)))
        assert isinstance(method, OWM)
        steps[str(width)] = lambda method=method: method.observe(x, y, 0.5)
        flops[str(width)] = float(network_flops(method.net, x) + projection_flops(method))
    rounds = interleaved(steps, 2 * effort.repeats, dict.fromkeys(steps, 20))
    grows = {str(width): width for width in widths}
    times = ", ".join(f"{width}: {milliseconds(median(rounds, str(width)))}" for width in widths)
    theory = slope(grows, flops)
    return Row(
        f"width-{name}", f"{title(name)} step time, exponent of the hidden layer's width",
        f"theory: {theory:.2f}, of its arithmetic",
        **figure(rounds, lambda s: slope(grows, s)), unit="", sign="≤", limit=theory + FLAT,
        detail=f"784-width-10, {times}", series={w: median(rounds, w) for w in grows},
        reason="what is not arithmetic grows faster than it",
    )  # fmt: skip


def slope(sizes: dict[str, int], values: dict[str, float]) -> float:
    """Least squares on logarithms."""
    x = torch.tensor([math.log(size) for size in sizes.values()])
    y = torch.tensor([math.log(values[name]) for name in sizes])
    x = x - x.mean()
    return float((x @ y) / (x @ x))


def overhead_slope(rounds: Rounds, sizes: dict[str, int]) -> float:
    sgd = median(rounds, "SGD")
    return slope(sizes, {name: max(median(rounds, name) - sgd, 1e-9) for name in sizes})
