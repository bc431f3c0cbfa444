"""AE-MIR: what is retrieved, what the classifier sees, and what may not move."""

import pytest
import torch
from steps import batches, network
from torch.nn import functional as F

from eowm.data import streams
from eowm.errors import ConfigError
from eowm.nets import autoencoders

RESNET = {"net": "resnet18", "filters": [4, 6], "dropout": 0.0}
NETS = [("shuffled-mnist-3", {}), ("cifar10-5", RESNET)]
CODE = {"mnist": 32, "cifar10": 320}


def remember(method, stream, codes: torch.Tensor, labels: torch.Tensor | None = None) -> None:
    """These codes are in memory as those of the first task, and the second one begins."""
    labels = torch.zeros(len(codes), dtype=torch.long) if labels is None else labels
    method.memory.add(0, code=codes, y=labels)
    method.begin_task(stream.task(1))


def everything(method) -> dict[str, torch.Tensor]:
    """Weights and statistics of both nets and both copies."""
    parts = ("net", "old_net", "autoencoder", "old_autoencoder")
    return {
        f"{part}.{name}": value.clone()
        for part in parts
        for name, value in getattr(method, part).state_dict().items()
    }


@pytest.mark.parametrize(
    ("dataset", "shape", "parameters"),
    [("mnist", (1, 28, 28), 654_416), ("cifar10", (3, 32, 32), 44_160)],
)
def test_autoencoders_have_the_right_size_and_range(dataset, shape, parameters) -> None:
    autoencoder = autoencoders.build(dataset)
    assert sum(p.numel() for p in autoencoder.parameters()) == parameters
    code = autoencoder.encode(torch.randn(3, *shape))
    assert code.shape == (3, CODE[dataset])
    images = autoencoder.decode(100 * code)
    assert images.shape == (3, *shape)
    if dataset == "cifar10":  # black and white, standardised, are as far as it reaches
        low = -torch.tensor(streams.CIFAR_MEAN) / torch.tensor(streams.CIFAR_STD)
        high = low + 1 / torch.tensor(streams.CIFAR_STD)
        assert (images.amin((0, 2, 3)) >= low - 1e-5).all()
        assert (images.amax((0, 2, 3)) <= high + 1e-5).all()
        assert images.min() < -1.2
        assert images.max() > 1.2


@pytest.mark.parametrize(("scenario", "net"), NETS)
def test_the_nearest_codes_are_retrieved_and_repeated(learner, monkeypatch, scenario, net) -> None:
    method, stream, settings = learner(scenario, "ae-mir", candidates=30, replayed=20, **net)
    torch.manual_seed(0)
    remember(method, stream, torch.randn(30, CODE[settings.dataset]))
    x, y = stream.task(1).train.batch(slice(0, 10))
    sought = torch.randn(10, CODE[settings.dataset])
    monkeypatch.setattr(method, "interfered_codes", lambda *_: sought)
    found = method.retrieve(x, y)
    kept = method.memory.columns["code"]
    expected = [min(range(30), key=lambda s: float((kept[s] - code).norm())) for code in sought]
    assert found.tolist() == expected * 2


