"""How it learns; the equations are in `ogd/__init__.py`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from eowm.algebra.projection import GradientSpan
from eowm.data.streams import Task
from eowm.errors import ConfigError
from eowm.methods.base import Method, Tap, output_gradients
from eowm.nets.classifier import layers
from eowm.settings.run import RunSettings

CHUNK = 100  # images whose gradients are formed at once
LAZY = 64  # steps whose projections are multiplied out at once


class OGD(Method):
    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__(net, settings)
        if self.training.norm_penalty:
            raise ConfigError(
                "norm_penalty must be 0 for OGD: it projects the loss of a batch alone"
            )
        self.layers = dict(layers(net))
        self.taps = {name: Tap(layer) for name, layer in self.layers.items()}
        self.kernels: dict[str, Tensor] = {}  # of the latest batch with the kept inputs
        for name, layer in self.layers.items():
            if isinstance(layer, nn.Linear):
                layer.register_forward_hook(partial(self._correct, name))
        # Momentum and clipping need the projected gradient itself.
        self.lazy = self.training.momentum == 0.0 and self.training.clip_norm is None
        self.span = GradientSpan()
        # Of the steps that are not multiplied out: their number, η Σ J g, and c of it in float32.
        self.put_off = 0
        self.products: Tensor | None = None
        self.rough: Tensor | None = None

    def _correct(
        self, name: str, layer: nn.Module, args: tuple[Tensor, ...], output: Tensor
    ) -> Tensor | None:
        """A linear layer's output as its weights will be once they are multiplied out."""
        if not layer.training or not len(self.span):
            return None
        kernel = self.span.kernel(name, args[0])
        self.kernels[name] = kernel.detach()
        if self.rough is None:
            return None
        return output + self.span.response(name, kernel, self.rough)

    @torch.no_grad()
    def adjust_gradients(self, progress: float) -> None:
        if not len(self.span):
            return
        gradients = {
            name: layer.weight.grad
            for name, layer in self.layers.items()
            if layer.weight.grad is not None
        }
        deltas = {name: tap.delta for name, tap in self.taps.items()}
        products = self.span.products(self.kernels, deltas, gradients)
        at_once = self.span.explicit if self.lazy else gradients
        if at_once:
            c = self.span.coefficients(products)
        for name in at_once:
            gradients[name] -= self.span.combination(name, c).view_as(gradients[name])
        if self.lazy:
            self._put_off(self.training.learning_rate * products)

    def _put_off(self, products: Tensor) -> None:
        self.products = products if self.products is None else self.products + products
        self.rough = self.span.rough_coefficients(self.products)
        self.put_off += 1
        if self.put_off == LAZY:
            self._multiply_out()

    @torch.no_grad()
    def _multiply_out(self) -> None:
        if self.products is not None:
            c = self.span.coefficients(self.products)
            for name in self.span.factors:
                self.layers[name].weight += self.span.combination(name, c)
        self._forget_products()

    def _forget_products(self) -> None:
        self.put_off, self.products, self.rough = 0, None, None

    def predict(self, x: Tensor) -> Tensor:
        self._multiply_out()
        return super().predict(x)

    def end_task(self, task: Task) -> None:
        self._multiply_out()
        if self.options.memory == 0:
            return
        self.collect(*self.sample(task))
        self.span.build()

    def collect(self, x: Tensor, y: Tensor) -> None:
        """Add the gradients of a finished task."""
        self._keep(x, y)

    def sample(self, task: Task) -> tuple[Tensor, Tensor]:
        """Images drawn uniformly from the finished task, scaled, and their labels."""
        chosen = torch.randperm(len(task.train))[: self.options.memory]
        return task.train.batch(chosen.to(task.train.labels.device))

    def _keep(self, x: Tensor, y: Tensor) -> None:
        for images, labels in zip(x.split(CHUNK), y.split(CHUNK), strict=True):
            with output_gradients(self.net, images) as (logits, backward):
                backward(logits.gather(1, labels[:, None])[:, 0])
                self.span.extend(*self._captured())

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
        self._multiply_out()
        return super().state_dict() | {"span": self.span.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self._forget_products()
        self.span.load_state_dict(state["span"], self.weights[0].device)
