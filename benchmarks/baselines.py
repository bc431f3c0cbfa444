"""EWC's Fisher information, OGD's projection and MIR's scores, against their textbook forms.

Each textbook form computes the same numbers (checked by the tests), one thing at a time.
"""

import copy
from collections.abc import Callable

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
    random_task,
    resolve,
)
from torch import Tensor, nn
from torch.nn import functional as F

from eowm import nets
from eowm.data.streams import Task
from eowm.methods.er_mir.method import ERMIR
from eowm.methods.ewc.method import EWC
from eowm.methods.ogd.method import OGD

FISHER_IMAGES = 5000
OGD_TASKS = 4  # learnt before the measured one


def rows(effort: Effort) -> Rows:
    yield fisher(effort)
    yield ogd_projection(effort)
    yield from ogd_step(effort)
    yield mir_scores(effort)


# --- EWC ------------------------------------------------------------------------------------------


def fisher(effort: Effort) -> Row:
    images, alone = (200, 5) if effort.small else (FISHER_IMAGES, 50)
    method = learner(resolve("ewc", "shuffled-mnist-3", fisher_images=images))
    assert isinstance(method, EWC)
    task = random_task("mnist", images)
    x = task.train.batch(slice(0, alone))[0]
    steps = {"ours": lambda: method.fisher(task), "textbook": lambda: plain_fisher(method.net, x)}
    rounds = interleaved(steps, effort.repeats)
    ours, plain = median(rounds, "ours") / images, median(rounds, "textbook") / alone
    return Row(
        "ewc-fisher", "Fisher information, one image and one label at a time",
        "ours, 784-100-10 and 10 labels",
        **figure(rounds, lambda s: s["textbook"] / alone / (s["ours"] / images)),
        sign="≥", limit=20.0,
        detail=f"an image: {milliseconds(plain)}, ours {milliseconds(ours)} ({images:,} images)",
        reason="the squares of a few large batches are limited by matrix products",
    )  # fmt: skip


def plain_fisher(net: nn.Module, x: Tensor) -> list[Tensor]:
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


# --- OGD ------------------------------------------------------------------------------------------


def ogd_projection(effort: Effort) -> Row:
    method = ogd_after("shuffled-mnist-10", OGD_TASKS, effort)
    basis = explicit_basis(method)
    x, y = random_task("mnist").train.batch(slice(0, method.training.batch_size))
    gradients = batch_gradients(method, x, y)
    inputs = {name: (tap.x, tap.delta) for name, tap in method.taps.items()}
    whole = torch.cat([gradient.flatten() for gradient in gradients.values()])
    steps: dict[str, Callable[[], object]] = {
        "ours": lambda: method.span.project(inputs, gradients),
        "textbook": lambda: project_off(basis, whole),
    }
    rounds = interleaved(steps, effort.repeats, {"ours": 10})
    kept, explicit = kept_bytes(method), basis.numel() * 4
    return Row(
        "ogd-projection", "OGD's projection, one orthonormal gradient vector at a time",
        f"ours, 784-100-10, {len(basis)} gradients kept",
        **figure(rounds, lambda s: s["textbook"] / s["ours"]), sign="≥", limit=5.0,
        detail=f"{milliseconds(median(rounds, 'textbook'))}, ours "
        f"{milliseconds(median(rounds, 'ours'))}; kept: {explicit / 1e6:,.0f} MB, ours "
        f"{kept / 1e6:,.0f} MB",
        reason="both read everything that is kept; ours is smaller, not free",
    )  # fmt: skip


def ogd_after(scenario: str, tasks: int, effort: Effort, **changes: object) -> OGD:
    """OGD that has kept gradients of so many tasks."""
    if effort.small:
        changes |= {"memory": 5, "hidden": (20,), "filters": (4, 4, 4)}
    settings = resolve("ogd", scenario, **changes)
    method = learner(settings, tasks=1)
    assert isinstance(method, OGD)
    for index in range(tasks):
        task: Task = random_task(settings.dataset, 1000, index)
        method._keep(*method.sample(task))
    if tasks:
        method.span.build()
    return method


def explicit_basis(method: OGD) -> Tensor:
    """What the textbook keeps: every gradient whole, orthonormal by Gram-Schmidt; a row each."""
    span = method.span
    parts = [
        (delta[:, :, None] * x[:, None, :]).flatten(1) if name in span.factors else rows
        for name in method.layers
        for x, delta in [span.factors.get(name, (None, None))]
        for rows in [span.explicit.get(name)]
    ]
    return torch.linalg.qr(torch.cat(parts, 1).T).Q.T.contiguous()


def project_off(basis: Tensor, gradient: Tensor) -> Tensor:
    gradient = gradient.clone()
    for direction in basis:
        gradient -= (gradient @ direction) * direction
    return gradient


