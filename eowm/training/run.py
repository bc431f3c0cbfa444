"""One run from its settings to its record."""

import os
import platform
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from eowm import methods, nets, paths, records
from eowm.data import store, streams
from eowm.errors import ConfigError, RecordError
from eowm.jobs import devices, holds
from eowm.records.metrics import all_metrics
from eowm.settings.cells import Cell
from eowm.settings.config import Config
from eowm.settings.effective import changed, effective, written
from eowm.settings.options import outside_files
from eowm.settings.run import Budget, RunSettings
from eowm.training import memory
from eowm.training.checkpoint import Checkpoint
from eowm.training.loop import Loop, State, seed_everything
from eowm.training.precision import products_in
from eowm.training.progress import Reporter


def run(
    config: Config,
    cell: Cell,
    settings: RunSettings,
    preset: str,
    out: Path,
    checkpoint: Path,
    *,
    device: str = "auto",
    fresh: bool = False,
    keep: bool = False,
) -> records.Record:
    """Train one run as its only process and write its record; what was interrupted is continued.

    With `keep`, a finished run can be had again from beside its checkpoint: a job of several runs
    that is killed in one of them loses the records of the others, and must not repeat them.
    """
    memory.keep_freed()
    with holds.hold(checkpoint.with_suffix(".lock"), out, _tell) as waited:
        data = store.read_manifest(settings.dataset, paths.DATA).sha256
        saved = Checkpoint(checkpoint, f"{settings.hash()} {data}", _tell)
        if fresh:
            paths.forget(checkpoint)
        record = _finished(paths.finished(checkpoint), settings, data)
        if record is None and waited:
            record = _finished(out, settings, data)
        if record is None:
            with device_of_run(device, config.jobs.runs_per_gpu) as where:
                record = train(config, cell, settings, preset, device=where, checkpoint=saved)
        if keep:
            records.write(record, paths.finished(checkpoint))
        records.write(record, out)
        saved.remove()
    return record


@contextmanager
def device_of_run(name: str, runs_per_gpu: int) -> Iterator[str]:
    """For `auto` a free GPU where there is any, held until the run ends."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ConfigError(f"--device {name} is unknown: write auto, cpu, cuda or cuda:1.")
    if name.startswith("cuda") and int(name.partition(":")[2] or 0) >= gpus:
        raise ConfigError(f"--device {name} is not here: this machine shows {gpus} GPUs.")
    if name != "auto" or not gpus:
        yield name
        return
    names = [str(torch.cuda.get_device_properties(index).uuid) for index in range(gpus)]
    with devices.a_free_one(names, runs_per_gpu, _tell) as index:
        yield f"cuda:{index}"


def _finished(path: Path, settings: RunSettings, data: str) -> records.Record | None:
    try:
        record = records.read(path)
    except RecordError:
        return None
    same = record.settings_hash == settings.hash() and record.data.sha256 == data
    return record if same else None


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def train(
    config: Config,
    cell: Cell,
    settings: RunSettings,
    preset: str,
    *,
    device: str = "auto",
    checkpoint: Checkpoint | None = None,
    quiet: bool = False,
    first_tasks: int | None = None,
) -> records.Record:
    """Train a cell with one seed. With a checkpoint, an interrupted run is continued.

    With `first_tasks`, the run stops after this many tasks (for choosing settings).
    """
    where = torch.device(pick_device(device))
    made_with = environment(where)  # now: the files may change during the run
    arrays, manifest = store.load(
        settings.dataset, paths.DATA, allow_standin=config.presets[preset].standin
    )
    stream = streams.build(settings, arrays, where)
    seed_everything(settings.seed)
    net = nets.build(settings.net, stream.image_shape, stream.classes).to(where)
    method = methods.find(settings.method)(net, settings)
    title = f"{cell.name} seed {settings.seed}"
    planned = config.resolve(cell, settings.seed, preset)
    budget = _budget(settings, planned, config.presets[preset].budget)
    with Reporter(title, settings.tasks, settings.training.epochs, quiet) as reporter:
        for line in told(settings, planned, budget):
            reporter.line(line)
        loop = Loop(method, stream, settings, reporter, checkpoint, first_tasks, made_with)
        with products_in(settings.precision):
            state = loop.run()
    return records.Record(
        schema_version=records.SCHEMA_VERSION,
        cell=records.CellOfRun(
            table=cell.table,
            scenario=cell.scenario,
            method=cell.method,
            variant=cell.variant,
            seed=settings.seed,
            preset=preset,
            budget=budget,
        ),
        settings=settings,
        settings_hash=settings.hash(),
        data=records.DataOfRun(
            name=settings.dataset,
            source=manifest.source,
            sha256=manifest.sha256,
            comparable=manifest.comparable,
        ),
        accuracy=state.accuracy,
        validation=state.validation,
        task_known=state.task_known,
        best_epoch_accuracy=state.best_epoch_accuracy,
        curves=state.curves,
        metrics=all_metrics(state.accuracy),
        timing=_timing(state, where),
        environment=environments(state.made_with),
        status=state.status,
    )


def told(settings: RunSettings, planned: RunSettings, budget: Budget) -> Iterator[str]:
    """What a run does, as it begins: its settings, and those that are not the cell's own."""
    used = {key: x for key, x in effective(settings).items() if x not in (None, [])}
    yield "settings: " + ", ".join(f"{key}={written(value)}" for key, value in used.items())
    others = [
        f"{key}={written(ours)} instead of {written(theirs)}"
        for key, (ours, theirs) in changed(settings, planned).items()
    ]
    yield f"budget: {budget}" + (f"; changed: {', '.join(others)}" if others else "")


def _budget(settings: RunSettings, planned: RunSettings, of_preset: Budget) -> Budget:
    """That of the preset, unless settings were changed on the command line."""
    parts = ("net", "training", "limits", "options")
    unchanged = all(getattr(settings, part) == getattr(planned, part) for part in parts)
    return of_preset if unchanged else "reduced"


def pick_device(name: str) -> str:
    """`auto` is the GPU where there is one."""
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def _timing(state: State, device: torch.device) -> records.Timing:
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated(device)
    else:
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return records.Timing(
        train_seconds=state.train_seconds,
        eval_seconds=state.eval_seconds,
        images_per_second=state.images / max(state.train_seconds, 1e-9),
        peak_memory_bytes=peak,
        interruptions=state.interruptions,
    )


def environments(made_with: list[dict[str, Any]]) -> dict[str, Any]:
    """That of the run's end; where it began with others (another commit, another machine), they
    are in `earlier`."""
    *earlier, last = made_with
    return last | {"earlier": earlier} if earlier else last


def environment(device: torch.device) -> dict[str, Any]:
    on_gpu = device.type == "cuda"
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # a checkpoint holds plain types only
        "device": torch.cuda.get_device_name(device) if on_gpu else _processor(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "commit": _commit(),
        "code": _code(),
    }


def _code() -> str:
    """A checksum of what trains: it tells edits apart that no commit names."""
    drawing = paths.PACKAGE / "analysis"
    inside = [f for f in paths.PACKAGE.rglob("*.py") if drawing not in f.parents]
    return paths.checksum([*inside, *outside_files()])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str | None:
    """The commit of the code, with `+` where files differ from it or are not in it."""
    git = ["git", "-C", str(paths.PACKAGE)]
    try:
        commit = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", str(paths.PACKAGE)],
            capture_output=True, text=True, check=True, timeout=10,
        ).stdout.strip()  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changed else "")