def test_the_ascent_is_the_published_one(learner) -> None:
    """Against copies of the nets, an optimiser's step and a numerical gradient, in float64."""
    method, stream, settings = learner("shuffled-mnist-3", "ae-mir")
    for part in (method.net, method.old_net, method.autoencoder, method.old_autoencoder):
        part.double()
    with torch.no_grad():
        method.old_net.fc2.weight += 0.1 * torch.randn(method.old_net.fc2.weight.shape)
    method.begin_task(stream.task(1))
    x, y = stream.task(1).train.batch(slice(0, 4))
    x = x.double()
    start = method.old_autoencoder.encode(x)
    moved = (method.interfered_codes(x, y) - start) / 10

    virtual = network(settings, stream).double()
    optimiser = torch.optim.SGD(virtual.parameters(), settings.training.learning_rate)
    F.cross_entropy(virtual(x), y).backward()
    optimiser.step()

    @torch.no_grad()
    def gain(code) -> float:
        images = method.old_autoencoder.decode(code)
        p, q = method.old_net(images).softmax(1), virtual(images).softmax(1)
        kl = (p * (p / q).log()).sum(1)
        entropy = -(p * p.log()).sum(1) - (q * q.log()).sum(1)
        return float((200 * kl / 10 - entropy).sum())

    for image, number in ((0, 0), (1, 7), (3, 31)):
        nudge = torch.zeros_like(start)
        nudge[image, number] = 1e-5
        slope = (gain(start + nudge) - gain(start - nudge)) / 2e-5
        assert float(moved[image, number]) == pytest.approx(slope, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(("scenario", "net"), NETS)
def test_retrieval_leaves_no_trace(learner, scenario, net) -> None:
    method, stream, settings = learner(scenario, "ae-mir", **net)
    remember(method, stream, torch.randn(30, CODE[settings.dataset]))
    before = everything(method)
    method.retrieve(*stream.task(1).train.batch(slice(0, 10)))
    assert all(torch.equal(before[name], value) for name, value in everything(method).items())
    assert all(p.grad is None for p in method.net.parameters())


@pytest.mark.parametrize(("scenario", "net"), NETS)
def test_the_classifier_learns_in_the_last_epoch_only(learner, scenario, net) -> None:
    """And memory is filled then, too; copies move at the task's end."""
    method, stream, _ = learner(scenario, "ae-mir", epochs=4, **net)
    for t in range(2):
        method.begin_task(stream.task(t))
        start = everything(method)
        for step, (x, y) in enumerate(batches(stream, 8, 10)):  # two batches an epoch
            before = everything(method)
            method.observe(x, y, step / 8)
            after = everything(method)
            moved = {name.split(".")[0] for name in after if not after[name].equal(before[name])}
            assert moved == ({"autoencoder"} if step < 6 else {"autoencoder", "net"})
        assert method.memory.seen == 20 * (t + 1)
        method.end_task(stream.task(t))
        end = everything(method)
        output = "old_net.fc.weight" if net else "old_net.fc2.weight"
        assert not torch.equal(start[output], end[output])
        assert all(end[n].equal(end[f"old_{n}"]) for n in end if not n.startswith("old"))


def test_the_first_task_is_learnt_from_real_images_and_later_ones_are_not(learner) -> None:
    method, stream, _ = learner("shuffled-mnist-3", "ae-mir", epochs=1, memory=60, replayed=20)
    seen = []
    method.net.register_forward_pre_hook(lambda net, args: seen.append((net.training, args[0])))
    for t in range(3):
        method.begin_task(stream.task(t))
        for x, y in batches(stream, 5, 10):
            seen.clear()
            method.observe(x, y, 0.0)
            (learnt,) = [images for training, images in seen if training]
            assert torch.equal(learnt[:10], x) == (t == 0)
            assert len(learnt) == (10 if t == 0 else 30)  # by task: all classes are in all tasks
            if t:
                method.autoencoder.eval()
                assert torch.allclose(learnt[:10], method.autoencoder(x), atol=1e-6)
            assert len(method.memory) <= 60
        method.end_task(stream.task(t))


def test_only_earlier_tasks_are_replayed(learner) -> None:
    method, stream, _ = learner("shuffled-mnist-3", "ae-mir", memory=60)
    codes = torch.randn(20, 32)
    method.memory.add(0, code=codes, y=torch.zeros(20, dtype=torch.long))
    method.memory.add(1, code=codes, y=torch.ones(20, dtype=torch.long))
    x, y = stream.task(1).train.batch(slice(0, 10))
    method.begin_task(stream.task(1))
    assert set(method.memory.tasks[method.retrieve(x, y)].tolist()) == {0}
    method.begin_task(stream.task(0))
    assert len(method.retrieve(x, y)) == 0


def test_codes_are_translated_at_the_end_of_a_task(learner) -> None:
    """Those of earlier tasks, by the old decoder and the new encoder."""
    method, stream, _ = learner("shuffled-mnist-3", "ae-mir", memory=60)
    codes = torch.randn(20, 32)
    remember(method, stream, codes)
    method.memory.add(1, code=codes, y=torch.ones(20, dtype=torch.long))
    for x, _ in batches(stream, 3, 10):
        method._learn_images(x)
    with torch.no_grad():
        images = method.old_autoencoder.decode(codes)
        expected = method.autoencoder.encode(images)
    assert not torch.allclose(expected, codes, atol=0.1)
    method.end_task(stream.task(1))
    kept = method.memory.columns["code"]
    assert torch.allclose(kept[:20], expected, atol=1e-6)
    assert torch.equal(kept[20:40], codes)
    assert torch.allclose(method.old_autoencoder.encode(images), kept[:20], atol=1e-6)


def test_prediction_does_not_depend_on_the_company(learner) -> None:
    method, stream, _ = learner("cifar10-5", "ae-mir", **RESNET)
    method.begin_task(stream.task(0))
    for x, y in batches(stream, 3, 10):
        method.observe(x, y, 0.9)
    x, _ = stream.test[0].batch(slice(0, 20))
    assert torch.allclose(method.predict(x)[:5], method.predict(x[:5]), atol=1e-5)
    reconstructed = method.autoencoder.eval()(x)
    with torch.no_grad():
        assert torch.allclose(method.predict(x), method.net.eval()(reconstructed), atol=1e-6)


@pytest.mark.parametrize("setting", [{"norm_penalty": 0.1}, {"clip_norm": 1.0}])
def test_settings_that_its_loss_would_ignore_are_refused(learner, setting) -> None:
    with pytest.raises(ConfigError, match="AE-MIR"):
        learner("shuffled-mnist-3", "ae-mir", **setting)
