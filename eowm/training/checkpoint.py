"""Checkpoints: atomic, checked before they are unpickled, and the last two are kept.

A file is the sha256 of all that follows, then what `torch.save` wrote. If a power cut leaves the
newest one damaged, the run resumes from the one before.
"""

import hashlib
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import torch

from eowm import paths
from eowm.errors import CheckpointError

# A checkpoint of the CIFAR-100 net with its projectors is over half a gigabyte. Writing one
# after every epoch may take at most this share of a run.
WRITE_SHARE = 0.1
DIGEST = hashlib.sha256().digest_size


class Checkpoint:
    """The state of one run, valid only for the key (settings and data) it was made with."""

    def __init__(
        self, path: Path, key: str, tell: Callable[[str], None] = lambda text: None
    ) -> None:
        self.path, self.key, self.tell = path, key, tell
        self.previous = paths.previous(path)
        self._next_write = 0.0

    def save(self, state: dict[str, Any]) -> None:
        started = time.perf_counter()
        if started < self._next_write:
            return
        temporary = self.path.with_suffix(".tmp")
        try:
            with open(temporary, "wb+") as file:
                _write(file, {"key": self.key, "state": state})
            if self.path.exists():
                os.replace(self.path, self.previous)
            os.replace(temporary, self.path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise CheckpointError(
                f"cannot write the checkpoint {self.path}: {error.strerror or error}; "
                "free some space or point --checkpoint elsewhere."
            ) from None
        now = time.perf_counter()
        self._next_write = now + (now - started) / WRITE_SHARE

    def load(self) -> dict[str, Any] | None:
        """The newest sound state, or None where there is none or it belongs to another run."""
        damaged = []
        for path in (self.path, self.previous):
            try:
                content = _read(path)
            except FileNotFoundError:
                continue
            except Exception as error:  # whatever unpickling has to say about foreign bytes
                damaged.append(f"{path} ({error or type(error).__name__})")
                continue
            if content["key"] == self.key:
                if damaged:
                    self.tell(f"{damaged[0]} is damaged; resuming from the previous checkpoint")
                return content["state"]
        if damaged:
            raise CheckpointError(
                f"the checkpoint {' and '.join(damaged)} is damaged; "
                "delete it to start this run again."
            )
        return None

    def remove(self) -> None:
        for path in (self.path, self.previous):
            path.unlink(missing_ok=True)


def _write(file: BinaryIO, content: dict[str, Any]) -> None:
    """Digest first: its place is kept free and filled when all is written."""
    file.write(bytes(DIGEST))
    try:
        torch.save(content, file)
    except RuntimeError as error:  # torch counts the bytes that arrived, and knows no reason
        raise OSError("not all bytes were written; the disk may be full") from error
    digest = _digest(file)
    file.seek(0)
    file.write(digest)
    file.flush()
    os.fsync(file.fileno())


def _read(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        if file.read(DIGEST) != _digest(file):
            raise ValueError("its checksum does not match")
        file.seek(DIGEST)
        try:
            content = torch.load(file, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:  # the checksum is right, so it was saved like this
            raise ValueError("it holds more than tensors and plain Python types") from error
    if not (isinstance(content, dict) and {"key", "state"} <= content.keys()):
        raise ValueError("not a checkpoint")
    return content


def _digest(file: BinaryIO) -> bytes:
    file.seek(DIGEST)
    return hashlib.file_digest(file, "sha256").digest()  # type: ignore[arg-type]
