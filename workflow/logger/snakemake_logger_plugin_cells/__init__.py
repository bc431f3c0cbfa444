"""`snakemake --logger cells`: the rich logger, and the time left.

The work of a training job is its estimate (`jobs.costs` of config.yaml), so a long cell counts for
more than a drawing. The time left follows from the work done so far and the time it took.
"""

import time
from datetime import timedelta

from rich.progress import ProgressColumn, Task
from rich.text import Text
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_rich import LogHandler as RichHandler

DRAWING_SECONDS = 10.0


class LogHandler(RichHandler):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.work = Work()
        self.progress.columns = (*self.progress.columns, TimeLeft(self.work))

    def emit(self, record) -> None:
        self.work.follow(record)
        super().emit(record)


class Work:
    """Seconds of work, by the estimate: all, finished, and in the jobs that run now."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}  # by rule
        self.all = self.finished = 0.0
        self.running: dict[int, tuple[str, float]] = {}  # job → its rule, when it started
        self.started = time.monotonic()

    def follow(self, record) -> None:
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO:
            self.seconds = estimates()
            counts = (item for item in record.stats.items() if item[0] != "total")
            self.all = sum(count * self._of(rule) for rule, count in counts)
            self.started = time.monotonic()
        elif event == LogEvent.JOB_INFO:
            self.running[record.jobid] = (record.rule_name, time.monotonic())
        elif event == LogEvent.JOB_FINISHED and record.job_id in self.running:
            self.finished += self._of(self.running.pop(record.job_id)[0])
        elif event == LogEvent.JOB_ERROR:
            self.running.pop(record.jobid, None)

    def left(self) -> float | None:
        """Seconds until all is done; None while nothing is known."""
        now = time.monotonic()
        begun = sum(min(now - since, self._of(rule)) for rule, since in self.running.values())
        done = self.finished + begun
        return (self.all - done) * (now - self.started) / done if done > 1 else None

    def _of(self, rule: str) -> float:
        return self.seconds.get(rule, DRAWING_SECONDS)


def estimates() -> dict[str, float]:
    """By training rule. The Snakefile has been read: the config is the merged one."""
    from eowm.jobs import costs
    from eowm.settings.config import load_config

    config = load_config()
    cells = config.cells(config.preset)
    return {
        f"train_{cell.rule}": 3600 * costs.estimate(config, cell, config.preset).core_hours
        for cell in cells
    }


class TimeLeft(ProgressColumn):
    """Of the whole workflow, on its own line."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work

    def render(self, task: Task) -> Text:
        left = self.work.left() if task.id == 0 else None
        return Text("" if left is None else f"about {timedelta(seconds=round(left))} left")
