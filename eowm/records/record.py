"""The result of one run: one small JSON file, written atomically and checked when read."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from eowm.errors import ConfigError, RecordError
from eowm.records.metrics import all_metrics
from eowm.settings.cells import Cell
from eowm.settings.run import Budget, RunSettings, Strict

if TYPE_CHECKING:
    import numpy as np

SCHEMA_VERSION = 1

Row = list[float] | None


class CellOfRun(Strict):
    table: str
    scenario: str
    method: str
    variant: Annotated[str, Field(min_length=1)] | None
    seed: int
    preset: str
    budget: Budget = Field(description="`reduced` numbers are never compared with the paper's")

    @property
    def row(self) -> str:
        return Cell(self.table, self.scenario, self.method, self.variant).row

    @property
    def name(self) -> str:
        return Cell(self.table, self.scenario, self.method, self.variant).name


class DataOfRun(Strict):
    name: str
    source: Literal["local", "official", "registry", "standin"]
    sha256: str = Field(description="of the decoded arrays, the same whatever source served")
    comparable: bool = Field(description="false for a synthetic stand-in")


class Epoch(Strict):
    """One point of the learning curves; tasks and epochs count from 1."""

    task: int
    epoch: int
    loss: float = Field(description="mean training loss of the epoch")
    validation_current: float = Field(description="validation accuracy on this task")
    validation_seen: float = Field(description="mean validation accuracy over tasks so far")
    test_current: float
    test_seen: float


class Timing(Strict):
    train_seconds: float
    eval_seconds: float
    images_per_second: float = Field(description="training images, evaluation not counted")
    peak_memory_bytes: int
    interruptions: int = Field(description="how often the run went on from a checkpoint")


def _refuse_a_path(settings: Any) -> Any:
    """Settings load the code of their method: a record must not choose the file."""
    method = settings.get("method") if isinstance(settings, dict) else None
    if isinstance(method, str) and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", method):
        raise ValueError(f"{method!r} is not the name of a method")
    return settings


class Record(Strict):
    """The schema of a record file."""

    schema_version: Literal[1]
    cell: CellOfRun
    settings: Annotated[RunSettings, BeforeValidator(_refuse_a_path)]
    settings_hash: str
    data: DataOfRun
    accuracy: list[Row] = Field(description="row t: test accuracy of each task after task t")
    validation: list[Row] = Field(description="the same on the validation images")
    task_known: list[Row] | None = Field(
        None, description="the same on test images, choosing among the classes of their own task;"
        " none where all tasks have the same classes, or in records older than this field",
    )  # fmt: skip
    best_epoch_accuracy: list[float | None] = Field(
        description="per task, the highest test accuracy after any epoch since it was learnt"
    )
    curves: list[Epoch]
    metrics: dict[str, float | None]
    timing: Timing
    environment: dict[str, Any]
    status: str = Field(description="`complete`, or `failed: ` and the reason")

    @model_validator(mode="after")
    def _consistent(self) -> "Record":
        if self.settings.hash() != self.settings_hash:
            raise ValueError("settings_hash does not belong to settings")
        matrices = [self.accuracy, *([self.task_known] if self.task_known else [])]
        if self.complete and not all(map(_is_square, matrices)):
            raise ValueError("a matrix of accuracies is not square")
        if self.status == "complete" and not _close(self.metrics, all_metrics(self.accuracy)):
            raise ValueError("metrics do not follow from accuracy")
        earlier = self.environment.get("earlier", [])
        if not (isinstance(earlier, list) and all(isinstance(part, dict) for part in earlier)):
            raise ValueError("environment.earlier is not a list of environments")
        return self

    @property
    def environments(self) -> list[dict[str, Any]]:
        """In turn: several where a run went on with other code, threads or on another machine."""
        return [*self.environment.get("earlier", []), self.environment]

    @property
    def complete(self) -> bool:
        return self.status == "complete"

    @property
    def matrix(self) -> "np.ndarray":
        """`accuracy` as an array, NaN in rows that were not measured."""
        import numpy as np

        tasks = len(self.accuracy)
        return np.array([row or [np.nan] * tasks for row in self.accuracy], dtype=float)


def write(record: Record, path: Path) -> None:
    text = json.dumps(record.model_dump(mode="json"), indent=1)
    write_bytes((_compact_rows(text) + "\n").encode(), path)


def write_bytes(content: bytes, path: Path) -> None:
    """All or nothing: a reader never sees half a record."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError as error:
        if path.parent.is_dir():
            temporary.unlink(missing_ok=True)
        raise RecordError(f"cannot write {path}: {error.strerror}.") from None


def read(path: Path) -> Record:
    with _told_in_a_sentence(path):
        return Record.model_validate_json(path.read_text())


def read_bytes(path: Path) -> tuple[bytes, Record]:
    """The record and the very bytes that it was read from."""
    with _told_in_a_sentence(path):
        content = path.read_bytes()
        return content, Record.model_validate_json(content)


@contextmanager
def _told_in_a_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise RecordError(f"{path} does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not a text file"
        raise RecordError(f"{path} cannot be read: {why}.") from None
    except ConfigError as error:  # of the code of its method
        raise RecordError(f"{path} is not a valid record: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RecordError(
            f"{path} is not a valid record ({where or 'record'}: {first['msg']}); "
            "if it should be one, run its cell again."
        ) from None


def read_all(folder: Path) -> Iterator[tuple[Path, Record]]:
    """Every record below a folder, in a fixed order."""
    for path in sorted(folder.rglob("seed*.json")):
        yield path, read(path)


def schema() -> str:
    return json.dumps(Record.model_json_schema(), indent=1, sort_keys=True) + "\n"


def _is_square(matrix: list[Row]) -> bool:
    return {len(row) for row in matrix if row is not None} == {len(matrix)}


def _close(first: dict[str, float | None], second: dict[str, float | None]) -> bool:
    def equal(a: float | None, b: float | None) -> bool:
        return a is b or (a is not None and b is not None and abs(a - b) < 1e-9)

    return first.keys() == second.keys() and all(equal(first[k], second[k]) for k in first)


def _compact_rows(text: str) -> str:
    """Lists of plain numbers on one line: a matrix then looks like a matrix."""
    return re.sub(
        r"\[\s*((?:-?[\d.eE+-]+|null)(?:,\s*(?:-?[\d.eE+-]+|null))*)\s*\]",
        lambda m: "[" + re.sub(r"\s*,\s*", ", ", m[1]) + "]",
        text,
    )
