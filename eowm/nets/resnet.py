"""The classifier of the MIR baselines on CIFAR: a ResNet18 with 20 filters in its first stage.

With four stages of 20, 40, 80 and 160 filters and ten classes it has 1,094,750 parameters, as
published. Convolutions have no bias; batch normalisation and the last layer have theirs.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    """Two 3×3 convolutions around a shortcut, which is a 1×1 convolution where shapes differ."""

    def __init__(self, inputs: int, filters: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, filters, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(filters)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != filters:
            narrow = nn.Conv2d(inputs, filters, 1, stride, bias=False)
            self.shortcut = nn.Sequential(narrow, nn.BatchNorm2d(filters))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """A 3×3 convolution, two blocks a stage (each later stage halves the image), mean, linear."""

    def __init__(self, channels: int, filters: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, filters[0], 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(filters[0])
        widths = [filters[0], *filters]
        self.stages = nn.Sequential()
        for i in range(len(filters)):
            self.stages.append(Block(widths[i], widths[i + 1], stride=1 if i == 0 else 2))
            self.stages.append(Block(widths[i + 1], widths[i + 1], stride=1))
        self.fc = nn.Linear(filters[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type == "cpu":  # where convolution is faster in this layout
            x = x.contiguous(memory_format=torch.channels_last)
        x = self.stages(F.relu(self.bn(self.conv(x))))
        return self.fc(x.mean((2, 3)))
