"""How it learns; the equations are in `pgma/__init__.py`."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from eowm.data.streams import Task
from eowm.methods.base import Method
from eowm.methods.optimisers import Adam, Optimiser
from eowm.nets.pgma import AdaptiveNet, mmd
from eowm.settings.run import RunSettings

BETA1 = 0.5  # of Adam
BANK_CHUNK = 1000  # images of the bank that are made at once


@dataclass
class Replay:
    """Drawn codes, their images, and what the nets of that moment make of them.

    All of it is constant while a task is learnt, so it is computed once, not in every step.
    """

    z: Tensor
    images: Tensor  # x' = D'(z), in the scale of the classifier's inputs
    codes: Tensor  # E'(x')
    activations: list[Tensor]  # S'(x'; f'(z)), hidden layers and logits

    def draw(self, count: int) -> "Replay":
        chosen = torch.randperm(len(self.z), device=self.z.device)[:count]
        return Replay(
            self.z[chosen],
            self.images[chosen],
            self.codes[chosen],
            [layer[chosen] for layer in self.activations],
        )


class PGMA(Method):
    """`net` holds everything that learns, so the selection of an epoch covers all of it."""

    net: AdaptiveNet

    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        device = next(net.parameters()).device
        super().__init__(AdaptiveNet(net, settings).to(device), settings)
        self.tasks = settings.tasks
        self.old: AdaptiveNet | None = None  # the nets with a prime
        self.bank: Replay | None = None
        self.bank_seed = 0

    def begin_task(self, task: Task) -> None:
        """Adam's averages carry over from task to task, as in the published code."""

    def observe(self, x: Tensor, y: Tensor, progress: float) -> Tensor:
        """Two steps of the autoencoder, then one of solver and generator, on the same images."""
        prior = torch.randn(len(x), self.net.code_size, device=x.device)
        replay = self.bank.draw(self.options.replay_batch) if self.bank else None
        for _ in range(2):
            self._step(self.autoencoder_loss(x, prior, replay))
        return self._step(self.solver_loss(x, y, replay))

    def _step(self, loss: Tensor) -> Tensor:
        """Adam moves only the weights that the loss depends on; the others have no gradient."""
        self.optimiser.zero_grad()
        loss.backward()
        if self.training.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.net.parameters(), self.training.clip_norm)
        self.optimiser.step()
        return loss.detach()

    def autoencoder_loss(self, x: Tensor, prior: Tensor, replay: Replay | None) -> Tensor:
        net = self.net.train()
        if replay is None:
            codes = net.encode(x)
            return 0.1 * self.reconstruction_loss(x, codes) + mmd(codes, prior)
        sizes = [len(x), len(replay.z)]
        codes, replay_codes = net.encode(torch.cat([x, replay.images])).split(sizes)
        drawn = net.decode(replay.z) - net.pixels(replay.images)
        keep_images = drawn.flatten(1).norm(dim=1).mean()
        keep_z = (replay_codes - replay.z).norm(dim=1).mean()
        keep_codes = (replay_codes - replay.codes).norm(dim=1).mean()
        return (
            0.5 * self.tasks * self.reconstruction_loss(x, codes)
            + mmd(codes, prior)
            + 0.01 * (keep_z + keep_images)
            + keep_codes
        )

    def reconstruction_loss(self, x: Tensor, codes: Tensor) -> Tensor:
        """0.05 times the squared error of an image, all its pixels together."""
        pixels = self.net.decode(codes)
        return 0.05 / len(x) * F.mse_loss(pixels, self.net.pixels(x), reduction="sum")

    def solver_loss(self, x: Tensor, y: Tensor, replay: Replay | None) -> Tensor:
        with torch.no_grad():
            codes = self.net.train().encode(x)
        loss = F.cross_entropy(self.net.solve(x, codes)[-1], y)
        if replay is None:
            return loss
        return loss + 0.01 * self.tasks * self.transfer_loss(replay)

    def transfer_loss(self, replay: Replay) -> Tensor:
        """How far each layer's answer to x' is from the old one, without dropout.

        As published, the old solver took its weights from z, the new one takes them from E'(x').
        """
        found = self.net.eval().solve(replay.images, replay.codes)
        distances = [
            (new - old).square().sum(1).mean()
            for new, old in zip(found, replay.activations, strict=True)
        ]
        return torch.stack(distances).sum()

    def end_task(self, task: Task) -> None:
        if task.index + 1 < self.tasks:
            self.old = copy.deepcopy(self.net)
            self.bank_seed = int(torch.randint(2**62, ()))
            self._fill_bank()

    @torch.no_grad()
    def _fill_bank(self) -> None:
        """Made from the old nets and one seed, so that a checkpoint need not hold the images."""
        assert self.old is not None
        old, generator = self.old.eval(), torch.Generator().manual_seed(self.bank_seed)
        drawn = torch.randn(self.options.replay_bank, old.code_size, generator=generator)
        z = drawn.to(old.mean.device)
        images, codes, activations = [], [], []
        for part in z.split(BANK_CHUNK):
            images.append(old.images(old.decode(part)))
            codes.append(old.encode(images[-1]))
            activations.append(old.solve(images[-1], part))
        layers = [torch.cat(layer) for layer in zip(*activations, strict=True)]
        self.bank = Replay(z, torch.cat(images), torch.cat(codes), layers)

    def _new_optimiser(self) -> Optimiser:
        rate = self.training.learning_rate
        return Adam(self.net.parameters(), rate, betas=(BETA1, 0.999), fused=True)

    def state_dict(self) -> dict[str, Any]:
        old = self.old.state_dict() if self.old else None
        return super().state_dict() | {"old": old, "bank_seed": self.bank_seed}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        if state["old"] is not None:
            self.old = copy.deepcopy(self.net)
            self.old.load_state_dict(state["old"])
            self.bank_seed = state["bank_seed"]
            self._fill_bank()
