"""How it learns; the equations are in `ae_mir/__init__.py`."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from eowm.data.streams import Task
from eowm.errors import ConfigError
from eowm.methods.base import Method
from eowm.methods.buffer import Reservoir
from eowm.methods.optimisers import Adam
from eowm.nets import autoencoders
from eowm.settings.run import RunSettings

# All as published.
AUTOENCODER_RATE = 1e-3  # of Adam
ASCENT = 10.0  # length of the step on codes
DISAGREEMENT = 200.0  # weight of KL(copy ‖ virtual) in what it climbs; that of confidence is 1
REPLAY_WEIGHT = 0.5  # in the classifier's loss
CHUNK = 500  # codes encoded anew at once


class AEMIR(Method):
    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__(net, settings)
        if self.training.norm_penalty or self.training.clip_norm:
            raise ConfigError(
                "norm_penalty must be 0 and clip_norm null for AE-MIR: it has its own loss"
            )
        self.autoencoder = autoencoders.build(settings.dataset).to(self.weights[0].device)
        self.autoencoder_optimiser = Adam(self.autoencoder.parameters(), AUTOENCODER_RATE)
        self.old_net = copy.deepcopy(net).requires_grad_(False).eval()
        self.old_autoencoder = copy.deepcopy(self.autoencoder).requires_grad_(False).eval()
        self.memory = Reservoir(self.options.memory)
        self.task = 0

    def begin_task(self, task: Task) -> None:
        super().begin_task(task)
        self.task = task.index

    def observe(self, x: Tensor, y: Tensor, progress: float) -> Tensor:
        """The loss is the autoencoder's, plus the classifier's where it learns."""
        epochs = self.training.epochs
        classifies = progress >= (epochs - self.options.classifier_epochs) / epochs
        slots = self.retrieve(x, y) if classifies else self._draw(self.options.replayed)
        replayed, labels = self._recall(slots, x, y)
        loss = self._learn_images(torch.cat([x, replayed]))
        if classifies:
            code, image = self._autoencoded(x)
            if self.task == 0:  # real images
                loss = loss + super().observe(x, y, progress)
            else:
                loss = loss + self._learn_labels(image, y, replayed, labels)
            if progress >= (epochs - 1) / epochs:  # each image is offered to memory once
                self.memory.add(self.task, code=code, y=y)
        return loss

    @torch.no_grad()
    def end_task(self, task: Task) -> None:
        """Codes of earlier tasks are translated for the new decoder; copies are made anew."""
        self.autoencoder.eval()
        for slots in self.memory.earlier(task.index).split(CHUNK):
            images = self.old_autoencoder.decode(self.memory.columns["code"][slots])
            self.memory.columns["code"][slots] = self.autoencoder.encode(images)
        self.old_net.load_state_dict(self.net.state_dict())
        self.old_autoencoder.load_state_dict(self.autoencoder.state_dict())

    @torch.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        return super().predict(self._autoencoded(x)[1])

    # --- learning --------------------------------------------------------------------------

    def _learn_images(self, images: Tensor) -> Tensor:
        self.autoencoder.train()
        self.autoencoder_optimiser.zero_grad()
        loss = F.mse_loss(self.autoencoder(images), images)
        loss.backward()
        self.autoencoder_optimiser.step()
        return loss.detach()

    def _learn_labels(self, x: Tensor, y: Tensor, replayed: Tensor, labels: Tensor) -> Tensor:
        self.net.train()
        self.optimiser.zero_grad()
        logits = self.net(torch.cat([x, replayed]))
        losses = F.cross_entropy(logits, torch.cat([y, labels]), reduction="none")
        new, old = losses[: len(y)].sum(), losses[len(y) :].sum()
        loss = ((1 - REPLAY_WEIGHT) * new + REPLAY_WEIGHT * old) / len(losses)
        loss.backward()
        self.optimiser.step()
        return loss.detach()

    @torch.no_grad()
    def _autoencoded(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Codes and reconstructions."""
        self.autoencoder.eval()
        code = self.autoencoder.encode(x)
        return code, self.autoencoder.decode(code)

    # --- replay ----------------------------------------------------------------------------

    def retrieve(self, x: Tensor, y: Tensor) -> Tensor:
        """The slots nearest to the codes where interference is sought, repeated to fill a batch."""
        candidates = self._draw(self.options.candidates)
        if not len(candidates):
            return candidates
        kept = self.memory.columns["code"][candidates]
        nearest = torch.cdist(self.interfered_codes(x, y), kept).argmin(1)
        return candidates[nearest].repeat(max(1, self.options.replayed // len(x)))

    def interfered_codes(self, x: Tensor, y: Tensor) -> Tensor:
        """The batch's codes after one step towards disagreement of two confident classifiers."""
        self.net.eval()
        loss = F.cross_entropy(self.net(x), y)
        weights = dict(self.net.named_parameters())
        gradients = torch.autograd.grad(loss, list(weights.values()))
        virtual = {
            name: (weight - self.training.learning_rate * gradient).detach()
            for (name, weight), gradient in zip(weights.items(), gradients, strict=True)
        }
        code = self.old_autoencoder.encode(x).requires_grad_()
        images = self.old_autoencoder.decode(code)
        old = self.old_net(images).log_softmax(1)
        new = functional_call(self.net, virtual, (images,)).log_softmax(1)
        disagreement = F.kl_div(new, old.exp(), reduction="sum") / old.shape[1]  # mean of classes
        confidence = (old.exp() * old).sum() + (new.exp() * new).sum()
        (uphill,) = torch.autograd.grad(DISAGREEMENT * disagreement + confidence, code)
        return (code + ASCENT * uphill).detach()

    def _draw(self, count: int) -> Tensor:
        return self.memory.draw(count, before=self.task).to(self.weights[0].device)

    @torch.no_grad()
    def _recall(self, slots: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Decoded images and labels; none of them where memory has nothing of earlier tasks."""
        if not len(slots):
            return x[:0], y[:0]
        images = self.old_autoencoder.decode(self.memory.columns["code"][slots])
        return images, self.memory.columns["y"][slots]

    # --- state -----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "autoencoder": self.autoencoder.state_dict(),
            "autoencoder_optimiser": self.autoencoder_optimiser.state_dict(),
            "old_net": self.old_net.state_dict(),
            "old_autoencoder": self.old_autoencoder.state_dict(),
            "task": self.task,
            "memory": self.memory.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.autoencoder.load_state_dict(state["autoencoder"])
        self.autoencoder_optimiser.load_state_dict(state["autoencoder_optimiser"])
        self.old_net.load_state_dict(state["old_net"])
        self.old_autoencoder.load_state_dict(state["old_autoencoder"])
        self.task = state["task"]
        self.memory.load_state_dict(state["memory"], self.weights[0].device)
