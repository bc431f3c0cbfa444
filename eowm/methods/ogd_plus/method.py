"""How it learns; the equations are in `ogd_plus/__init__.py`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from eowm.algebra.projection import GradientSpan
from eowm.methods.ogd.method import OGD
from eowm.settings.run import RunSettings


class OGDPlus(OGD):
    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__(net, settings)
        self.images: list[Tensor] = []
        self.labels: list[Tensor] = []

    def collect(self, x: Tensor, y: Tensor) -> None:
        self.images.append(x)
        self.labels.append(y)
        if self.options.basis == "replace":
            self.span = GradientSpan()
        self._keep(torch.cat(self.images), torch.cat(self.labels))

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"images": self.images, "labels": self.labels}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        device = self.weights[0].device
        self.images = [x.to(device) for x in state["images"]]
        self.labels = [y.to(device) for y in state["labels"]]
