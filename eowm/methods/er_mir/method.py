"""How it learns; the equations are in `er_mir/__init__.py`."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from eowm.data.streams import Task
from eowm.methods.base import Method
from eowm.methods.buffer import Reservoir
from eowm.settings.run import RunSettings


class ERMIR(Method):
    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__(net, settings)
        self.memory = Reservoir(self.options.memory)
        self.task = 0

    def begin_task(self, task: Task) -> None:
        super().begin_task(task)
        self.task = task.index

    def observe(self, x: Tensor, y: Tensor, progress: float) -> Tensor:
        loss = super().observe(x, y, progress)
        if progress < 1 / self.training.epochs:  # the first epoch
            self.memory.add(self.task, x=x, y=y)
        return loss

    def adjust_gradients(self, progress: float) -> None:
        """Two means are added: the replayed images weigh as much as the batch."""
        slots = self.retrieve(self.memory.draw(self.options.candidates, before=self.task))
        if len(slots):
            x, y = self.memory.columns["x"][slots], self.memory.columns["y"][slots]
            F.cross_entropy(self.net(x), y).backward()

    @torch.no_grad()
    def retrieve(self, candidates: Tensor) -> Tensor:
        """The slots of the most interfered images."""
        if len(candidates) <= self.options.retrieved:
            return candidates
        candidates = candidates.to(self.weights[0].device)
        return candidates[self.interference(candidates).topk(self.options.retrieved).indices]

    def interference(self, slots: Tensor) -> Tensor:
        """Loss after the virtual step minus loss before it.

        In evaluation mode no dropout blurs the difference. The published code scores in training
        mode (`scores: training`), where batch normalisation goes by the candidates themselves and
        not by its running statistics, which lag behind.
        """
        x, y = self.memory.columns["x"], self.memory.columns["y"]
        virtual = {
            name: parameter - self.training.learning_rate * parameter.grad
            for name, parameter in self.net.named_parameters()
            if parameter.grad is not None
        }
        self.net.train(self.options.scores == "training")
        before = F.cross_entropy(self.net(x[slots]), y[slots], reduction="none")
        copies = {name: buffer.clone() for name, buffer in self.net.named_buffers()}
        logits = functional_call(self.net, virtual | copies, (x[slots],))
        after = F.cross_entropy(logits, y[slots], reduction="none")
        self.net.train()
        return after - before

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"task": self.task, "memory": self.memory.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.task = state["task"]
        self.memory.load_state_dict(state["memory"], self.weights[0].device)
