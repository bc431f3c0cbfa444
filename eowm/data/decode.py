"""Official files and registry files into arrays: the same bytes whatever the source."""

import gzip
import hashlib
import io
import json
import pickle
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from eowm.data.catalog import Dataset
from eowm.errors import DataError


class Damaged(DataError):
    """A file is not what it should be; whoever asked for it knows the way out."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path.name} {why}")
        self.path, self.why = path, why


@dataclass(frozen=True)
class Decoded:
    """A whole dataset: images uint8 [N, C, H, W], labels uint8 [N], in the original order."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def sha256(decoded: Decoded) -> str:
    """The one checksum of a dataset."""
    digest = hashlib.sha256(decoded.train_images.data)
    for rest in (decoded.train_labels, decoded.test_images, decoded.test_labels):
        digest.update(rest.data)
    return digest.hexdigest()


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def read_official(path: Path, expected: str) -> bytes:
    """The content of an official file (unzipped), after its md5 matched."""
    try:
        data = path.read_bytes()
        content = gzip.decompress(data) if path.suffix == ".gz" else data
    except gzip.BadGzipFile as error:
        raise Damaged(path, what_else(data)) from error
    except (OSError, EOFError, zlib.error) as error:
        raise Damaged(path, f"cannot be read ({error})") from error
    if md5(content) != expected:
        raise Damaged(path, f"{what_else(content)} (md5 {md5(content)}, expected {expected})")
    return content


def what_else(data: bytes) -> str:
    """What a file with wrong content most likely is."""
    start = data[:512].lstrip().lower()
    if not data:
        return "is empty"
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "is a web page, probably an error message of a server or proxy, and no data"
    return "is truncated or altered"


def official(dataset: Dataset, files: Mapping[str, bytes]) -> Decoded:
    """Arrays of the official files, whose md5 the caller has checked."""
    if dataset.format == "idx":
        arrays = [idx(files[name]) for name in dataset.files]
        return _assemble(dataset, arrays[0::2], arrays[1::2])
    batches = [cifar_batch(files[name]) for name in dataset.files]
    return _assemble(dataset, [images for images, _ in batches], [labels for _, labels in batches])


def _assemble(
    dataset: Dataset, images: Sequence[np.ndarray], labels: Sequence[np.ndarray]
) -> Decoded:
    """Training files come first; the last one is the test set."""
    return Decoded(
        np.concatenate(images[:-1]).reshape(-1, *dataset.shape),
        np.concatenate(labels[:-1]),
        np.concatenate(images[-1:]).reshape(-1, *dataset.shape),
        np.concatenate(labels[-1:]),
    )


def idx(data: bytes) -> np.ndarray:
    """An idx file: two zeros, 8 for bytes, the rank, the sizes (big endian), the values."""
    rank = data[3]
    sizes = np.frombuffer(data, ">u4", count=rank, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(sizes.astype(int))


# numpy's own function to rebuild an array, without naming the private module where it lives.
_rebuild = np.empty(0).__reduce__()[0]


class _BatchUnpickler(pickle.Unpickler):
    """Knows only what a CIFAR batch needs: plain containers and numpy arrays."""

    known: ClassVar = {
        ("numpy.core.multiarray", "_reconstruct"): _rebuild,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.known:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a dataset")
        return self.known[module, name]


def cifar_batch(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Images (rows of R, G and B planes) and labels of a Python 2 batch; CIFAR-100: fine labels."""
    batch = _BatchUnpickler(io.BytesIO(data), encoding="bytes").load()
    labels = batch[b"labels"] if b"labels" in batch else batch[b"fine_labels"]
    return batch[b"data"], np.array(labels, dtype=np.uint8)


# The registry's CIFAR-10: a PNG per batch, one image a row; the labels' names are spelled so.
PICTURES = (*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png")
LABELS = ("train_lables.json", "test_lables.json")


def registry_cifar10(
    dataset: Dataset, folder: Path, advance: Callable[[int], None] = lambda n: None
) -> Decoded:
    """Arrays of the PNG and JSON files in `folder`; the caller checks the decoded sha256."""
    images = []
    for name in PICTURES:
        images.append(png_batch(folder / name, dataset.shape))
        advance(1)
    return _assemble(dataset, images, [json_labels(folder / name) for name in LABELS])


def png_batch(path: Path, shape: tuple[int, int, int]) -> np.ndarray:
    """One image a row, row-major pixels of R, G, B → [N, C, H, W]."""
    channels, height, width = shape
    try:
        with Image.open(path) as picture:
            pixels = np.asarray(picture).reshape(-1, height * width, channels)
    except (OSError, SyntaxError, ValueError) as error:  # Pillow's words for a damaged picture
        raise Damaged(path, "is not a picture with one image a row") from error
    return np.ascontiguousarray(pixels.transpose(0, 2, 1)).reshape(-1, *shape)


def json_labels(path: Path) -> np.ndarray:
    try:
        return np.array(json.loads(path.read_bytes()), dtype=np.uint8)
    except (OSError, ValueError, TypeError, OverflowError) as error:
        raise Damaged(path, "is not a list of labels") from error
