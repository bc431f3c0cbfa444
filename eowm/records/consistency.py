"""Does a record agree with itself? What the schema cannot say in one field."""

from pathlib import Path

from eowm.errors import RecordError
from eowm.records.record import Record


def refuse_contradiction(record: Record, path: Path) -> None:
    cell, settings = record.cell, record.settings
    for key in ("scenario", "method", "variant", "seed"):
        if getattr(settings, key) != getattr(cell, key):
            raise RecordError(
                f"{path} contradicts itself: {key} is {getattr(cell, key)!r} in its cell and "
                f"{getattr(settings, key)!r} in its settings; run its cell again."
            )
    lengths = {len(record.accuracy), *(len(row) for row in record.accuracy if row is not None)}
    if record.complete and lengths != {settings.tasks}:
        raise RecordError(
            f"{path} does not hold {settings.tasks} × {settings.tasks} accuracies; "
            "run its cell again."
        )
