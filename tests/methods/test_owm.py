"""OWM through its fast forms against the published formulation, written plainly."""

import pytest
import torch
from steps import batches, network
from torch.nn import functional as F

from eowm import nets
from eowm.methods.eowm.plain import PlainEOWM


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [
        ("shuffled-mnist-3", {}),  # gradient side, with the norm penalty
        ("shuffled-mnist-3", {"norm_penalty": 0.0, "batch_size": 10}),  # input side
        ("cifar10-5", {"dropout": 0.0, "batch_size": 10}),  # convolutions, input side, momentum
    ],
)
def test_fast_owm_equals_the_published_formulation(learner, scenario, overrides) -> None:
    method, stream, settings = learner(scenario, "owm", **overrides)
    plain = PlainEOWM(network(settings, stream), settings)
    assert bool(method.by_inputs) == ("batch_size" in overrides)
    method.begin_task(stream.task(0))
    steps = 25
    for i, (x, y) in enumerate(batches(stream, steps, settings.training.batch_size)):
        method.observe(x, y, i / steps)
        plain.step(x, y, i / steps)
    for name, layer in nets.layers(plain.net):
        fast = method.layers[name].weight
        scale = layer.weight.abs().max()
        assert (fast - layer.weight).abs().max() / scale < 2e-4, name
        assert (method.input_space[name].matrix - plain.p[name]).abs().max() < 1e-4, name


def test_p_is_updated_before_the_same_batch_is_projected(learner) -> None:
    """The published order: the first step is already damped along the batch's mean input."""
    method, stream, settings = learner("shuffled-mnist-3", "owm", norm_penalty=0.0)
    twin = network(settings, stream)
    x, y = next(batches(stream, 1, 100))
    method.begin_task(stream.task(0))
    method.observe(x, y, 0.0)
    F.cross_entropy(twin(x), y).backward()

    mean = x.flatten(1).mean(0)
    damping = 1 / (1 + mean @ mean)  # P x̄ = x̄/(1 + x̄ᵀx̄/α) with α = 1
    step = method.net.fc1.weight - twin.fc1.weight
    expected = -settings.training.learning_rate * damping * (twin.fc1.weight.grad @ mean)
    assert torch.allclose(step @ mean, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["owm", "eowm"])
def test_updates_after_project_with_what_was_known_before(learner, name) -> None:
    """The first batch is plain SGD; the second is projected by the mean of the first."""
    changes = {"norm_penalty": 0.0, "updates": "after"}
    method, stream, settings = learner("shuffled-mnist-3", name, **changes)
    twin = network(settings, stream)
    (x, y), (later_x, later_y) = batches(stream, 2, 100)
    method.begin_task(stream.task(0))
    method.observe(x, y, 0.0)
    F.cross_entropy(twin(x), y).backward()
    plain = twin.fc1.weight - settings.training.learning_rate * twin.fc1.weight.grad
    assert torch.allclose(method.net.fc1.weight, plain, atol=1e-6)

    before, mean = method.net.fc1.weight.detach().clone(), x.flatten(1).mean(0)
    p = method.input_space["fc1"].matrix.clone()
    method.observe(later_x, later_y, 0.0)
    step = method.net.fc1.weight.detach() - before
    assert torch.allclose(p @ mean.double(), mean.double() / (1 + mean.double() @ mean.double()))
    full = torch.linalg.solve(p.float().T, step.T).T  # the step before it was projected
    assert (step @ mean).norm() < 0.1 * (full @ mean).norm()


def test_matched_owm_scales_the_step_by_c1(learner) -> None:
    steps = []
    for row in ("owm:matched", "owm"):
        method, stream, _ = learner("shuffled-mnist-3", row, norm_penalty=0.0)
        x, y = next(batches(stream, 1, 100))
        method.begin_task(stream.task(0))
        before = method.net.fc1.weight.detach().clone()
        method.observe(x, y, 0.5)
        steps.append(method.net.fc1.weight.detach() - before)
    assert torch.allclose(steps[0], steps[1] * 0.99**0.5, atol=1e-6)  # s = 0: c1 = r^p
