"""OWM through its fast forms against the published formulation, written plainly."""

import pytest
import torch
from torch.nn import functional as F

from eowm import methods, nets, reference
from eowm.data import streams
from eowm.projection import geometric
from eowm.training import seed_everything


def batches(stream, count: int, size: int):
    generator = torch.Generator().manual_seed(0)
    train = stream.task(0).train
    for _ in range(count):
        yield train.batch(torch.randint(len(train), (size,), generator=generator))


def plain_owm_step(net, projectors, x, y, settings, velocity, progress) -> None:
    """Gradient · P with P updated vector by vector, momentum and clipping by hand."""
    inputs = {}
    hooks = [
        layer.register_forward_hook(lambda _, a, __, n=name: inputs.update({n: a[0].detach()}))
        for name, layer in nets.layers(net)
    ]
    loss = F.cross_entropy(net(x), y)
    loss = loss + settings.training.norm_penalty * sum(w.norm() for w in net.parameters())
    gradients = torch.autograd.grad(loss, list(net.parameters()))
    for hook in hooks:
        hook.remove()
    projected = {}
    for (name, _), gradient in zip(nets.layers(net), gradients, strict=True):
        alphas = settings.options["alpha"]
        alpha = geometric(alphas.get(name) or alphas[name[:-1]], progress)
        mean = inputs[name].double().mean(0)
        rows = reference.stride_patches(mean, 2, 2) if "conv" in name else mean[None]
        for row in rows:
            projectors[name] = reference.owm_recursion(projectors[name], row, alpha)
        flat = gradient.double().flatten(1) @ projectors[name].T
        projected[name] = flat.view_as(gradient).float()
    if settings.training.clip_norm:
        norm = torch.sqrt(sum((g**2).sum() for g in projected.values()))
        factor = min(1.0, settings.training.clip_norm / (norm.item() + 1e-6))
        projected = {name: g * factor for name, g in projected.items()}
    with torch.no_grad():
        for name, layer in nets.layers(net):
            velocity[name] = settings.training.momentum * velocity.get(name, 0) + projected[name]
            layer.weight -= settings.training.learning_rate * velocity[name]


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [
        ("shuffled-mnist-3", {}),  # gradient side, with the norm penalty
        ("shuffled-mnist-3", {"norm_penalty": 0.0, "batch_size": 10}),  # input side
        ("cifar10-5", {"dropout": 0.0, "batch_size": 10}),  # convolutions, input side, momentum
    ],
)
def test_fast_owm_equals_the_published_formulation(resolve, arrays, scenario, overrides) -> None:
    settings = resolve(scenario, "owm", **overrides)
    stream = streams.build(settings, arrays(settings.dataset))

    def network():
        seed_everything(0)
        return nets.build(settings.net, stream.image_shape, stream.classes)

    plain, method = network(), methods.find("owm")(network(), settings)
    assert bool(method.by_inputs) == ("batch_size" in overrides)
    projectors = {
        name: torch.eye(layer.weight[0].numel(), dtype=torch.float64)
        for name, layer in nets.layers(plain)
    }
    velocity: dict = {}
    method.begin_task(stream.task(0))
    steps = 25
    for i, (x, y) in enumerate(batches(stream, steps, settings.training.batch_size)):
        method.observe(x, y, i / steps)
        plain.train()
        plain_owm_step(plain, projectors, x, y, settings, velocity, i / steps)
    for name, layer in nets.layers(plain):
        fast = dict(nets.layers(method.net))[name].weight
        scale = layer.weight.abs().max()
        assert (fast - layer.weight).abs().max() / scale < 2e-4, name
        assert (method.input_space[name].matrix - projectors[name]).abs().max() < 1e-4, name


def test_p_is_updated_before_the_same_batch_is_projected(resolve, arrays) -> None:
    """The published order: the first step is already damped along the batch's mean input."""
    settings = resolve("shuffled-mnist-3", "owm", norm_penalty=0.0)
    stream = streams.build(settings, arrays("mnist"))

    def network():
        seed_everything(0)
        return nets.build(settings.net, stream.image_shape, stream.classes)

    method, twin = methods.find("owm")(network(), settings), network()
    x, y = next(batches(stream, 1, 100))
    method.begin_task(stream.task(0))
    method.observe(x, y, 0.0)
    F.cross_entropy(twin(x), y).backward()

    mean = x.flatten(1).mean(0)
    damping = 1 / (1 + mean @ mean)  # P x̄ = x̄/(1 + x̄ᵀx̄/α) with α = 1
    step = method.net.fc1.weight - twin.fc1.weight
    expected = -settings.training.learning_rate * damping * (twin.fc1.weight.grad @ mean)
    assert torch.allclose(step @ mean, expected, rtol=1e-3, atol=1e-5)
