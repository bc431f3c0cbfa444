"""The paper's two classifiers, as published by the authors of OWM; `resnet18` is in its own file.

Layers have names (`conv1`…, `fc1`…) that settings and methods refer to. No layer has a trainable
bias: a bias outside the projector would undo its protection.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from eowm.nets.resnet import ResNet
from eowm.settings.run import Net

Layer = nn.Linear | nn.Conv2d


class MLP(nn.Module):
    """784-100-10 for MNIST. Hidden biases are drawn in [0, 0.01) and never learnt."""

    def __init__(self, inputs: int, hidden: tuple[int, ...], classes: int, dropout: float) -> None:
        super().__init__()
        sizes = [inputs, *hidden, classes]
        self.depth = len(hidden)
        self.dropout = dropout
        for i in range(1, len(sizes)):
            self.add_module(f"fc{i}", _linear(sizes[i - 1], sizes[i]))
        for i in range(1, len(hidden) + 1):
            self.register_buffer(f"bias{i}", torch.rand(sizes[i]) * 0.01)

    def forward(self, x: Tensor) -> Tensor:
        return getattr(self, f"fc{self.depth + 1}")(self.linear_inputs(x)[-1])

    def linear_inputs(self, x: Tensor) -> list[Tensor]:
        """What each linear layer sees, from the first to the last."""
        seen = [x.flatten(1)]
        for i in range(1, self.depth + 1):
            x = F.relu(getattr(self, f"fc{i}")(seen[-1]) + getattr(self, f"bias{i}"))
            seen.append(dropout(x, self.dropout, self.training))
        return seen


class CNN(nn.Module):
    """Three 2×2 convolutions and three linear layers for CIFAR, without any bias.

    Each block: replicate-pad by 1, convolve, ReLU, dropout, max-pool by 2 (32 → 16 → 8 → 4).
    """

    def __init__(
        self, filters: tuple[int, ...], hidden: tuple[int, ...], classes: int, dropout: float
    ) -> None:
        super().__init__()
        channels = [3, *filters]
        sizes = [filters[-1] * (32 >> len(filters)) ** 2, *hidden, classes]
        self.blocks, self.depth = len(filters), len(hidden)
        self.dropout = dropout
        for i in range(1, len(channels)):
            conv = nn.Conv2d(channels[i - 1], channels[i], kernel_size=2, bias=False)
            self.add_module(f"conv{i}", conv)
        for i in range(1, len(sizes)):
            self.add_module(f"fc{i}", _linear(sizes[i - 1], sizes[i]))

    def forward(self, x: Tensor) -> Tensor:
        return getattr(self, f"fc{self.depth + 1}")(self.linear_inputs(x)[-1])

    def linear_inputs(self, x: Tensor) -> list[Tensor]:
        """What each linear layer sees, from the first to the last."""
        if x.device.type == "cpu":  # where pooling and convolution are faster in this layout
            x = x.contiguous(memory_format=torch.channels_last)
        for i in range(1, self.blocks + 1):
            # Of a map padded on all sides, pooling never reads the last row and column.
            x = getattr(self, f"conv{i}")(F.pad(x, (1, 0, 1, 0), mode="replicate"))
            x = pooled(x, self.dropout if self.training else 0.0)
        seen = [x.flatten(1)]
        for i in range(1, self.depth + 1):
            seen.append(F.relu(getattr(self, f"fc{i}")(seen[-1])))
        return seen


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """Dropout whose mask costs little on a CPU: four elements share one 64-bit random number.

    torch's own draws one number an element, which takes longer than the convolutions. The rate is
    exact to 2⁻¹⁶, and the scale belongs to the rounded rate.
    """
    if not training or rate == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, rate, training)
    kept, scale = cheap_mask(x.shape, rate, x.dtype)
    return x * kept.mul_(scale)


def cheap_mask(shape: torch.Size, rate: float, dtype: torch.dtype) -> tuple[Tensor, float]:
    """1 where an element is kept and 0 elsewhere, and what kept ones are to be multiplied by."""
    count, dropped = shape.numel(), round(rate * 2**16)
    words = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    parts = words.view(torch.int16)[:count].view(shape)
    kept = torch.ge(parts, dropped - 2**15, out=torch.empty(shape, dtype=dtype))
    return kept, 2**16 / (2**16 - dropped)


def pooled(x: Tensor, rate: float) -> Tensor:
    """ReLU, dropout and max-pooling by 2 of a convolution's output, which is overwritten.

    ReLU and dropout's scale commute with the maximum: after it, they see a quarter of the elements.
    A dropped element is 0, where ReLU passes no gradient, so the mask need not act backwards.
    """
    if rate == 0.0:
        return F.relu(F.max_pool2d(x, 2))
    if x.device.type != "cpu":
        return F.relu(F.max_pool2d(F.dropout(x, rate), 2))
    kept, scale = cheap_mask(x.permute(0, 2, 3, 1).shape, rate, x.dtype)  # as they lie in memory
    with torch.no_grad():
        x.mul_(kept.permute(0, 3, 1, 2))
    return F.relu(F.max_pool2d(x, 2)) * scale


def padded_on_all_sides(seen: Tensor) -> Tensor:
    """What a convolution of `CNN` sees, with the row and column that the network leaves out."""
    return F.pad(seen, (0, 1, 0, 1), mode="replicate")


def build(net: Net, image_shape: tuple[int, ...], classes: int) -> nn.Module:
    """Weights come from torch's global generator: seed it first."""
    if net.net == "mlp":
        inputs = image_shape[0] * image_shape[1] * image_shape[2]
        return MLP(inputs, net.hidden, classes, net.dropout)
    if net.net == "resnet18":
        return ResNet(image_shape[0], net.filters, classes)
    return CNN(net.filters, net.hidden, classes, net.dropout)


def layers(net: nn.Module) -> Iterator[tuple[str, Layer]]:
    """All layers with weights, from input to output."""
    for name, module in net.named_modules():
        if isinstance(module, Layer):
            yield name, module


def _linear(inputs: int, outputs: int) -> nn.Linear:
    """No bias; weights N(0, 2/(inputs + outputs)), i.e. Xavier-normal."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.xavier_normal_(layer.weight)
    return layer
