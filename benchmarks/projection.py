"""What projection costs: a step of OWM and EOWM against plain SGD, and against the published form.

    step ratio = time of a step / time of an SGD step on the same network
    overhead   = time of a step − time of an SGD step
    gain       = overhead of the published formulation / our overhead

The published formulation (gradient · P, explicit P·Q, loops of rank-1 updates, float32) is
`eowm.methods.eowm.plain.PlainEOWM`. Our factors K of P = P₀ − K Kᵀ are timed at their mean length,
and once in a whole cycle of `CYCLE` steps they are multiplied out: that step is timed too, and
spread over the cycle.
"""

from collections.abc import Callable

import torch
from common import (
    BATCH,
    Effort,
    Row,
    Rows,
    Seconds,
    batch,
    figure,
    interleaved,
    learner,
    median,
    milliseconds,
    network,
    network_flops,
    peak,
    product,
    random_task,
    resolve,
)
from torch import nn

from eowm.algebra.projection import Projector
from eowm.methods.eowm.plain import PlainEOWM
from eowm.methods.owm.method import OWM
from eowm.settings.run import RunSettings

CYCLE = 64  # columns of K
GOALS = {"owm": (1.3, 4.0), "eowm": (1.7, 8.0)}  # largest step ratio, smallest gain
NETWORKS = {  # scenario: its name, how it is told, steps timed in a round, of the published form
    "shuffled-mnist-3": ("mlp", "the 784-100-10 MLP", 40, 10),
    "cifar10-5": ("cifar10", "the CNN of CIFAR-10", 3, 1),
    "cifar100-5": ("cifar100", "the CNN of CIFAR-100", 1, 1),
}


def rows(effort: Effort) -> Rows:
    for scenario in NETWORKS:
        yield from network_rows(scenario, effort)