def batch_gradients(method: OGD, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    method.net.train()
    weights = {name: layer.weight for name, layer in method.layers.items()}
    found = torch.autograd.grad(method.objective(method.net(x), x, y), list(weights.values()))
    return dict(zip(weights, found, strict=True))


def ogd_step(effort: Effort) -> Rows:
    """A whole step on the CIFAR-10 network in its last task."""
    changes = {"batch_size": BATCH}
    ogd = ogd_after("cifar10-5", 4, effort, **changes)
    sgd = ogd_after("cifar10-5", 0, effort, **changes)
    x, y = batch(resolve("ogd", "cifar10-5", **changes))
    steps = {"SGD": lambda: sgd.observe(x, y, 0.5), "OGD": lambda: ogd.observe(x, y, 0.5)}
    rounds = interleaved(steps, effort.repeats, dict.fromkeys(steps, 2))
    weights = sum(weight.numel() for weight in ogd.weights)
    yield Row(
        "ogd-step-cifar10", "OGD step on the CNN of CIFAR-10, in its fifth task", "an SGD step",
        **figure(rounds, lambda s: s["OGD"] / s["SGD"]), sign="≤", limit=4.0,
        detail=f"{milliseconds(median(rounds, 'OGD'))}, SGD {milliseconds(median(rounds, 'SGD'))}; "
        f"kept: {kept_bytes(ogd) / 1e6:,.0f} MB, as whole gradients "
        f"{len(ogd.span) * weights * 4 / 1e6:,.0f} MB",
        reason="the gradients of convolutions are kept whole and read in every step",
    )  # fmt: skip


def kept_bytes(ogd: OGD) -> int:
    tensors = [t for pair in ogd.span.factors.values() for t in pair]
    tensors += ogd.span.explicit.values()
    tensors += [ogd.span.inverse] if ogd.span.inverse is not None else []
    return sum(t.numel() * t.element_size() for t in tensors)


# --- MIR ------------------------------------------------------------------------------------------


def mir_scores(effort: Effort) -> Row:
    method, slots = mir_with_memory()
    steps = {
        "ours": lambda: scores(method, slots),
        "textbook": lambda: plain_scores(method, slots),
        "batch": lambda: plain_scores(method, slots, one_by_one=False),
    }
    rounds = interleaved(steps, effort.repeats, dict.fromkeys(steps, 10))
    return Row(
        "mir-scores", "MIR's scores, from a copied network and one candidate at a time",
        f"ours, 784-100-10, {len(slots)} candidates",
        **figure(rounds, lambda s: s["textbook"] / s["ours"]), sign="≥", limit=2.0,
        detail=f"{milliseconds(median(rounds, 'textbook'))}, ours "
        f"{milliseconds(median(rounds, 'ours'))}, a copied network with all candidates at once "
        f"{milliseconds(median(rounds, 'batch'))}",
        reason="one pass over so few candidates is as short as the copy of the network",
    )  # fmt: skip


def mir_with_memory() -> tuple[ERMIR, Tensor]:
    """ER-MIR in its second task, with a batch's gradient in place, and candidates."""
    settings = resolve("er-mir", "shuffled-mnist-3")
    method = learner(settings, tasks=1)
    assert isinstance(method, ERMIR)
    x, y = random_task("mnist").train.batch(slice(0, 500))
    for images, labels in zip(x.split(10), y.split(10), strict=True):
        method.observe(images, labels, 0.0)
    method.begin_task(random_task("mnist", index=1))
    method.net.train()
    method.optimiser.zero_grad()
    x, y = batch(settings)
    method.objective(method.net(x), x, y).backward()
    return method, method.memory.draw(settings.options["candidates"], before=1)


@torch.no_grad()
def scores(method: ERMIR, slots: Tensor) -> Tensor:
    return method.interference(slots)


@torch.no_grad()
def plain_scores(method: ERMIR, slots: Tensor, one_by_one: bool = True) -> Tensor:
    """Loss after a virtual step of a copied network minus loss before it."""
    virtual = copy.deepcopy(method.net)
    for parameter, original in zip(virtual.parameters(), method.net.parameters(), strict=True):
        if original.grad is not None:
            parameter -= method.training.learning_rate * original.grad
    x, y = method.memory.columns["x"][slots], method.memory.columns["y"][slots]
    virtual.eval()
    method.net.eval()
    found = [
        F.cross_entropy(virtual(image), label, reduction="none")
        - F.cross_entropy(method.net(image), label, reduction="none")
        for image, label in zip(
            x.split(1 if one_by_one else len(x)), y.split(1 if one_by_one else len(y)), strict=True
        )
    ]
    method.net.train()
    return torch.cat(found)
