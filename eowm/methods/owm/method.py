"""How it learns; the equations are in `owm/__init__.py`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from eowm.algebra.projection import Projector, geometric, mean_input, mean_map, mean_patches
from eowm.data.streams import Task
from eowm.methods.base import Method, Tap
from eowm.methods.owm.coefficients import Coefficients
from eowm.nets.classifier import Layer, layers, padded_on_all_sides
from eowm.settings.run import RunSettings


class OWM(Method):
    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__(net, settings)
        self.layers = dict(layers(net))
        self.taps = {name: Tap(layer) for name, layer in self.layers.items()}
        self.input_space = self._new_projectors()  # P of each layer
        self.coefficients = Coefficients(self.options, settings)
        self.by_inputs = {
            name for name, layer in self.layers.items() if self._projects_inputs(layer)
        }
        for name in self.by_inputs:  # their gradient is formed here, not by autograd
            self.layers[name].weight.requires_grad_(False)

    def begin_task(self, task: Task) -> None:
        super().begin_task(task)
        self.coefficients.begin_task(task)

    @torch.no_grad()
    def adjust_gradients(self, progress: float) -> None:
        if not self.options.updates:
            self.update_projectors(progress)
        for name, layer in self.layers.items():
            if name in self.by_inputs:  # G P = δᵀ(X P)
                tap = self.taps[name]
                layer.weight.grad = tap.delta.T @ self.project(name, tap.x, progress)
            else:
                gradient = layer.weight.grad
                assert gradient is not None
                rows = self.project(name, gradient.flatten(1), progress)
                layer.weight.grad = rows.view_as(gradient)
        if self.options.updates == "after":
            self.update_projectors(progress)

    def update_projectors(self, progress: float) -> None:
        for name, layer in self.layers.items():
            rows = self.input_rows(layer, self.taps[name].x)
            self.input_space[name].update(rows, scheduled(self.options.alpha, name, progress))

    def project(self, name: str, rows: Tensor, progress: float) -> Tensor:
        """Rows of a gradient, or the inputs it is made of, through the layer's projector."""
        c1 = self.coefficients.c1(progress)
        return self.input_space[name].project(rows if c1 == 1.0 else c1 * rows)

    def input_rows(self, layer: Layer, x: Tensor) -> Tensor:
        """What P keeps of a batch."""
        if isinstance(layer, nn.Conv2d):
            seen = padded_on_all_sides(mean_map(x))
            return mean_patches(seen, layer.kernel_size[0], self.options.projector_stride)
        return mean_input(x)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "input_space": {name: p.state_dict() for name, p in self.input_space.items()},
            "coefficients": self.coefficients.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        for name, projector in self.input_space.items():
            projector.load_state_dict(state["input_space"][name])
        self.coefficients.load_state_dict(state["coefficients"])

    def _projects_inputs(self, layer: Layer) -> bool:
        """Cheaper where a batch has fewer rows than the gradient; but a norm penalty, whose
        gradient must be projected too, does not pass through the inputs."""
        wide = isinstance(layer, nn.Linear) and layer.out_features > self.training.batch_size
        return wide and not self.training.norm_penalty

    def _new_projectors(self) -> dict[str, Projector]:
        return {
            name: Projector(layer.weight[0].numel(), layer.weight.device)
            for name, layer in self.layers.items()
        }


def scheduled(schedules: Mapping[str, tuple[float, float]], name: str, progress: float) -> float:
    """α or β of a layer, by its name (`fc1`) or its kind (`fc`)."""
    schedule = schedules.get(name) or schedules[name.rstrip("0123456789")]
    return geometric(schedule, progress)
