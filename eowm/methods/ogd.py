"""Orthogonal Gradient Descent (Farajtabar, Azizan, Mott, Li, 2020).

At the end of a task, gradients of the network's outputs (logits, not losses) at some of its images
are kept. While a later task is learnt, each batch's gradient loses its component in their span, so
that to first order those outputs do not change. Which outputs of an image are kept:

- `gtl`: the logit of its label (what the paper's experiments use),
- `ave`: the mean of all logits,
- `all`: every logit.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from eowm.data.streams import Task
from eowm.errors import ConfigError
from eowm.methods.base import Method, Tap, output_gradients
from eowm.nets import layers
from eowm.projection import GradientSpan
from eowm.settings import RunSettings

CHUNK = 100  # images whose gradients are formed at once


class OGD(Method):
    name = "ogd"

    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__(net, settings)
        if self.training.norm_penalty:
            raise ConfigError(
                "norm_penalty must be 0 for OGD: it projects the loss of a batch alone"
            )
        self.layers = dict(layers(net))
        self.taps = {name: Tap(layer) for name, layer in self.layers.items()}
        self.span = GradientSpan()

    @torch.no_grad()
    def adjust_gradients(self, progress: float) -> None:
        if not len(self.span):
            return
        gradients = {
            name: layer.weight.grad
            for name, layer in self.layers.items()
            if layer.weight.grad is not None
        }
        batch = {name: (tap.x, tap.delta) for name, tap in self.taps.items()}
        for name, projected in self.span.project(batch, gradients).items():
            self.layers[name].weight.grad = projected

    def end_task(self, task: Task) -> None:
        if self.options.memory == 0:
            return
        self._keep(*self.sample(task))
        self.span.build()

    def sample(self, task: Task) -> tuple[Tensor, Tensor]:
        """Images drawn uniformly from the finished task, scaled, and their labels."""
        chosen = torch.randperm(len(task.train))[: self.options.memory]
        return task.train.batch(chosen.to(task.train.labels.device))

    def _keep(self, x: Tensor, y: Tensor) -> None:
        for images, labels in zip(x.split(CHUNK), y.split(CHUNK), strict=True):
            with output_gradients(self.net, images) as (logits, backward):
                for outputs in self._chosen_outputs(logits, labels):
                    backward(outputs)
                    self.span.extend(*self._captured())

    def _chosen_outputs(self, logits: Tensor, labels: Tensor) -> list[Tensor]:
        choices = {
            "gtl": lambda: [logits.gather(1, labels[:, None])[:, 0]],
            "ave": lambda: [logits.mean(1)],
            "all": lambda: list(logits.unbind(1)),
        }
        return choices[self.options.outputs]()

    def _captured(self) -> tuple[dict[str, tuple[Tensor, Tensor]], dict[str, Tensor]]:
        """What the taps hold: factors of linear layers, explicit gradients of convolutions."""
        factors, explicit = {}, {}
        for name, layer in self.layers.items():
            tap = self.taps[name]
            if isinstance(layer, nn.Conv2d):
                explicit[name] = tap.conv_gradients(layer).flatten(1)
            else:
                factors[name] = (tap.x.clone(), tap.delta.clone())
        return factors, explicit

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"span": self.span.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.span.load_state_dict(state["span"], self.weights[0].device)