def network_rows(scenario: str, effort: Effort) -> Rows:
    name, title, count, published_count = NETWORKS[scenario]
    small = {"hidden": (20,), "filters": (4, 4, 4)} if effort.small else {}
    settings = {m: resolve(m, scenario, batch_size=BATCH, **small) for m in ("finetune", *GOALS)}
    x, y = batch(settings["finetune"])
    steps: dict[str, Callable[[], object]] = {"product": product()}
    before: dict[str, Callable[[], object]] = {}
    flops: dict[str, int] = {}
    counts = dict.fromkeys(settings, count)
    for method_name, its in settings.items():
        method = learner(its)
        steps[method_name] = lambda method=method: method.observe(x, y, 0.5)
        if not isinstance(method, OWM):
            flops[method_name] = network_flops(method.net, x)
            continue
        flops[method_name] = flops["finetune"] + projection_flops(method)
        full = f"{method_name}, multiplied out"
        steps[full] = steps[method_name]
        before[method_name] = lambda method=method: fill(method, (CYCLE - count) // 2)
        before[full] = lambda method=method: fill(method, CYCLE)
        plain = published(its, method)
        theirs = f"published {method_name}"
        steps[theirs] = lambda plain=plain: plain.step(x, y, 0.5)
        counts[theirs] = published_count
        flops[theirs] = published_flops(method)
    repeats = effort.repeats * (3 if name == "mlp" else 1)  # short steps are disturbed easily
    rounds = interleaved(steps, repeats, counts, before)
    for method_name, (largest, smallest) in GOALS.items():
        ours = step_time(method_name)
        rate = peak(median(rounds, "product"))
        sgd, own = median(rounds, "finetune"), figure(rounds, ours)["value"]
        theirs = median(rounds, f"published {method_name}")
        times = (
            f"SGD {milliseconds(sgd)}, {method_name.upper()} {milliseconds(own)}, "
            f"published {milliseconds(theirs)}"
        )
        arithmetic = flops[method_name] - flops["finetune"]
        counted = (
            f"an SGD step has {flops['finetune'] / 1e6:,.0f} Mflop and the projection "
            f"{arithmetic / 1e6:,.0f}, which take {milliseconds(arithmetic / rate)} at the "
            f"machine's peak: by arithmetic alone {flops[method_name] / flops['finetune']:.1f}×"
        )
        yield Row(
            f"{method_name}-step-{name}", f"{method_name.upper()} step on {title}", "an SGD step",
            **figure(rounds, lambda s, ours=ours: ours(s) / s["finetune"]),
            sign="≤", limit=largest, detail=times, reason=counted,
        )  # fmt: skip
        yield Row(
            f"{method_name}-overhead-{name}", "the published formulation's overhead over SGD",
            f"ours, {method_name.upper()} on {title}",
            **figure(rounds, gain(method_name, ours)),
            sign="≥", limit=smallest, detail=times,
            reason=f"by arithmetic alone {flops[f'published {method_name}'] / arithmetic:.1f}×: "
            f"{arithmetic / 1e6:,.0f} Mflop against {flops[f'published {method_name}'] / 1e6:,.0f}",
        )  # fmt: skip


def step_time(method: str) -> Callable[[Seconds], float]:
    """A step of a whole cycle, of which one multiplies out."""
    return lambda s: (s[method] * (CYCLE - 1) + s[f"{method}, multiplied out"]) / CYCLE


def gain(method: str, ours: Callable[[Seconds], float]) -> Callable[[Seconds], float]:
    return lambda s: (s[f"published {method}"] - s["finetune"]) / (ours(s) - s["finetune"])


def published(settings: RunSettings, method: OWM) -> PlainEOWM:
    net = network(settings, random_task(settings.dataset))
    coefficients = method.coefficients if settings.method == "eowm" else None
    similar = getattr(method, "_is_similar", bool)
    return PlainEOWM(net, settings, coefficients, similar, torch.float32)


def fill(method: OWM, columns: int) -> None:
    """Let K of the linear layers hold so many columns of zeros, which change nothing but time.
    Convolutions add many columns a step and multiply out all the time."""
    for space in (method.input_space, getattr(method, "weight_space", {})):
        for name, projector in space.items():
            if isinstance(method.layers[name], nn.Linear):
                projector.base.addmm_(*settled(projector), alpha=-1)
                projector.factor.zero_()
                projector.used, projector._base32 = columns, projector.base.to(torch.float32)


def settled(projector: Projector) -> tuple[torch.Tensor, torch.Tensor]:
    pending = projector.factor[:, : projector.used]
    return pending, pending.T


def projection_flops(method: OWM) -> int:
    """Operations of a step that SGD has not: rows through P (and Q_ort), and their update."""
    total = 0
    for name, layer in method.layers.items():
        outputs, size = layer.weight.flatten(1).shape
        passed = method.training.batch_size if name in method.by_inputs else outputs
        for learnt in learnt_rows(method, name):
            through = 2 * passed * size**2 + 4 * passed * size * (CYCLE // 2)
            total += through + 4 * min(learnt, size) * size**2
    return total


def published_flops(method: OWM) -> int:
    """The same of the published form: gradient · P, P·Q, and three passes over P for each row."""
    total = 0
    for name, layer in method.layers.items():
        outputs, size = layer.weight.flatten(1).shape
        spaces = learnt_rows(method, name)
        total += 2 * outputs * size**2 + (len(spaces) - 1) * 2 * size**3
        total += sum(6 * learnt * size**2 for learnt in spaces)
    return total


def learnt_rows(method: OWM, name: str) -> list[int]:
    """Rows that P, and for EOWM Q_ort, learn from a batch."""
    layer, eowm = method.layers[name], hasattr(method, "weight_space")
    if isinstance(layer, nn.Linear):
        return [1, 1] if eowm else [1]
    if not hasattr(method.taps[name], "x"):
        method.predict(torch.zeros(1, 3, 32, 32))
    patches = len(method.input_rows(layer, method.taps[name].x))
    return [patches, layer.out_channels] if eowm else [patches]
