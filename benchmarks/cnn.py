"""How near a step of SGD on the CIFAR networks comes to the machine's peak, and what was tried.

The arithmetic of its convolutions and linear layers is counted, and divided by the time of a step
and by the rate of a float32 matrix product timed beside it. Below it a ladder of variants, each
with all changes before it. The first and the last draw other masks of dropout; those between give
the same numbers up to rounding.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass

import torch
from common import (
    BATCH,
    Effort,
    Row,
    Rows,
    batch,
    figure,
    interleaved,
    learner,
    median,
    milliseconds,
    network_flops,
    peak,
    processors,
    product,
    resolve,
)
from torch import Tensor
from torch.nn import functional as F

from eowm.nets.classifier import CNN

NETWORKS = {"cifar10-5": "CIFAR-10", "cifar100-5": "CIFAR-100"}


@dataclass(frozen=True)
class Variant:
    cheap_masks: bool = False  # four elements of dropout's mask from one random number
    pool_first: bool = False  # ReLU sees a quarter of the elements
    channels_last: bool = False
    mask_in_place: bool = False  # dropped is 0, where ReLU passes no gradient; scaled last
    only_pooled: bool = False  # neither convolve nor draw what the pooling never reads
    threads: int | None = None


LADDER = {
    "textbook": Variant(),
    "cheap dropout masks": Variant(True),
    "pooling before ReLU": Variant(True, True),
    "channels last": Variant(True, True, True),
    "mask in place": Variant(True, True, True, True),
    "only what is pooled": Variant(True, True, True, True, True),
}


def rows(effort: Effort) -> Rows:
    for scenario, title in NETWORKS.items():
        yield from network_rows(scenario, title, effort)


def network_rows(scenario: str, title: str, effort: Effort) -> Rows:
    small = {"hidden": (20,), "filters": (4, 4, 4)} if effort.small else {}
    settings = resolve("finetune", scenario, batch_size=BATCH, **small)
    x, y = batch(settings)

    def step_of(variant: Variant | None) -> Callable[[], object]:
        method = learner(settings)
        if variant:
            method.net.linear_inputs = types.MethodType(forward(variant), method.net)
        return lambda: method.observe(x, y, 0.5)

    steps = {"product": product(), "ours": step_of(None)}
    steps |= {name: step_of(variant) for name, variant in LADDER.items()}
    cores = processors()
    steps["all cores"] = on_threads(cores, step_of(None), effort.threads)
    rounds = interleaved(steps, effort.repeats)
    flops = network_flops(learner(settings).net, x)
    rate = peak(median(rounds, "product"))
    key = scenario.partition("-")[0]
    yield Row(
        f"cnn-peak-{key}", f"SGD step on the CNN of {title}: its arithmetic a second",
        "a float32 matrix product",
        **figure(rounds, lambda s: flops / s["ours"] / peak(s["product"])),
        sign="≥", limit=0.4,
        detail=f"{flops / 1e9:.2f} Gflop in {milliseconds(median(rounds, 'ours'))}; "
        f"peak {rate / 1e9:.0f} Gflop/s",
        reason="the rest is memory traffic: padding, dropout, pooling and ReLU touch every element",
    )  # fmt: skip
    for name in LADDER:
        yield Row(
            f"cnn-tried-{key}-{name.replace(' ', '-').replace(',', '')}",
            f"tried on the CNN of {title}: {name}", "the project's step",
            **figure(rounds, lambda s, name=name: s[name] / s["ours"]),
            detail=f"{milliseconds(median(rounds, name))} a step",
        )  # fmt: skip
    yield Row(
        f"cnn-tried-{key}-threads", f"tried on the CNN of {title}: {cores} threads a run",
        f"{effort.threads} (cores are shared by runs)",
        **figure(rounds, lambda s: s["all cores"] / s["ours"]),
        detail=f"{milliseconds(median(rounds, 'all cores'))} a step; below "
        f"{effort.threads / cores:.2f}× a run with all cores would be better than runs beside "
        "each other",
    )  # fmt: skip


def on_threads(count: int, step: Callable[[], object], otherwise: int) -> Callable[[], object]:
    def run() -> None:
        torch.set_num_threads(count)
        step()
        torch.set_num_threads(otherwise)

    return run


def forward(variant: Variant) -> Callable[[CNN, Tensor], list[Tensor]]:
    """`CNN.linear_inputs`, step by step from the published order of its parts."""

    def linear_inputs(net: CNN, x: Tensor) -> list[Tensor]:
        if variant.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        for i in range(1, net.blocks + 1):
            last = 0 if variant.only_pooled else 1
            x = getattr(net, f"conv{i}")(F.pad(x, (1, last, 1, last), mode="replicate"))
            if not variant.pool_first:
                x = F.relu(x)
            x, scale = drop(x, net.dropout, variant)
            x = F.max_pool2d(x, 2)
            x = (F.relu(x) if variant.pool_first else x) * scale
        seen = [x.flatten(1)]
        for i in range(1, net.depth + 1):
            seen.append(F.relu(getattr(net, f"fc{i}")(seen[-1])))
        return seen

    return linear_inputs


def drop(x: Tensor, rate: float, variant: Variant) -> tuple[Tensor, float]:
    """Dropout, and what its result has still to be multiplied by."""
    if not variant.cheap_masks:
        return F.dropout(x, rate), 1.0
    dropped = round(rate * 2**16)
    scale = 2**16 / (2**16 - dropped)
    words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    kept = words.view(torch.int16)[: x.numel()] >= dropped - 2**15
    if variant.only_pooled:  # drawn in the order of the elements in memory
        kept = kept.view(x.permute(0, 2, 3, 1).shape).permute(0, 3, 1, 2)
    else:
        kept = kept.view(x.shape)
    if variant.channels_last:
        kept = kept.contiguous(memory_format=torch.channels_last)
    mask = kept.to(x.dtype)
    if not variant.mask_in_place:
        return x * mask.mul_(scale), 1.0
    with torch.no_grad():
        x.mul_(mask)
    return x, scale
