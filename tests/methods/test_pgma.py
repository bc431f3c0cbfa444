"""PGMA: each part against its definition, and what replay holds on to."""

import pytest
import torch
from steps import network

from eowm.nets.pgma import WeightGenerator, mmd

SCENARIOS = ["shuffled-mnist-3", "cifar10-5"]


def after_first_task(learner, scenario):
    """PGMA and its second task, with the bank of the first."""
    method, stream, _ = learner(scenario, "pgma")
    torch.manual_seed(0)
    task = stream.task(0)
    for start in range(0, len(task.train), 20):
        method.observe(*task.train.batch(slice(start, start + 20)), 0.0)
    method.end_task(task)
    return method, stream.task(1)


def test_all_generators_at_once_equal_one_after_the_other() -> None:
    """Eight MLPs z-12-12-(10 · 3) with tanh, each for ten inputs of the last layer."""
    torch.manual_seed(0)
    generator = WeightGenerator(code=5, width=12, inputs=80, classes=3).eval()
    with torch.no_grad():
        for parameter in generator.parameters():
            parameter.normal_(std=0.3)
    z = torch.randn(7, 5)
    rows = []
    for i in range(8):
        h = z
        for weight, bias in zip(generator.weights, generator.biases, strict=True):
            h = torch.tanh(h @ weight[i] + bias[i])
        rows.append(h.view(7, 10, 3))
    assert torch.allclose(generator(z), torch.cat(rows, dim=1), atol=1e-6)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_example_is_classified_by_its_own_weights(learner, scenario) -> None:
    """Another image of the batch may change: the logits of this one do not."""
    method, task = after_first_task(learner, scenario)
    x = task.train.batch(slice(0, 8))[0]
    changed = x.clone()
    changed[3] = changed[3].flip(-1) + 0.5
    before, after = method.predict(x), method.predict(changed)
    others = [i for i in range(8) if i != 3]
    assert torch.equal(before[others], after[others])
    assert not torch.allclose(before[3], after[3])
    generated = method.net.generator(method.net.encode(x))
    assert not torch.allclose(generated[0], generated[1])  # they do differ by example


def test_the_solver_is_the_common_net_with_a_partly_generated_last_layer(learner) -> None:
    method, stream, settings = learner("shuffled-mnist-3", "pgma")
    common = network(settings, stream).eval()
    net, x = method.net.eval(), torch.rand(4, 1, 28, 28)
    z = torch.randn(4, net.code_size)
    hidden, logits = net.solve(x, z)
    assert torch.equal(hidden, common.linear_inputs(x)[-1])
    for b in range(4):
        weight = torch.cat([common.fc2.weight[:, :10], net.generator(z[b : b + 1])[0].T], dim=1)
        assert torch.allclose(logits[b], weight @ hidden[b], atol=1e-6)


def test_mmd_equals_its_double_sum() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(5, 3), torch.randn(5, 3) + 1

    def kernel(u, v) -> float:
        c = [2 * 3 * s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10)]
        return sum(ci / (ci + (u - v).square().sum().item()) for ci in c)

    pairs = [(i, j) for i in range(5) for j in range(5)]
    within = sum(kernel(a[i], a[j]) + kernel(b[i], b[j]) for i, j in pairs if i != j)
    across = sum(kernel(a[i], b[j]) for i, j in pairs)
    assert mmd(a, b).item() == pytest.approx(within / 20 - 2 * across / 25, abs=1e-5)


@pytest.mark.parametrize("autoencoder", ["mlp", "conv"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_both_autoencoders_give_images_of_the_right_size(learner, scenario, autoencoder) -> None:
    shape = {"autoencoder": autoencoder, "autoencoder_widths": [4, 6, 8]}
    method, stream, _ = learner(scenario, "pgma", **shape)
    z = torch.randn(3, method.net.code_size)
    assert method.net.decode(z).shape == (3, *stream.image_shape)
    assert method.net.encode(method.net.decode(z)).shape == z.shape


def test_only_tasks_between_the_first_and_the_last_have_replay(learner) -> None:
    method, stream, settings = learner("shuffled-mnist-3", "pgma")
    method.end_task(stream.task(2))
    assert method.bank is None
    method.end_task(stream.task(0))
    assert len(method.bank.z) == settings.options["replay_bank"]
    assert len(method.bank.draw(20).images) == 20


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nothing_is_forgotten_before_the_next_task_begins(learner, scenario) -> None:
    """D(z) = x' and E(x') = E'(x') exactly; the solver answers as before if it is asked with z.

    The transfer loss itself asks it with E'(x') and so starts above 0, at the logits only.
    """
    method, _ = after_first_task(learner, scenario)
    bank, net = method.bank, method.net.eval()
    close = {"rtol": 1e-4, "atol": 1e-5}
    assert torch.allclose(net.decode(bank.z), net.pixels(bank.images), **close)
    assert torch.allclose(net.encode(bank.images), bank.codes, **close)
    *hidden, _ = net.solve(bank.images, bank.codes)
    for new, old in zip(hidden, bank.activations[:-1], strict=True):
        assert torch.allclose(new, old, **close)
    asked_with_codes = method.transfer_loss(bank)
    bank.codes = bank.z
    assert method.transfer_loss(bank) < 1e-3 * asked_with_codes


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_replay_holds_the_old_answers(learner, scenario) -> None:
    """After the same steps of a second task, activations and images have drifted less."""
    drift = {}
    for replayed in (True, False):
        method, task = after_first_task(learner, scenario)
        kept = method.bank
        method.bank = kept if replayed else None
        method.tasks = 100  # a strong weight, so that a few steps show it
        torch.manual_seed(1)
        for step in range(40):
            start = 20 * (step % 4)
            method.observe(*task.train.batch(slice(start, start + 20)), 0.0)
        drift[replayed] = method.transfer_loss(kept).item()
    assert drift[True] < 0.5 * drift[False]


def test_each_step_moves_its_own_nets_only(learner) -> None:
    method, task = after_first_task(learner, "shuffled-mnist-3")
    x, y = task.train.batch(slice(0, 20))
    prior, replay = torch.randn(20, method.net.code_size), method.bank.draw(20)

    def moved(loss) -> set[str]:
        before = {k: v.clone() for k, v in method.net.named_parameters()}
        method._step(loss)
        now = method.net.named_parameters()
        return {k.split(".")[0] for k, v in now if not torch.equal(v, before[k])}

    assert moved(method.autoencoder_loss(x, prior, replay)) == {"encoder", "decoder"}
    assert moved(method.solver_loss(x, y, replay)) == {"solver", "generator"}
