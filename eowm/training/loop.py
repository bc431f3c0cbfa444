"""The one training loop: tasks, epochs, batches, evaluation, selection, checkpoints, progress.

Randomness is seeded anew at every epoch from (seed, task, epoch). So a run needs no generator
state in its checkpoint, an interrupted run continues bit for bit, and methods that share a seed
share initial weights and, with equal batch sizes, the order of batches, which makes their
difference a paired comparison.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from eowm.data.streams import Split, Stream, Task
from eowm.errors import CheckpointError
from eowm.methods.base import Method
from eowm.settings.run import RunSettings
from eowm.training.checkpoint import Checkpoint
from eowm.training.progress import Reporter

EVALUATION_BATCH = 250
BATCH_ORDER = 1  # keeps the generator of the batch order apart from that of dropout


@dataclass
class State:
    """Everything the loop knows between two epochs; the method keeps its own state."""

    phase: int = 0  # tasks that are finished (joint training has one phase)
    epoch: int = 0  # epochs of the current one that are finished
    accuracy: list[list[float] | None] = field(default_factory=list)
    validation: list[list[float] | None] = field(default_factory=list)
    task_known: list[list[float] | None] | None = None  # where tasks have classes of their own
    best_epoch_accuracy: list[float | None] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    selected: dict[str, Any] | None = None  # score and weights of the epoch to be kept
    train_seconds: float = 0.0
    eval_seconds: float = 0.0
    images: int = 0
    interruptions: int = 0
    made_with: list[dict[str, Any]] = field(default_factory=list)  # machines and code, in turn
    status: str = "running"


def derive_seed(seed: int, *where: int) -> int:
    """One documented seed for everything: `where` tells its uses apart."""
    high, low = np.random.SeedSequence([seed, *where]).generate_state(2, np.uint32)
    return int(high) << 31 | int(low)


def seed_everything(seed: int, *where: int) -> None:
    """`where` is (task, epoch), or nothing for the initial weights."""
    torch.manual_seed(derive_seed(seed, *where))


class Loop:
    """One run of one method over one stream."""

    def __init__(
        self,
        method: Method,
        stream: Stream,
        settings: RunSettings,
        reporter: Reporter,
        checkpoint: Checkpoint | None = None,
        first_tasks: int | None = None,
        environment: dict[str, Any] | None = None,
    ) -> None:
        self.method, self.stream, self.settings = method, stream, settings
        self.training = settings.training
        self.reporter, self.checkpoint = reporter, checkpoint
        self.environment = environment or {}
        self.phases = 1 if method.pools_tasks else first_tasks or stream.tasks
        self.state = State(
            accuracy=[None] * stream.tasks,
            validation=[None] * stream.tasks,
            task_known=[None] * stream.tasks if self._own_classes() else None,
            best_epoch_accuracy=[None] * stream.tasks,
        )

    def run(self) -> State:
        self._resume()
        state = self.state
        self._tell_surroundings()
        while state.phase < self.phases and state.status == "running":
            task = (
                self.stream.pooled() if self.method.pools_tasks else self.stream.task(state.phase)
            )
            self._tell_total(task)
            while state.epoch < self.training.epochs and state.status == "running":
                self._epoch(task)
                self._save()
            if state.status == "running":
                state.phase, state.epoch = state.phase + 1, 0
        if state.status == "running":
            state.status = "complete"
        return state

    def _tell_surroundings(self) -> None:
        """Code, machine, threads: a run may resume with others than it began with."""
        now, earlier = self.environment, self.state.made_with
        if now in earlier[-1:]:
            return
        if earlier:
            last = earlier[-1]
            other = [
                f"{key} {last.get(key)} → {new}" for key, new in now.items() if last.get(key) != new
            ]
            self.reporter.line(f"resumes under changed conditions: {', '.join(other)}")
        earlier.append(now)

    # --- one epoch -------------------------------------------------------------------------

    def _epoch(self, task: Task) -> None:
        state = self.state
        seed_everything(self.settings.seed, task.index, state.epoch)
        with self._clock():
            if state.epoch == 0:
                self.method.begin_task(task)
            loss = self._train(task)
        state.epoch += 1
        if not (math.isfinite(loss) and self._weights_are_finite()):
            state.status = f"failed: diverged at task {task.index + 1}, epoch {state.epoch}"
            self.reporter.line(state.status)
            return

        last = state.epoch == self.training.epochs
        keeps_last = self.training.selection == "last"
        if last and keeps_last:  # nothing to choose: one evaluation serves curve and matrix
            self._end_task(task)
        validation, test = self._evaluate(task, everything=last or not keeps_last)
        self._remember(task, loss, validation, test)
        if not keeps_last:
            self._select(task, validation, test)
            if last:
                self._restore_selected()
                self._end_task(task)
                validation, test = self._evaluate(task, everything=True)
        if last:
            state.validation[task.index], state.accuracy[task.index] = validation, test
            self._tell_task(task)

    def _train(self, task: Task) -> float:
        """All batches of an epoch; the loss is read once, at the end."""
        size, count = self.training.batch_size, self._images(task)
        order = self._batch_order(task).to(task.train.labels.device)
        batches = math.ceil(count / size)
        total: Tensor | float = 0.0
        for b, index in enumerate(order.split(size)):
            x, y = task.train.batch(index)
            progress = (self.state.epoch * batches + b) / (self.training.epochs * batches)
            total = total + self.method.observe(x, y, progress) * len(y)
            self.reporter.step(b + 1, len(y))
        loss = float(total) / count
        self.state.images += count
        return loss

    def _end_task(self, task: Task) -> None:
        with self._clock():
            self.method.end_task(task)

    @contextmanager
    def _clock(self) -> Iterator[None]:
        """Learning takes what a method does before, in and after the batches of a task."""
        started = time.perf_counter()
        yield
        self.state.train_seconds += time.perf_counter() - started

    def _weights_are_finite(self) -> bool:
        """The loss does not see the last step of an epoch."""
        return all(bool(weight.isfinite().all()) for weight in self.method.net.parameters())

    def _batch_order(self, task: Task) -> Tensor:
        epoch = self.state.epoch if self.training.reshuffle else 0
        count = self._images(task)
        order = self._permutation(task, epoch, count)
        if count == len(task.train):
            return order
        return self._permutation(task, 0, len(task.train))[:count][order]  # the same images

    def _permutation(self, task: Task, epoch: int, size: int) -> Tensor:
        generator = torch.Generator().manual_seed(
            derive_seed(self.settings.seed, task.index, epoch, BATCH_ORDER)
        )
        return torch.randperm(size, generator=generator)

    def _images(self, task: Task) -> int:
        """How many of a task's images an epoch sees."""
        return min(self.training.images_per_epoch or len(task.train), len(task.train))

    # --- evaluation and selection ------------------------------------------------------------

    def _evaluate(self, task: Task, everything: bool) -> tuple[list[float], list[float]]:
        """Accuracy by task on validation and test images: the tasks seen, or all of them."""
        started = time.perf_counter()
        tasks = self.stream.tasks if everything else task.index + 1
        validation = evaluate(self.method, self.stream.validation[:tasks])
        test = evaluate(self.method, self.stream.test[:tasks])
        self.state.eval_seconds += time.perf_counter() - started
        return validation, test

    def _own_classes(self) -> bool:
        return len(self.stream.labels[0]) < self.stream.classes

    def _tell_task(self, task: Task) -> None:
        """Test accuracy if the net were told the task of an image: an easier question than the
        paper's, measured to see whether its numbers answer it."""
        started = time.perf_counter()
        if self.state.task_known is not None:
            told = evaluate(self.method, self.stream.test, self.stream.labels)
            self.state.task_known[task.index] = told
        self.state.eval_seconds += time.perf_counter() - started

    def _remember(
        self, task: Task, loss: float, validation: list[float], test: list[float]
    ) -> None:
        state, seen = self.state, task.index + 1
        point = {
            "task": seen,
            "epoch": state.epoch,
            "loss": loss,
            "validation_current": validation[task.index],
            "validation_seen": sum(validation[:seen]) / seen,
            "test_current": test[task.index],
            "test_seen": sum(test[:seen]) / seen,
        }
        state.curves.append(point)
        for i in range(seen):
            state.best_epoch_accuracy[i] = max(state.best_epoch_accuracy[i] or 0.0, test[i])
        done = len(state.curves) * self._steps_per_epoch(task)
        text = f"loss {loss:.4f}  validation accuracy {point['validation_seen']:.4f}"
        self.reporter.epoch(seen, state.epoch, done, point["validation_seen"], text)

    def _select(self, task: Task, validation: list[float], test: list[float]) -> None:
        """Keep this epoch's weights if it is the best so far.

        `validation`: mean over the tasks seen, a new contest in each task. `test-oracle`: all test
        images, future tasks included, and one contest for the whole run, as in the published code:
        where no epoch of a task beats the record, the weights before the task return.
        """
        oracle = self.training.selection == "test-oracle"
        if self.state.epoch == 1 and not oracle:
            self.state.selected = None
        seen = task.index + 1
        if oracle:
            sizes = [len(split) for split in self.stream.test]
            score = sum(a * n for a, n in zip(test, sizes, strict=True)) / sum(sizes)
        else:
            score = sum(validation[:seen]) / seen
        best = self.state.selected
        if best is None or score > best["score"]:
            weights = {k: v.detach().cpu().clone() for k, v in self.method.net.state_dict().items()}
            self.state.selected = {"score": score, "weights": weights}

    def _restore_selected(self) -> None:
        """Only the weights: what a method keeps besides them is not rolled back."""
        assert self.state.selected is not None
        self.method.net.load_state_dict(self.state.selected["weights"])

    # --- checkpoints -------------------------------------------------------------------------

    def _resume(self) -> None:
        saved = self.checkpoint.load() if self.checkpoint else None
        if self.checkpoint and saved is not None:
            try:
                self.state = State(**saved["loop"])
                self.method.load_state_dict(saved["method"])
            except (KeyError, TypeError, ValueError, RuntimeError) as error:
                raise CheckpointError(
                    f"the checkpoint {self.checkpoint.path} does not fit this code ({error}); "
                    "delete it to start this run again."
                ) from error
            self.state.interruptions += 1
            if self.state.epoch == self.training.epochs:
                self.state.phase, self.state.epoch = self.state.phase + 1, 0

    def _save(self) -> None:
        if self.checkpoint:
            self.checkpoint.save({"loop": asdict(self.state), "method": self.method.state_dict()})

    def _steps_per_epoch(self, task: Task) -> int:
        return math.ceil(self._images(task) / self.training.batch_size)

    def _tell_total(self, task: Task) -> None:
        """Tasks are equally long, so the first one tells the length of the run."""
        steps = self._steps_per_epoch(task)
        total = self.phases * self.training.epochs * steps
        self.reporter.start(total, len(self.state.curves) * steps)


def evaluate(
    method: Method, splits: list[Split], among: Sequence[Sequence[int]] | None = None
) -> list[float]:
    """Accuracy on each split; the device is read once for all of them.

    The answer is one of all classes, or one of the classes `among` has for the split.
    """
    counts = []
    for number, split in enumerate(splits):
        allowed = None if among is None else split.labels.new_tensor(among[number])
        correct = torch.zeros((), dtype=torch.int64, device=split.labels.device)
        for start in range(0, len(split), EVALUATION_BATCH):
            x, y = split.batch(slice(start, start + EVALUATION_BATCH))
            logits = method.predict(x)
            answers = logits.argmax(1) if allowed is None else allowed[logits[:, allowed].argmax(1)]
            correct += (answers == y).sum()
        counts.append(correct)
    found = torch.stack(counts).tolist()
    return [n / len(split) for n, split in zip(found, splits, strict=True)]
