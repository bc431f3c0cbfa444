"""How it learns; the equations are in `ewc/__init__.py`."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from eowm.data.streams import Task
from eowm.methods.base import Method, Tap, output_gradients
from eowm.nets.classifier import layers
from eowm.settings.run import RunSettings

FISHER_BATCH = 500


class EWC(Method):
    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__(net, settings)
        self.taps = {name: Tap(layer) for name, layer in layers(net)}
        zeros = {name: torch.zeros_like(layer.weight) for name, layer in layers(net)}
        self.precision = zeros  # A
        self.pull = {name: z.clone() for name, z in zeros.items()}  # b
        self.anchor = {name: z.clone() for name, z in zeros.items()}  # θ*

    def observe(self, x: Tensor, y: Tensor, progress: float) -> Tensor:
        loss = super().observe(x, y, progress)
        self._pull_back()
        return loss

    def end_task(self, task: Task) -> None:
        """Add this task's quadratic around the present weights, and move the anchor there."""
        self._consolidate(self.fisher(task))

    @torch.no_grad()
    def _consolidate(self, fisher: dict[str, Tensor]) -> None:
        for name, layer in layers(self.net):
            if self.options.online:  # one quadratic, around the latest weights only
                self.precision[name].add_(fisher[name])
                self.pull[name].zero_()
            else:
                drift = self.anchor[name] - layer.weight
                self.pull[name].add_(self.precision[name] * drift)
                self.precision[name].add_(fisher[name])
            self.anchor[name].copy_(layer.weight)

    @torch.no_grad()
    def _pull_back(self) -> None:
        step = self.options.strength * self.training.learning_rate / (1 - self.training.momentum)
        if step == 0.0:
            return
        for name, layer in layers(self.net):
            force = self.precision[name] * (layer.weight - self.anchor[name]) - self.pull[name]
            layer.weight.sub_(force.mul_(step).div_(1 + step * self.precision[name]))

    def fisher(self, task: Task) -> dict[str, Tensor]:
        """Mean over (a sample of) the task's images, in evaluation mode."""
        count = min(self.options.fisher_images, len(task.train))
        chosen = torch.randperm(len(task.train))[:count].to(task.train.labels.device)
        total = {name: torch.zeros_like(layer.weight) for name, layer in layers(self.net)}
        for index in chosen.split(FISHER_BATCH):
            for name, squares in self._squared_gradients(task.train.batch(index)[0]):
                total[name] += squares / count
        return total

    def _squared_gradients(self, x: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Σ over images of p(y|x) (∂ log p(y|x)/∂W)², for every label or for a sampled one."""
        with output_gradients(self.net, x) as (logits, backward):
            log_p = logits.log_softmax(1)
            p = log_p.detach().exp()
            if self.options.fisher_labels == "all":
                for label in range(logits.shape[1]):
                    backward(log_p[:, label])
                    yield from self._squares(p[:, label])
            else:
                drawn = torch.multinomial(p, 1)
                backward(log_p.gather(1, drawn)[:, 0])
                yield from self._squares(torch.ones_like(p[:, 0]))

    def _squares(self, weight: Tensor) -> Iterator[tuple[str, Tensor]]:
        for name, layer in layers(self.net):
            tap = self.taps[name]
            if isinstance(layer, nn.Linear):  # (δxᵀ)² summed over images is (δ²)ᵀ(x²)
                yield name, (tap.delta.square() * weight[:, None]).T @ tap.x.square()
            else:
                gradients = tap.conv_gradients(layer)
                yield name, torch.einsum("n,nmckl->mckl", weight, gradients.square())

    def state_dict(self) -> dict[str, Any]:
        kept = {"precision": self.precision, "pull": self.pull, "anchor": self.anchor}
        return super().state_dict() | kept

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        for kept in ("precision", "pull", "anchor"):
            for name, tensor in getattr(self, kept).items():
                tensor.copy_(state[kept][name])
