"""What a user sees while a dataset is fetched: bars in a terminal, plain lines in a log."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

Advance = Callable[[float], None]
LOG_SECONDS = 10.0  # a long step tells a log how far it is, this often


class Reporter:
    """Shows one step at a time, on standard error unless told otherwise."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)

    def note(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def step(self, text: str, total: float | None = None) -> Iterator[Advance]:
        """A step of `total` units (None: unknown); yields the function that advances it."""
        if not self.console.is_terminal:
            self.note(f"{text} …")
            yield self._log_lines(text, total)
            return
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.console, transient=True) as bars:
            task = bars.add_task(text, total=total)
            yield lambda units: bars.advance(task, units)

    def _log_lines(self, text: str, total: float | None) -> Advance:
        done, last = 0.0, time.monotonic()

        def advance(units: float) -> None:
            nonlocal done, last
            done += units
            if total and time.monotonic() - last > LOG_SECONDS:
                last = time.monotonic()
                self.note(f"{text}: {done / total:.0%}")

        return advance
