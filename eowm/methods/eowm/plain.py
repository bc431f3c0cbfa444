"""OWM and EOWM step by step as their published codes compute them: what the method must equal."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from eowm import nets
from eowm.algebra.projection import geometric
from eowm.algebra.textbook import eowm_projector, owm_recursion, stride_patches
from eowm.settings.run import RunSettings


class PlainEOWM:
    """OWM and EOWM as their published codes compute a step: gradient · P, an explicit product
    P·Q, and a loop of rank-1 updates; momentum and clipping by hand.

    `coefficients` and `case` (layer name → similar?) are those of an EOWM method; without them
    this is OWM.
    """

    def __init__(
        self,
        net: nn.Module,
        settings: RunSettings,
        coefficients: Any = None,
        case: Callable[[str], bool] = bool,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        self.net, self.settings, self.dtype = net, settings, dtype
        self.coefficients, self.case = coefficients, case
        sizes = {name: layer.weight[0].numel() for name, layer in nets.layers(net)}
        self.p = {name: torch.eye(size, dtype=dtype) for name, size in sizes.items()}
        self.q_ort = {name: torch.eye(size, dtype=dtype) for name, size in sizes.items()}
        self.velocity: dict[str, Tensor] = {}

    def step(self, x: Tensor, y: Tensor, progress: float) -> None:
        self.net.train()
        training = self.settings.training
        projected = self._projected_gradients(x, y, progress)
        if training.clip_norm:
            norm = math.sqrt(sum(float((g**2).sum()) for g in projected.values()))
            factor = min(1.0, training.clip_norm / (norm + 1e-6))
            projected = {name: g * factor for name, g in projected.items()}
        with torch.no_grad():
            for name, layer in nets.layers(self.net):
                before = self.velocity.get(name, torch.zeros_like(layer.weight))
                self.velocity[name] = training.momentum * before + projected[name]
                layer.weight -= training.learning_rate * self.velocity[name]

    def _projected_gradients(self, x: Tensor, y: Tensor, progress: float) -> dict[str, Tensor]:
        inputs, gradients = self._inputs_and_gradients(x, y)
        projected = {}
        for name, layer in nets.layers(self.net):
            self._update_p(name, inputs[name], progress)
            matrix = self.p[name]
            if self.coefficients:
                self._update_q(name, layer, progress)
                similar = self.case(name)
                c1 = self.coefficients.c1(progress)
                c2 = self.coefficients.c2(progress, similar)
                matrix = eowm_projector(matrix, self.q_ort[name], c1, c2, similar)
            flat = gradients[name].to(self.dtype).flatten(1) @ matrix.T
            projected[name] = flat.view_as(gradients[name]).float()
        return projected

    def _inputs_and_gradients(
        self, x: Tensor, y: Tensor
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        inputs: dict[str, Tensor] = {}
        hooks = [
            layer.register_forward_hook(lambda _, a, __, n=name: inputs.update({n: a[0].detach()}))
            for name, layer in nets.layers(self.net)
        ]
        weights = {name: layer.weight for name, layer in nets.layers(self.net)}
        loss = F.cross_entropy(self.net(x), y)
        loss = loss + self.settings.training.norm_penalty * sum(w.norm() for w in weights.values())
        gradients = torch.autograd.grad(loss, list(weights.values()))
        for hook in hooks:
            hook.remove()
        return inputs, dict(zip(weights, gradients, strict=True))

    def _update_p(self, name: str, x: Tensor, progress: float) -> None:
        mean = x.mean(0).to(self.dtype)
        if "conv" in name:
            rows = stride_patches(nets.padded_on_all_sides(mean[None])[0], 2, 2)
        else:
            rows = mean[None]
        for row in rows:
            self.p[name] = owm_recursion(self.p[name], row, self._at("alpha", name, progress))

    def _update_q(self, name: str, layer: nets.Layer, progress: float) -> None:
        weight = layer.weight.detach().to(self.dtype).flatten(1)
        for row in weight if "conv" in name else weight.mean(0)[None]:
            beta = self._at("beta", name, progress)
            self.q_ort[name] = owm_recursion(self.q_ort[name], row, beta)

    def _at(self, option: str, name: str, progress: float) -> float:
        schedules = self.settings.options[option]
        return geometric(schedules.get(name) or schedules[name[:-1]], progress)
