"""Checkpoints: atomic, never unpickled blindly, and one writer at a time."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from eowm.errors import CheckpointError

# A checkpoint of the CIFAR-100 net with its projectors is over half a gigabyte. Writing one
# after every epoch may take at most this share of a run.
WRITE_SHARE = 0.1


class Checkpoint:
    """The state of one run, valid only for the settings it was made with."""

    def __init__(self, path: Path, settings_hash: str) -> None:
        self.path = path
        self.settings_hash = settings_hash
        self._next_write = 0.0

    def save(self, state: dict[str, Any]) -> None:
        started = time.perf_counter()
        if started < self._next_write:
            return
        temporary = self.path.with_suffix(".tmp")
        try:
            with open(temporary, "wb") as file:
                torch.save({"settings_hash": self.settings_hash, "state": state}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise CheckpointError(
                f"cannot write the checkpoint {self.path}: {error.strerror}; "
                "free some space or point --checkpoint elsewhere."
            ) from None
        now = time.perf_counter()
        self._next_write = now + (now - started) / WRITE_SHARE

    def load(self) -> dict[str, Any] | None:
        """The state, or None where there is none or it belongs to other settings."""
        if not self.path.exists():
            return None
        try:
            content = torch.load(self.path, map_location="cpu", weights_only=True)
            matches = content["settings_hash"] == self.settings_hash
        except Exception as error:
            raise CheckpointError(
                f"the checkpoint {self.path} is damaged ({type(error).__name__}); "
                "delete it to start this run again."
            ) from None
        return content["state"] if matches else None

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    @contextmanager
    def locked(self, tell: Any = print) -> Iterator[None]:
        """Hold the run: a second process on the same cell waits for the first."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path.with_suffix(".lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            tell(f"another process is training this cell; waiting for {lock.lock_file}")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()
