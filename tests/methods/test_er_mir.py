"""ER-MIR: scores against numpy, replay by task, and nothing that scoring leaves behind."""

import copy

import numpy as np
import pytest
import torch
from steps import batches, learn, network
from torch.nn import functional as F

from eowm.errors import ConfigError

RATE = 0.05
RESNET = {"net": "resnet18", "filters": [4, 6], "dropout": 0.0}


def remember(method, stream, task: int = 0, images: int = 40) -> None:
    """Images of a task are in memory, without any learning, and the next task begins."""
    x, y = stream.task(task).train.batch(slice(0, images))
    method.memory.add(task, x=x, y=y)
    method.begin_task(stream.task(task + 1))


def softmax_loss(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    logits = x @ weights.T
    return np.log(np.exp(logits).sum(1)) - logits[np.arange(len(y)), y]


def test_scores_equal_those_worked_out_by_hand(learner) -> None:
    """A linear model, its gradient (p − onehot)ᵀx/B written out in numpy."""
    method, stream, settings = learner("shuffled-mnist-3", "er-mir", hidden=[])
    remember(method, stream)
    x, y = stream.task(1).train.batch(slice(0, 10))
    F.cross_entropy(method.net(x), y).backward()
    slots = torch.tensor([3, 0, 17, 39, 8])
    with torch.no_grad():
        ours = method.interference(slots).numpy()

    old = method.net.fc1.weight.detach().double().numpy()
    images, labels = x.flatten(1).double().numpy(), y.numpy()
    p = np.exp(images @ old.T)
    p /= p.sum(1, keepdims=True)
    gradient = (p - np.eye(10)[labels]).T @ images / len(labels)
    new = old - settings.training.learning_rate * gradient
    kept_x, kept_y = (stream.task(0).train.batch(slots)[i] for i in (0, 1))
    kept_x, kept_y = kept_x.flatten(1).double().numpy(), kept_y.numpy()
    expected = softmax_loss(new, kept_x, kept_y) - softmax_loss(old, kept_x, kept_y)
    assert np.abs(ours - expected).max() < 1e-5


def test_the_highest_scores_are_replayed(learner, monkeypatch) -> None:
    method, stream, _ = learner("shuffled-mnist-3", "er-mir", retrieved=3)
    remember(method, stream)
    scores = torch.tensor([0.0, 5.0, -1.0, 2.0, 4.0])
    monkeypatch.setattr(method, "interference", lambda _: scores)
    assert sorted(method.retrieve(torch.tensor([9, 8, 7, 6, 5])).tolist()) == [5, 6, 8]


@pytest.mark.parametrize(("scenario", "net"), [("shuffled-mnist-3", {}), ("cifar10-5", RESNET)])
def test_a_step_is_sgd_on_the_sum_of_two_means(learner, scenario, net) -> None:
    """With as many candidates as are replayed, MIR is replay of a random set: this one."""
    replay = {"candidates": 10, "retrieved": 10, "batch_size": 10}
    method, stream, settings = learner(scenario, "er-mir", **replay, **net)
    plain = network(settings, stream).train()
    remember(method, stream)
    x, y = stream.task(1).train.batch(slice(0, 10))
    torch.manual_seed(5)
    slots = method.memory.draw(10, before=1)
    kept = [method.memory.columns[name][slots] for name in ("x", "y")]
    torch.manual_seed(5)
    method.observe(x, y, 0.0)

    loss = F.cross_entropy(plain(x), y) + F.cross_entropy(plain(kept[0]), kept[1])
    loss.backward()
    torch.optim.SGD(plain.parameters(), settings.training.learning_rate).step()
    for ours, expected in zip(method.net.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(ours, expected, atol=1e-6)


def test_the_first_task_and_no_memory_are_plain_sgd_bit_for_bit(learner) -> None:
    for tasks, memory in ((1, 50), (2, 0)):
        plain = {"norm_penalty": 0.0, "learning_rate": RATE}
        learnt = []
        for row, changes in (("er-mir", {"memory": memory, **plain}), ("finetune", plain)):
            method, stream, _ = learner("shuffled-mnist-3", row, **changes)
            learn(method, stream, tasks, size=10)
            learnt.append(method.net.fc1.weight)
        assert torch.equal(*learnt)


def test_replay_is_told_apart_by_task_not_by_class(learner, monkeypatch) -> None:
    """On shuffled MNIST all classes are in all tasks; replay must be there all the same."""
    method, stream, settings = learner("shuffled-mnist-3", "er-mir", memory=60)
    replayed, retrieve = [], method.retrieve

    def spy(candidates):
        slots = retrieve(candidates)
        replayed.append((method.task, method.memory.tasks[slots].tolist()))
        return slots

    monkeypatch.setattr(method, "retrieve", spy)
    learn(method, stream, tasks=3, size=10)
    assert len(method.memory) <= 60
    for task, tasks in replayed:
        assert len(tasks) == (settings.options["retrieved"] if task else 0)
        assert all(origin < task for origin in tasks)


def test_an_image_is_offered_to_memory_once(learner) -> None:
    method, stream, _ = learner("shuffled-mnist-3", "er-mir", epochs=4)
    method.begin_task(stream.task(0))
    for step, (x, y) in enumerate(batches(stream, 8, 10)):  # two batches an epoch
        method.observe(x, y, step / 8)
    assert method.memory.seen == 20


def test_scoring_leaves_no_trace(learner) -> None:
    method, stream, settings = learner("cifar10-5", "er-mir", batch_size=10, **RESNET)
    remember(method, stream)
    x, y = stream.task(1).train.batch(slice(0, 10))
    F.cross_entropy(method.net.train()(x), y).backward()
    before = {name: value.clone() for name, value in method.net.state_dict().items()}
    gradients = [p.grad.clone() for p in method.net.parameters()]
    slots = method.retrieve(method.memory.draw(40, before=1))
    assert len(slots) == settings.options["retrieved"]
    assert all(torch.equal(before[name], value) for name, value in method.net.state_dict().items())
    assert all(
        torch.equal(p.grad, g) for p, g in zip(method.net.parameters(), gradients, strict=True)
    )
    assert method.net.training


@pytest.mark.parametrize("method", ["owm", "ogd", "ewc"])
def test_methods_that_work_layer_by_layer_refuse_a_resnet(resolve, method) -> None:
    with pytest.raises(ConfigError, match=f"{method} cannot train a resnet18"):
        resolve("cifar10-5", method, **RESNET)


def test_in_training_mode_scores_are_those_of_a_copied_network(learner) -> None:
    """As published: candidates pass the net, whose statistics see them, and a copy one step on."""
    method, stream, settings = learner("cifar10-5", "er-mir", scores="training", **RESNET)
    remember(method, stream)
    x, y = stream.task(1).train.batch(slice(0, 10))
    F.cross_entropy(method.net.train()(x), y).backward()
    net, virtual = copy.deepcopy(method.net), copy.deepcopy(method.net)
    slots = torch.arange(20)
    with torch.no_grad():
        ours = method.interference(slots)
        for weight, moving in zip(method.net.parameters(), virtual.parameters(), strict=True):
            moving -= settings.training.learning_rate * weight.grad
        kept_x, kept_y = (method.memory.columns[name][slots] for name in ("x", "y"))
        losses = [F.cross_entropy(n(kept_x), kept_y, reduction="none") for n in (virtual, net)]
    assert torch.allclose(ours, losses[0] - losses[1], atol=1e-5)
    for name, buffer in net.named_buffers():  # one pass of the candidates, not two
        assert torch.equal(method.net.get_buffer(name), buffer), name
