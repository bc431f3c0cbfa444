"""The autoencoders of AE-MIR: images to short codes and back, in the scale of the classifier.

A code is a flat vector: 320 numbers for an image of CIFAR (published), 32 for one of MNIST (ours:
the published code takes colour images only).
"""

import torch
from torch import Tensor, nn

from eowm.data.streams import CIFAR_MEAN, CIFAR_STD

MAPS = 20  # of the convolutional one, as published: 44,160 parameters


class Autoencoder(nn.Module):
    encoder: nn.Module
    decoder: nn.Module

    def encode(self, x: Tensor) -> Tensor:
        return self.encoder(x)

    def decode(self, code: Tensor) -> Tensor:
        return self.decoder(code)

    def forward(self, x: Tensor) -> Tensor:
        return self.decode(self.encode(x))


class DenseAutoencoder(Autoencoder):
    """784-400-32-400-784 for MNIST. Pixels are in [0, 1], so a sigmoid gives them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Flatten(), nn.Linear(784, 400), nn.ReLU(), nn.Linear(400, 32)
        )
        self.decoder = nn.Sequential(
            nn.Linear(32, 400), nn.ReLU(), nn.Linear(400, 784), nn.Sigmoid(),
            nn.Unflatten(1, (1, 28, 28)),
        )  # fmt: skip


class ConvAutoencoder(Autoencoder):
    """Three strided convolutions down to 20×4×4 and two residual blocks, and the same back.

    The published decoder ends in a tanh for pixels in [−1, 1]. Images are standardised by channel
    here: its output is taken for such pixels and standardised likewise.
    """

    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            *_halve(3), *_halve(MAPS), *_halve(MAPS), Residual(), nn.BatchNorm2d(MAPS), Residual(),
            nn.Flatten(),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Unflatten(1, (MAPS, 4, 4)),
            Residual(), nn.BatchNorm2d(MAPS), Residual(), nn.BatchNorm2d(MAPS),
            *_double(), *_double(), nn.ConvTranspose2d(MAPS, 3, 4, 2, padding=1, bias=False),
        )  # fmt: skip
        self.register_buffer("mean", torch.tensor(CIFAR_MEAN).view(3, 1, 1))
        self.register_buffer("std", torch.tensor(CIFAR_STD).view(3, 1, 1))

    def decode(self, code: Tensor) -> Tensor:
        pixels = (torch.tanh(self.decoder(code)) + 1) / 2
        return (pixels - self.mean) / self.std


class Residual(nn.Module):
    """x + (ReLU, 3×3 convolution, batch normalisation, ReLU, 1×1 convolution)(x)."""

    def __init__(self) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(MAPS, MAPS, 3, padding=1),
            nn.BatchNorm2d(MAPS),
            nn.ReLU(),
            nn.Conv2d(MAPS, MAPS, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.path(x)


def _halve(channels: int) -> list[nn.Module]:
    convolution = nn.Conv2d(channels, MAPS, 4, 2, padding=1, bias=False)
    return [convolution, nn.BatchNorm2d(MAPS), nn.ReLU()]


def _double() -> list[nn.Module]:
    convolution = nn.ConvTranspose2d(MAPS, MAPS, 4, 2, padding=1, bias=False)
    return [convolution, nn.BatchNorm2d(MAPS), nn.ReLU()]


def build(dataset: str) -> Autoencoder:
    """Weights come from torch's global generator, as those of the classifier do."""
    return DenseAutoencoder() if dataset == "mnist" else ConvAutoencoder()
