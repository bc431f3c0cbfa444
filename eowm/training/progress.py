"""Progress of a training run: a live bar in a terminal, plain lines in a log."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

REFRESH_STEPS = 20  # update rarely: the training loop must not wait for a terminal


class Reporter:
    """Shows task, epoch, accuracy, images per second and the time left."""

    def __init__(self, title: str, tasks: int, epochs: int, quiet: bool = False) -> None:
        self.title, self.tasks, self.epochs = title, tasks, epochs
        self.quiet = quiet
        self.console = Console(stderr=True)
        self.live = self.console.is_terminal and not quiet
        self.accuracy = float("nan")
        self.started = time.perf_counter()
        self.images = 0
        self.item: TaskID | None = None
        self.bar = Progress(
            TextColumn("[bold]{task.fields[title]}[/]  {task.description}"),
            BarColumn(bar_width=16),
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}"),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.live,
        )

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def start(self, total_steps: int, done_steps: int) -> None:
        """Set the length of the run; only the first call counts."""
        if self.item is not None:
            return
        self.item = self.bar.add_task(
            "", total=total_steps, completed=done_steps, title=self.title, note=""
        )
        if done_steps:
            self.line(f"resuming from a checkpoint at step {done_steps:,} of {total_steps:,}")

    def step(self, number: int, images: int) -> None:
        """`number` steps of this epoch are done."""
        self.images += images
        if self.item is not None and self.live and number % REFRESH_STEPS == 0:
            speed = self.images / (time.perf_counter() - self.started)
            note = f"accuracy {self.accuracy:.4f}  {speed:,.0f} images/s"
            self.bar.update(self.item, advance=REFRESH_STEPS, note=note)

    def epoch(self, task: int, epoch: int, done_steps: int, accuracy: float, text: str) -> None:
        """An epoch ended; `accuracy` is the mean over the tasks seen (validation images)."""
        self.accuracy = accuracy
        where = f"task {task}/{self.tasks} epoch {epoch}/{self.epochs}"
        if self.item is not None and self.live:
            self.bar.update(self.item, completed=done_steps, description=where)
        else:
            speed = self.images / (time.perf_counter() - self.started)
            self.line(f"{where}  {text}  {speed:,.0f} images/s")

    def line(self, text: str) -> None:
        if self.quiet:
            return
        if self.live:
            self.console.print(f"{self.title}: {text}", highlight=False, markup=False)
        else:
            print(f"{self.title}: {text}", file=sys.stderr, flush=True)
