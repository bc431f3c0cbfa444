"""OGD and OGD+: the factored kernel form against explicit gradients and QR."""

import pytest
import torch
from steps import batches, learn, network

from eowm import nets
from eowm.algebra.projection import GradientSpan
from eowm.errors import ConfigError
from eowm.methods.ogd import method as ogd

SHUFFLED = "shuffled-mnist-3"


def explicit_gradients(net, x, y) -> torch.Tensor:
    """The gradient of each label's logit as a |θ|-sized row, by autograd."""
    net.eval()
    weights = [layer.weight for _, layer in nets.layers(net)]
    rows = []
    for image, label in zip(x, y, strict=True):
        gradients = torch.autograd.grad(net(image[None])[0, label], weights)
        rows.append(torch.cat([g.flatten() for g in gradients]))
    return torch.stack(rows).double()


def batch_gradients(method, stream, task: int):
    """The gradient of a batch's loss by layer, and the factors it is made of."""
    x, y = stream.task(task).train.batch(slice(20, 50))
    method.net.eval()
    method.net.zero_grad()
    torch.nn.functional.cross_entropy(method.net(x), y).backward()
    gradients = {name: layer.weight.grad for name, layer in method.layers.items()}
    return {name: (tap.x, tap.delta) for name, tap in method.taps.items()}, gradients


def flatten(gradients) -> torch.Tensor:
    return torch.cat([g.flatten() for g in gradients.values()]).double()


@pytest.mark.parametrize("scenario", [SHUFFLED, "cifar10-5"])
def test_kernel_form_equals_qr_on_explicit_gradients(learner, scenario) -> None:
    images = 15
    method, stream, _ = learner(scenario, "ogd", memory=images)
    x, y = stream.task(0).train.batch(slice(0, images))
    method._keep(x, y)
    method.span.build()
    batch, gradients = batch_gradients(method, stream, 1)
    ours = flatten(method.span.project(batch, gradients))

    rows = explicit_gradients(method.net, x, y)
    basis, triangle = torch.linalg.qr(rows.T)
    independent = triangle.diagonal().abs() > 1e-4 * triangle.diagonal().abs().max()
    assert independent.all()
    g = flatten(gradients)
    expected = g - basis @ (basis.T @ g)
    assert (ours - expected).norm() / expected.norm() < 1e-5
    assert (basis.T @ ours).abs().max() / g.norm() < 1e-6  # Vᵀg̃ = 0


def test_parallel_gradients_do_no_harm() -> None:
    """The same image twice: K is singular, the span is not."""
    span, x, delta = GradientSpan(), torch.randn(6, 8), torch.randn(6, 5)
    twice = {"fc1": (torch.cat([x, x]), torch.cat([delta, delta]))}
    span.extend(twice, {})
    span.build()
    once = GradientSpan()
    once.extend({"fc1": (x, delta)}, {})
    once.build()
    batch = {"fc1": (torch.randn(7, 8), torch.randn(7, 5))}
    g = {"fc1": batch["fc1"][1].T @ batch["fc1"][0]}
    assert torch.allclose(span.project(batch, g)["fc1"], once.project(batch, g)["fc1"], atol=1e-5)


@pytest.mark.parametrize("method", ["ogd", "ogd-plus"])
def test_no_memory_is_sgd_bit_for_bit(learner, method) -> None:
    ours, stream, settings = learner(SHUFFLED, method, memory=0)
    plain = {"norm_penalty": 0.0, "learning_rate": settings.training.learning_rate}
    sgd, *_ = learner(SHUFFLED, "finetune", **plain)
    for each in (ours, sgd):
        learn(each, stream)
    assert all(map(torch.equal, ours.net.parameters(), sgd.net.parameters()))


def test_kept_outputs_do_not_change_to_first_order(learner) -> None:
    changes = {}
    for remembers in (False, True):
        method, stream, _ = learner(SHUFFLED, "ogd", memory=50, learning_rate=1e-4)
        x, y = stream.task(0).train.batch(slice(0, 50))
        method.begin_task(stream.task(0))
        if remembers:
            method._keep(x, y)
            method.span.build()
        before = method.predict(x).gather(1, y[:, None])
        for images, labels in batches(stream, 5, 50):
            method.observe(images, labels, 0.0)
        changes[remembers] = (method.predict(x).gather(1, y[:, None]) - before).norm()
    assert changes[True] < 0.05 * changes[False]


def test_without_drift_ogd_plus_is_ogd(learner) -> None:
    """Taken twice at the same weights, new gradients span what the old ones did."""
    projected = {}
    plus = [("ogd-plus", {"basis": basis}) for basis in ("replace", "add")]
    for name, extra in (("ogd", {}), *plus):
        method, stream, _ = learner(SHUFFLED, name, memory=20, **extra)
        for t in range(2):  # no learning in between
            torch.manual_seed(t)
            method.end_task(stream.task(t))
        projected[name, *extra.values()] = flatten(
            method.span.project(*batch_gradients(method, stream, 2))
        )
    first = projected["ogd",]
    for other in projected.values():
        assert (other - first).norm() / first.norm() < 1e-5


def test_a_norm_penalty_is_refused(learner) -> None:
    with pytest.raises(ConfigError, match="norm_penalty must be 0"):
        learner(SHUFFLED, "ogd", norm_penalty=1e-3)


@pytest.mark.parametrize(
    ("scenario", "momentum"), [(SHUFFLED, 0.0), (SHUFFLED, 0.9), ("cifar10-5", 0.0)]
)
def test_putting_off_projections_is_projecting_each_gradient(
    learner, monkeypatch, scenario, momentum
) -> None:
    """Against autograd, QR and plain steps of SGD; seven steps are more than two put-offs."""
    monkeypatch.setattr(ogd, "LAZY", 3)
    changes = {"memory": 15, "learning_rate": 0.05, "dropout": 0.0, "momentum": momentum}
    ours, stream, settings = learner(scenario, "ogd", **changes)
    plain = network(settings, stream)
    weights = [layer.weight for _, layer in nets.layers(plain)]
    plain.load_state_dict(ours.net.state_dict())
    kept = stream.task(0).train.batch(slice(0, 15))
    ours._keep(*kept)
    ours.span.build()
    basis = torch.linalg.qr(explicit_gradients(plain, *kept).T).Q.float()
    velocity = 0.0
    for x, y in batches(stream, 7, 20):
        ours.observe(x, y, 0.0)
        loss = torch.nn.functional.cross_entropy(plain.train()(x), y)
        gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, weights)])
        gradient -= basis @ (basis.T @ gradient)
        velocity = momentum * velocity + gradient
        for weight, g in zip(weights, velocity.split([w.numel() for w in weights]), strict=True):
            weight.data -= 0.05 * g.view_as(weight)
    assert ours.put_off == (0 if momentum else 1)  # with it, each is projected at once
    x = stream.task(1).train.batch(slice(0, 30))[0]
    torch.testing.assert_close(ours.predict(x), plain.eval()(x), rtol=1e-4, atol=1e-5)
    for (_, layer), weight in zip(nets.layers(ours.net), weights, strict=True):
        torch.testing.assert_close(layer.weight, weight, rtol=1e-4, atol=1e-5)
