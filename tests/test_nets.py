"""The networks of the paper: sizes, initialisation, biases, padding."""

import pytest
import torch

from eowm import nets
from eowm.settings import Net


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


def test_weights_are_xavier_normal() -> None:
    net = build(net="mlp", hidden=(100,))
    assert net.fc1.weight.std().item() == pytest.approx((2 / 884) ** 0.5, rel=0.02)


@pytest.mark.parametrize(
    ("filters", "classes", "parameters"),
    [((64, 128, 256), 10, 5_270_608), ((128, 256, 512), 100, 9_948_896)],
)
def test_cnn_has_the_published_number_of_parameters(filters, classes, parameters) -> None:
    net = nets.build(Net(net="cnn", hidden=(1000, 1000), filters=filters), (3, 32, 32), classes)
    assert sum(p.numel() for p in net.parameters()) == parameters
    assert all(layer.bias is None for _, layer in nets.layers(net))


def test_cnn_pads_by_replication_and_pools_to_4x4() -> None:
    net = build(net="cnn", hidden=(16, 16), filters=(4, 6, 8))
    seen = {}
    for name, layer in nets.layers(net):
        layer.register_forward_hook(lambda _, x, y, name=name: seen.update({name: (x[0], y)}))
    image = torch.randn(2, 3, 32, 32)
    assert net(image).shape == (2, 10)
    sizes = {name: (x.shape[-1], y.shape[-1]) for name, (x, y) in seen.items() if "conv" in name}
    assert sizes == {"conv1": (34, 33), "conv2": (18, 17), "conv3": (10, 9)}
    assert seen["fc1"][0].shape == (2, 8 * 4 * 4)
    padded = seen["conv1"][0]
    assert torch.equal(padded[:, :, 0, 1:-1], image[:, :, 0, :])


def test_dropout_acts_in_training_only() -> None:
    net = build(net="cnn", hidden=(16, 16), filters=(4, 6, 8), dropout=0.5)
    x = torch.randn(2, 3, 32, 32)
    net.eval()
    assert torch.equal(net(x), net(x))
    net.train()
    assert not torch.equal(net(x), net(x))
