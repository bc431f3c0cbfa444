"""Orthogonal Weights Modification (Zeng, Chen, Cui, Yu, 2019), as its published code computes it.

For every batch of every task, the first one included, and for each layer (Eqs. 1 and 2):

1. P ← (P⁻¹ + x̄x̄ᵀ/α)⁻¹ with the batch's mean input x̄ (convolutions: the patches of the mean map);
2. the gradient G (outputs × inputs) becomes G P, with the P that already knows this batch.

α is the scenario's: constant, or falling geometrically over each task.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from eowm.methods.base import Method, Tap
from eowm.nets import Layer, layers
from eowm.projection import Projector, geometric, mean_input, mean_patches
from eowm.settings import RunSettings


class OWM(Method):
    name = "owm"

    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__(net, settings)
        self.layers = dict(layers(net))
        self.taps = {name: Tap(layer) for name, layer in self.layers.items()}
        self.projectors = {
            name: Projector(layer.weight[0].numel(), layer.weight.device)
            for name, layer in self.layers.items()
        }
        self.by_inputs = {
            name for name, layer in self.layers.items() if self._projects_inputs(layer)
        }
        for name in self.by_inputs:  # their gradient is formed here, not by autograd
            self.layers[name].weight.requires_grad_(False)

    @torch.no_grad()
    def adjust_gradients(self, progress: float) -> None:
        for name, layer in self.layers.items():
            projector, tap = self.projectors[name], self.taps[name]
            projector.update(self._rows(layer, tap.x), self._alpha(name, progress))
            if name in self.by_inputs:
                layer.weight.grad = tap.delta.T @ projector.project(tap.x)  # δᵀ(X P)
            else:
                gradient = layer.weight.grad
                assert gradient is not None
                layer.weight.grad = projector.project(gradient.flatten(1)).view_as(gradient)

    def state_dict(self) -> dict[str, Any]:
        projectors = {name: p.state_dict() for name, p in self.projectors.items()}
        return super().state_dict() | {"projectors": projectors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        for name, projector in self.projectors.items():
            projector.load_state_dict(state["projectors"][name])

    def _projects_inputs(self, layer: Layer) -> bool:
        """Cheaper where a batch has fewer rows than the gradient; but a norm penalty, whose
        gradient must be projected too, does not pass through the inputs."""
        wide = isinstance(layer, nn.Linear) and layer.out_features > self.training.batch_size
        return wide and not self.training.norm_penalty

    def _rows(self, layer: Layer, x: Tensor) -> Tensor:
        if isinstance(layer, nn.Conv2d):
            return mean_patches(x, layer.kernel_size[0], self.options.projector_stride)
        return mean_input(x)

    def _alpha(self, name: str, progress: float) -> float:
        schedules = self.options.alpha
        schedule = schedules.get(name) or schedules[name.rstrip("0123456789")]
        return geometric(schedule, progress)
