"""SGD and Adam: torch's own update rules, without the second that `torch.optim.SGD` takes to start.

Its classes load torch's compiler, which lasts longer than a short run trains. The rules themselves
are plain functions that do not; here is only what they keep from step to step.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.sgd import sgd


class Optimiser(ABC):
    def __init__(self, parameters: Iterable[Tensor], rate: float) -> None:
        self.parameters, self.rate = list(parameters), rate
        self.kept: dict[str, list[Any]] = {}  # by name, one entry a parameter

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """A parameter without a gradient stays as it is."""
        moving = [i for i, parameter in enumerate(self.parameters) if parameter.grad is not None]
        kept = {name: [entries[i] for i in moving] for name, entries in self.kept.items()}
        parameters = [self.parameters[i] for i in moving]
        self.update(parameters, [parameter.grad for parameter in parameters], **kept)
        for name, entries in kept.items():
            for i, entry in zip(moving, entries, strict=True):
                self.kept[name][i] = entry

    @abstractmethod
    def update(self, parameters: list[Tensor], gradients: list[Any], **kept: list[Any]) -> None:
        """Move the parameters in place; entries of `kept` may be changed or replaced."""

    def state_dict(self) -> dict[str, list[Any]]:
        return self.kept

    def load_state_dict(self, state: Mapping[str, list[Any]]) -> None:
        """Each tensor goes where its predecessor is, or beside its parameter."""
        if {n: len(e) for n, e in state.items()} != {n: len(e) for n, e in self.kept.items()}:
            raise ValueError("the optimiser's state is of another network or method")
        for name, entries in state.items():
            for i, entry in enumerate(entries):
                place = self.kept[name][i] if self.kept[name][i] is not None else self.parameters[i]
                self.kept[name][i] = None if entry is None else entry.to(place.device, copy=True)


class SGD(Optimiser):
    def __init__(self, parameters: Iterable[Tensor], rate: float, momentum: float) -> None:
        super().__init__(parameters, rate)
        self.momentum = momentum
        self.kept = {"velocity": [None] * len(self.parameters)}

    def update(self, parameters: list[Tensor], gradients: list[Any], **kept: list[Any]) -> None:
        sgd(
            parameters, gradients, kept["velocity"], lr=self.rate, momentum=self.momentum,
            dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False,
        )  # fmt: skip


class Adam(Optimiser):
    def __init__(
        self,
        parameters: Iterable[Tensor],
        rate: float,
        betas: tuple[float, float] = (0.9, 0.999),
        fused: bool = False,
    ) -> None:
        super().__init__(parameters, rate)
        self.betas, self.fused = betas, fused
        self.kept = {
            "mean": [torch.zeros_like(parameter) for parameter in self.parameters],
            "square": [torch.zeros_like(parameter) for parameter in self.parameters],
            # As in torch: beside the parameter for the fused kernel, else on the host.
            "steps": [torch.zeros((), device=p.device if fused else None) for p in self.parameters],
        }

    def update(self, parameters: list[Tensor], gradients: list[Any], **kept: list[Any]) -> None:
        adam(
            parameters, gradients, kept["mean"], kept["square"], [], kept["steps"],
            lr=self.rate, beta1=self.betas[0], beta2=self.betas[1], eps=1e-8, weight_decay=0.0,
            amsgrad=False, maximize=False, fused=self.fused or None,
        )  # fmt: skip
