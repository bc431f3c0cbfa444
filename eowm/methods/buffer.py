"""The memory of the replay methods: reservoir sampling in a fixed number of slots."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


class Reservoir:
    """A uniform sample of everything that was added, whenever one looks.

    Contents live on the training device, in columns named by the method. Which slot holds an item
    of which task is known on the CPU, so drawing from earlier tasks never waits for the device.
    """

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.seen = 0
        self.tasks = torch.full((slots,), -1)  # −1: still empty
        self.columns: dict[str, Tensor] = {}

    def __len__(self) -> int:
        return min(self.seen, self.slots)

    def add(self, task: int, **values: Tensor) -> None:
        """Offer a batch: item number n is kept with probability slots/n, in a random slot."""
        count = len(next(iter(values.values())))
        number = torch.arange(self.seen, self.seen + count)  # items before it
        slot = (torch.rand(count, dtype=torch.float64) * (number + 1)).long()
        slot = torch.where(number < self.slots, number, slot)
        replaced_again = (slot[:, None] == slot).triu(1).any(1)  # a later item of the batch wins
        kept = ((slot < self.slots) & ~replaced_again).nonzero()[:, 0]
        self.seen += count
        self.tasks[slot[kept]] = task
        for name, items in values.items():
            if name not in self.columns:
                self.columns[name] = items.new_zeros((self.slots, *items.shape[1:]))
            column = self.columns[name]
            column[slot[kept].to(column.device)] = items.detach()[kept.to(items.device)]

    def draw(self, count: int, before: int) -> Tensor:
        """Slots with items of tasks before this one: `count` different ones, or all there are."""
        slots = self.earlier(before)
        return slots[torch.randperm(len(slots))[:count]]

    def earlier(self, before: int) -> Tensor:
        """All slots with items of tasks before this one."""
        return ((self.tasks >= 0) & (self.tasks < before)).nonzero()[:, 0]

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self.seen, "tasks": self.tasks, "columns": self.columns}

    def load_state_dict(self, state: Mapping[str, Any], device: torch.device) -> None:
        self.seen, self.tasks = state["seen"], state["tasks"]
        self.columns = {name: column.to(device) for name, column in state["columns"].items()}
