"""One process per run, and how it ended.

A process that trains holds a lock (`flock`, which the system releases when the process dies,
however it dies) and keeps a note beside the record's place: who it is, and why it
failed. A finished run leaves no note. So an outsider can tell running, failed and killed apart.
"""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from eowm.errors import HoldError, UserError

KILLED = "ended without an error message (killed, out of memory or time); a rerun resumes it"


@contextmanager
def hold(lock_file: Path, record: Path, tell: Callable[[str], None]) -> Iterator[bool]:
    """Hold a run; a second process waits for the first. Yields whether this one had to wait."""
    note, lock = note_path(record), FileLock(lock_file)
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        note.parent.mkdir(parents=True, exist_ok=True)
        waited = _acquire(lock, lambda: tell(f"{holder(record)} is training this; waiting for it"))
        _write(note, lock_file)
    except OSError as error:
        raise HoldError(
            f"cannot write {error.filename or lock_file}: {error.strerror or error}; "
            "make its folder writable and make room there."
        ) from None
    try:
        yield waited
    except BaseException as error:
        _write(note, lock_file, reason(error))
        raise
    else:
        note.unlink(missing_ok=True)
    finally:
        lock.release()


def failure(record: Path) -> str | None:
    """Why the last run for a record failed; None if none did, or if one is running."""
    note = _read(note_path(record))
    if note is None or is_held(Path(note["lock"])):
        return None
    return note["reason"] or KILLED


def is_running(record: Path) -> bool:
    note = _read(note_path(record))
    return note is not None and is_held(Path(note["lock"]))


def is_held(lock_file: Path) -> bool:
    if not lock_file.exists():
        return False
    try:
        with FileLock(lock_file, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # not ours to lock, so not ours to train
        return False


def holder(record: Path) -> str:
    note = _read(note_path(record))
    if note is None:
        return "another process"
    return f"process {note['pid']} on {note['host']} (since {note['started']})"


def note_path(record: Path) -> Path:
    return record.with_suffix(".note")


def reason(error: BaseException) -> str:
    """A user's mistake is a sentence already; anything else needs its type."""
    return str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"


def _acquire(lock: FileLock, tell_that_it_waits: Callable[[], None]) -> bool:
    try:
        lock.acquire(timeout=0)
        return False
    except Timeout:
        tell_that_it_waits()
        lock.acquire()
        return True


def _write(note: Path, lock_file: Path, why: str | None = None) -> None:
    content = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "lock": str(lock_file.absolute()),
        "reason": why,
    }
    temporary = note.with_suffix(f".{os.getpid()}.tmp")
    try:
        temporary.write_text(json.dumps(content, indent=1) + "\n")
        os.replace(temporary, note)
    except OSError:
        temporary.unlink(missing_ok=True)
        if why is None:  # at the start it matters; at the end there is a worse error to tell
            raise


def _read(note: Path) -> dict | None:
    """None where there is no note, or one that cannot be read: it holds no result."""
    try:
        content = json.loads(note.read_text())
    except (OSError, ValueError):
        return None
    known = isinstance(content, dict) and {"pid", "host", "started", "lock", "reason"} <= {*content}
    return content if known else None
