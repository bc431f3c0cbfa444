"""The networks of the paper: sizes, initialisation, biases, padding."""

import pytest
import torch
from torch.nn import functional as F

from eowm import nets
from eowm.settings.run import Net


def build(**settings) -> torch.nn.Module:
    torch.manual_seed(0)
    shape = (1, 28, 28) if settings["net"] == "mlp" else (3, 32, 32)
    return nets.build(Net(**settings), shape, settings.pop("classes", 10))


def test_mlp_is_784_100_10_with_a_frozen_small_bias() -> None:
    net = build(net="mlp", hidden=(100,))
    assert [tuple(p.shape) for p in net.parameters()] == [(100, 784), (10, 100)]
    bias = net.bias1
    assert not bias.requires_grad
    assert 0 <= bias.min() < bias.max() < 0.01
    assert net.fc1.weight.std().item() == pytest.approx((2 / 884) ** 0.5, rel=0.02)  # Xavier's


@pytest.mark.parametrize(
    ("filters", "classes", "parameters"),
    [((64, 128, 256), 10, 5_270_608), ((128, 256, 512), 100, 9_948_896)],
)
def test_cnn_has_the_published_number_of_parameters(filters, classes, parameters) -> None:
    net = nets.build(Net(net="cnn", hidden=(1000, 1000), filters=filters), (3, 32, 32), classes)
    assert sum(p.numel() for p in net.parameters()) == parameters
    assert all(layer.bias is None for _, layer in nets.layers(net))


def test_resnet18_has_the_published_number_of_parameters() -> None:
    net = build(net="resnet18", hidden=(), filters=(20, 40, 80, 160))
    assert sum(p.numel() for p in net.parameters()) == 1_094_750
    assert net(torch.randn(2, 3, 32, 32)).shape == (2, 10)
    assert len(list(nets.layers(net))) == 21  # 17 convolutions, 3 shortcuts, the output


def test_cnn_pads_by_replication_and_pools_to_4x4() -> None:
    net = build(net="cnn", hidden=(16, 16), filters=(4, 6, 8))
    seen = {}
    for name, layer in nets.layers(net):
        layer.register_forward_hook(lambda _, x, y, name=name: seen.update({name: (x[0], y)}))
    image = torch.randn(2, 3, 32, 32)
    assert net(image).shape == (2, 10)
    sizes = {name: (x.shape[-1], y.shape[-1]) for name, (x, y) in seen.items() if "conv" in name}
    assert sizes == {"conv1": (33, 32), "conv2": (17, 16), "conv3": (9, 8)}
    assert seen["fc1"][0].shape == (2, 8 * 4 * 4)
    padded = nets.padded_on_all_sides(seen["conv1"][0])
    assert torch.equal(padded, F.pad(image, (1, 1, 1, 1), mode="replicate"))


def test_what_pooling_never_reads_changes_nothing() -> None:
    """Logits and gradients against the published padding on all four sides."""
    net = build(net="cnn", hidden=(16, 16), filters=(4, 6, 8)).double()
    image = torch.randn(5, 3, 32, 32, dtype=torch.float64)

    def published(x: torch.Tensor) -> torch.Tensor:
        for conv in (net.conv1, net.conv2, net.conv3):
            x = F.max_pool2d(F.relu(conv(F.pad(x, (1, 1, 1, 1), mode="replicate"))), 2)
        for linear in (net.fc1, net.fc2):
            x = F.relu(linear(x.flatten(1)))
        return net.fc3(x)

    logits = net.eval()(image)
    assert torch.allclose(logits, published(image), atol=1e-12)
    weights = list(net.parameters())
    ours = torch.autograd.grad(logits.square().sum(), weights)
    theirs = torch.autograd.grad(published(image).square().sum(), weights)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_cheap_dropout_is_dropout(rate: float) -> None:
    """Right rate, right mean, independent neighbours, zero gradient where dropped."""
    torch.manual_seed(0)
    x = torch.ones(999_999, requires_grad=True)
    y = nets.dropout(x, rate, training=True)
    kept = y.detach() != 0
    assert kept.double().mean().item() == pytest.approx(1 - rate, abs=0.002)
    assert y.detach().double().mean().item() == pytest.approx(1, abs=0.005)
    for distance in (1, 2, 3, 4):
        both = (kept[distance:] & kept[:-distance]).double().mean().item()
        assert both == pytest.approx((1 - rate) ** 2, abs=0.003)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_pooling_equals_the_published_order() -> None:
    """Values and gradients of relu → dropout → pool, with the same mask."""
    torch.manual_seed(0)
    first = torch.randn(4, 3, 9, 9, requires_grad=True)
    second = first.detach().clone().requires_grad_()
    torch.manual_seed(1)
    kept, scale = nets.cheap_mask(torch.Size((4, 9, 9, 3)), 0.2, torch.float32)
    published = F.max_pool2d(F.relu(first) * (kept * scale).permute(0, 3, 1, 2), 2)
    torch.manual_seed(1)
    ours = nets.pooled(second * 1, 0.2)
    assert torch.equal(published, ours)
    weights = torch.randn_like(ours)
    (published * weights).sum().backward()
    (ours * weights).sum().backward()
    assert torch.equal(first.grad, second.grad)
