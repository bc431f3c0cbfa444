"""EWC: the closed-form Fisher against per-sample autograd, and what λ does."""

import pytest
import torch
from baselines import plain_fisher

from eowm import nets
from eowm.data import streams


@pytest.mark.parametrize("scenario", ["shuffled-mnist-3", "cifar10-5"])
def test_closed_form_fisher_equals_per_sample_autograd(learner, scenario) -> None:
    method, stream, _ = learner(scenario, "ewc", fisher_images=40)
    task = stream.task(0)
    torch.manual_seed(1)
    found = method.fisher(task)
    torch.manual_seed(1)
    x = task.train.batch(torch.randperm(len(task.train))[:40])[0]
    for ours, total in zip(found.values(), plain_fisher(method.net.eval(), x), strict=True):
        expected = total / len(x)
        assert (ours - expected).abs().max() < 1e-5 * expected.abs().max()


def test_a_sampled_label_estimates_the_same_fisher(learner, arrays) -> None:
    method, _, settings = learner("shuffled-mnist-3", "ewc", fisher_images=4000)
    settings = settings.model_copy(update={"limits": type(settings.limits)()})
    task = streams.build(settings, arrays("mnist", train=4000)).task(0)
    expected = method.fisher(task)
    method.options = method.options.model_copy(update={"fisher_labels": "sampled"})
    found = method.fisher(task)
    for name in found:
        assert found[name].sum().item() == pytest.approx(expected[name].sum().item(), rel=0.1), name


def learn(learner, row, **overrides):
    """A method that learnt two tasks, and its logits on the first one after each."""
    method, stream, _ = learner("shuffled-mnist-3", row, **overrides)
    outputs = []
    for t in range(2):
        torch.manual_seed(t)
        method.begin_task(stream.task(t))
        train = stream.task(t).train
        for start in range(0, 400, 50):
            x, y = train.batch(slice(start, start + 50))
            method.observe(x, y, 0.0)
        method.end_task(stream.task(t))
        outputs.append(method.predict(stream.task(0).train.batch(slice(None))[0]))
    return method, outputs


def test_lambda_0_is_fine_tuning_bit_for_bit(learner) -> None:
    ewc, _ = learn(learner, "ewc", strength=0.0)
    sgd, _ = learn(learner, "finetune", learning_rate=0.1)
    for (name, first), (_, second) in zip(nets.layers(ewc.net), nets.layers(sgd.net), strict=True):
        assert torch.equal(first.weight, second.weight), name


def test_a_huge_lambda_freezes_the_first_task(learner) -> None:
    """Weights without any information may move; what the net says of task 1 may not."""
    _, free = learn(learner, "ewc", strength=0.0)
    _, held = learn(learner, "ewc", strength=1e12)
    assert (held[1] - held[0]).norm() < 1e-2 * (free[1] - free[0]).norm()


def test_the_single_quadratic_equals_one_for_each_task(learner) -> None:
    """A(θ − θ*) − b against the sum of Fⱼ(θ − θ*ⱼ) over tasks."""
    method, *_ = learner("shuffled-mnist-3", "ewc")
    terms = []
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):
        fisher = {n: torch.rand(w.shape, generator=generator) for n, w in method.anchor.items()}
        with torch.no_grad():
            for _, layer in nets.layers(method.net):
                layer.weight += torch.randn(layer.weight.shape, generator=generator)
        terms.append((fisher, {n: la.weight.clone() for n, la in nets.layers(method.net)}))
        method._consolidate(fisher)
    for name, layer in nets.layers(method.net):
        theta = layer.weight + 0.3
        plain = sum(f[name] * (theta - anchor[name]) for f, anchor in terms)
        ours = method.precision[name] * (theta - method.anchor[name]) - method.pull[name]
        assert torch.allclose(ours, plain, atol=1e-4)


def test_online_keeps_one_anchor(learner) -> None:
    method, *_ = learner("shuffled-mnist-3", "ewc", online=True)
    ones = {n: torch.ones_like(w) for n, w in method.anchor.items()}
    for _ in range(3):
        method._consolidate(ones)
    assert torch.all(method.precision["fc1"] == 3)
    assert torch.all(method.pull["fc1"] == 0)
    assert torch.equal(method.anchor["fc1"], method.net.fc1.weight)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_it_rests_where_the_whole_loss_has_no_gradient(learner, momentum) -> None:
    """CE + ½ λ Σ F (θ − θ*)², differentiated by autograd where the steps end.

    A linear model: with ReLU the minimum may lie in a kink, where no gradient is zero.
    """
    method, stream, _ = learner(
        "shuffled-mnist-3", "ewc", strength=1.0, norm_penalty=0.0, hidden=(), momentum=momentum,
        learning_rate=0.02 * (1 - momentum),
    )  # fmt: skip
    method.begin_task(stream.task(0))
    method._consolidate({n: 0.5 + torch.rand_like(w) for n, w in method.anchor.items()})
    x, y = stream.task(1).train.batch(slice(0, 100))
    for _ in range(1000):
        method.observe(x, y, 0.0)
    weights = [layer.weight for _, layer in nets.layers(method.net)]
    loss = torch.nn.functional.cross_entropy(method.net(x), y)
    alone = torch.autograd.grad(loss, weights, retain_graph=True)
    for name, layer in nets.layers(method.net):
        moved = (layer.weight - method.anchor[name]).square()
        loss = loss + 0.5 * (method.precision[name] * moved).sum()
    together = torch.autograd.grad(loss, weights)
    for first, second in zip(alone, together, strict=True):
        assert second.norm() < 1e-3 * first.norm()
