"""How it learns; the equations are in `eowm/__init__.py`."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from eowm.data.streams import Task
from eowm.methods.owm.method import OWM, scheduled
from eowm.settings.run import RunSettings


class EOWM(OWM):
    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        super().__init__(net, settings)
        self.weight_space = self._new_projectors()  # Q_ort of each layer
        self.shuffled = settings.stream == "shuffled"
        self.per_batch = self.options.update == "batch"
        self.first_task = True
        self.seen: set[int] = set()  # labels of the tasks before this one
        self.overlap = False  # does this task share labels with them? (Definition 5)

    def begin_task(self, task: Task) -> None:
        super().begin_task(task)
        self.first_task = not self.seen
        self.overlap = bool(self.seen & set(task.classes))
        self.seen |= set(task.classes)

    def update_projectors(self, progress: float) -> None:
        """The published code updates both on every batch; the text at the end of a task."""
        if self.per_batch:
            super().update_projectors(progress)
            self._update_weight_space(progress)

    def project(self, name: str, rows: Tensor, progress: float) -> Tensor:
        if self.first_task and not self.per_batch:
            return rows  # Algorithm 1, line 6: the first task is learnt by plain SGD
        similar = self._is_similar(name)
        c1, c2 = self.coefficients.c1(progress), self.coefficients.c2(progress, similar)
        if similar:  # c1 I + c2 (I − Q_ort)
            c1, c2 = c1 + c2, -c2
        if self.options.order == "p-last":
            return self.input_space[name].project(self._mix(name, rows, c1, c2))
        return self._mix(name, self.input_space[name].project(rows), c1, c2)

    def end_task(self, task: Task) -> None:
        super().end_task(task)
        if not self.per_batch:
            self._update_from(task)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "weight_space": {name: q.state_dict() for name, q in self.weight_space.items()},
            "task": {
                "seen": sorted(self.seen),
                "overlap": self.overlap,
                "first_task": self.first_task,
            },
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        for name, projector in self.weight_space.items():
            projector.load_state_dict(state["weight_space"][name])
        self.seen = set(state["task"]["seen"])
        self.overlap, self.first_task = state["task"]["overlap"], state["task"]["first_task"]

    def _mix(self, name: str, rows: Tensor, a: float, b: float) -> Tensor:
        """rows · (a I + b Q_ort), without ever forming a product of two square matrices."""
        if b == 0.0:
            return rows if a == 1.0 else a * rows
        return torch.add(a * rows, self.weight_space[name].project(rows), alpha=b)

    def _is_similar(self, name: str) -> bool:
        """Definition 5 decides by labels; the published settings by layer."""
        if self.options.case == "labels":
            return self.overlap
        return self.shuffled or name.startswith("fc")

    def _update_weight_space(self, progress: float) -> None:
        """Q_ort from the present weights: every filter, or the mean incoming weight vector."""
        for name, layer in self.layers.items():
            rows = layer.weight.flatten(1)
            if isinstance(layer, nn.Linear):
                rows = rows.mean(0, keepdim=True)
            beta = scheduled(self.options.beta, name, progress)
            self.weight_space[name].update(rows, beta)

    @torch.no_grad()
    def _update_from(self, task: Task) -> None:
        """At the end of a task: P from its images under the final weights, then Q_ort once."""
        self.net.eval()
        if self.options.update == "task-mean":
            means = self._mean_inputs(task)
            for name, layer in self.layers.items():
                rows = self.input_rows(layer, means[name][None])
                self.input_space[name].update(rows, scheduled(self.options.alpha, name, 1.0))
        else:
            for progress in self._propagate(task):
                super().update_projectors(progress)
        self._update_weight_space(1.0)

    def _propagate(self, task: Task) -> Iterator[float]:
        """Each batch through the net once more; the taps then hold the layers' inputs."""
        size, count = self.training.batch_size, len(task.train)
        for start in range(0, count, size):
            self.net(task.train.batch(slice(start, start + size))[0])
            yield start / count

    def _mean_inputs(self, task: Task) -> dict[str, Tensor]:
        """The mean input of each layer over the whole task."""
        totals: dict[str, Tensor] = {}
        for _ in self._propagate(task):
            for name, tap in self.taps.items():
                totals[name] = totals.get(name, 0) + tap.x.sum(0)
        return {name: total / len(task.train) for name, total in totals.items()}
