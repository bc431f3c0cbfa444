"""The three nets of PGMA as one module: autoencoder, weight generator, solver.

Sizes and the order of dropout and tanh are those of the published code. Ours: the solver is the
classifier of all other methods, so it has no trainable bias; the autoencoder starts from torch's
initial weights, since the published 0.01 · N(0, 1) lets the signal die out in narrow ones.
"""

from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn

from eowm.data.streams import CIFAR_MEAN, CIFAR_STD
from eowm.nets.classifier import CNN, MLP, dropout, layers
from eowm.settings.run import RunSettings

ROWS = 10  # last-layer inputs that one generator makes the weights of
GENERATOR_DROPOUT = 0.3
ENCODER_NOISE = 0.01  # standard deviation of what is added to training images
INITIAL_STD = 0.01  # of a generator 1000 wide; scaled so that narrow ones begin as strong


class WeightGenerator(nn.Module):
    """f: z → the weights of some last-layer inputs, by one MLP for every ten of them.

    All MLPs are computed at once. Their outputs are joined by feature, so that an example's weights
    come from its own z. (The published code joins them by example, which mixes the batch.)
    """

    def __init__(self, code: int, width: int, inputs: int, classes: int) -> None:
        super().__init__()
        sizes, mlps = [code, width, width, ROWS * classes], inputs // ROWS
        self.shape = (inputs, classes)
        std = INITIAL_STD * (1000 / width) ** 0.5
        self.weights = nn.ParameterList(torch.randn(mlps, a, b) * std for a, b in pairwise(sizes))
        self.biases = nn.ParameterList(torch.zeros(mlps, 1, b) for b in sizes[1:])

    def forward(self, z: Tensor) -> Tensor:
        """(examples, code) → (examples, inputs, classes)"""
        h = z.expand(len(self.weights[0]), *z.shape)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = torch.baddbmm(bias, h, weight)
            if i < len(self.weights) - 1:
                h = dropout(h, GENERATOR_DROPOUT, self.training)
            h = torch.tanh(h)
        return h.transpose(0, 1).reshape(len(z), *self.shape)


class AdaptiveNet(nn.Module):
    """S(x; f(E(x))): a classifier whose last layer is partly made for each image."""

    mean: Tensor
    std: Tensor

    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__()
        options, cifar = settings.typed_options(), settings.dataset != "mnist"
        code = options.code_size or (64 if settings.tasks <= 3 else 32)
        image = (3, 32, 32) if cifar else (1, 28, 28)
        self.register_buffer("mean", torch.tensor(CIFAR_MEAN if cifar else [0.0]).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor(CIFAR_STD if cifar else [1.0]).view(-1, 1, 1))
        make = _mlps if options.autoencoder == "mlp" else _convolutions
        self.encoder, self.decoder = make(image, options.autoencoder_widths, code)
        self.solver = cast(MLP | CNN, net)
        *_, (self.last_name, last) = layers(net)
        self.generated = options.generated_inputs
        classes, inputs = last.weight.shape  # it keeps the weights of the inputs that are shared
        last.weight = nn.Parameter(last.weight.detach()[:, : inputs - self.generated].clone())
        self.generator = WeightGenerator(code, options.generator_width, self.generated, classes)
        self.code_size = code

    def encode(self, x: Tensor) -> Tensor:
        """E: the code of an image."""
        if self.training:
            x = torch.randn_like(x).mul_(ENCODER_NOISE / self.std).add_(x)
        return self.encoder(x)

    def decode(self, z: Tensor) -> Tensor:
        """D: pixels in [0, 1], the scale that the weights of the losses were made for."""
        return torch.sigmoid(self.decoder(z))

    def pixels(self, x: Tensor) -> Tensor:
        """From the scale of the classifier's inputs, which differs on CIFAR, to [0, 1]."""
        return x * self.std + self.mean

    def images(self, pixels: Tensor) -> Tensor:
        """And back."""
        return (pixels - self.mean) / self.std

    def solve(self, x: Tensor, z: Tensor) -> list[Tensor]:
        """S(x; f(z)): the hidden linear layers' activations, then the logits."""
        hidden = self.solver.linear_inputs(x)[1:]
        shared, adapted = hidden[-1].tensor_split([-self.generated], dim=1)
        logits = getattr(self.solver, self.last_name)(shared)
        return [*hidden, logits + torch.bmm(adapted[:, None], self.generator(z))[:, 0]]

    def forward(self, x: Tensor) -> Tensor:
        return self.solve(x, self.encode(x))[-1]


def mmd(codes: Tensor, prior: Tensor) -> Tensor:
    """Maximum mean discrepancy of two samples of equal size; kernels C/(C + ‖a − b‖²).

    Pairs of an example with itself are left out. The scales are those of WAE's authors.
    """
    n = len(codes)
    scales = torch.tensor([0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0], device=codes.device)
    c = 2 * codes.shape[1] * scales.view(-1, 1, 1)

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        distances = a.square().sum(1)[:, None] + b.square().sum(1) - 2 * a @ b.T
        return (c / (c + distances)).sum(0)

    within = kernel(codes, codes) + kernel(prior, prior)
    within = within.sum() - within.diagonal().sum()
    return within / max(n * (n - 1), 1) - 2 * kernel(codes, prior).mean()


def _mlps(image: tuple[int, ...], widths: tuple[int, ...], code: int) -> list[nn.Sequential]:
    """784-1000-1000-z and back (ours): permuted images have no neighbourhoods to convolve."""
    pixels = image[0] * image[1] * image[2]
    encoder: list[nn.Module] = [nn.Flatten()]
    for a, b in pairwise((pixels, *widths)):
        encoder += [nn.Linear(a, b), nn.ReLU()]
    decoder: list[nn.Module] = []
    for a, b in pairwise((code, *reversed(widths))):
        decoder += [nn.Linear(a, b), nn.ReLU()]
    return [
        nn.Sequential(*encoder, nn.Linear(widths[-1], code)),
        nn.Sequential(*decoder, nn.Linear(widths[0], pixels), nn.Unflatten(1, image)),
    ]


def _convolutions(
    image: tuple[int, ...], widths: tuple[int, ...], code: int
) -> list[nn.Sequential]:
    """4×4 convolutions that halve the image, and their mirror with a last one at full size."""
    channels, side, _ = image
    encoder: list[nn.Module] = []
    for a, b in pairwise((channels, *widths)):
        encoder += [nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(a, b, 4, stride=2), nn.ReLU()]
    last = -(-side // 2 ** len(widths))
    first = side // 2 ** (len(widths) - 1)
    decoder: list[nn.Module] = [
        nn.Linear(code, widths[-1] * first**2), nn.ReLU(),
        nn.Unflatten(1, (widths[-1], first, first)),
    ]  # fmt: skip
    for a, b in pairwise(reversed(widths)):
        decoder += [nn.ConvTranspose2d(a, b, 4, stride=2, padding=1), nn.ReLU()]
    return [
        nn.Sequential(*encoder, nn.Flatten(), nn.Linear(widths[-1] * last**2, code)),
        nn.Sequential(*decoder, nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(widths[0], channels, 4)),
    ]
