import hashlib
import pickle
import struct
from dataclasses import replace

import numpy as np
import pytest
import tiny_data

from eowm.data import catalog, decode
from eowm.data.decode import Damaged


def test_idx_is_read_by_its_header():
    data = struct.pack(">HBB3I", 0, 8, 3, 2, 1, 3) + bytes([1, 2, 3, 4, 5, 6])
    assert decode.idx(data).tolist() == [[[1, 2, 3]], [[4, 5, 6]]]


@pytest.mark.parametrize("name", ["mnist", "cifar10", "cifar100"])
def test_official_files_decode_to_channels_first(tiny, name):
    made = tiny(name)
    decoded = decode.official(made.dataset, made.files)
    assert decoded.train_images.dtype == decoded.train_labels.dtype == np.uint8
    assert decoded.train_images.shape == (made.dataset.train, *made.dataset.shape)
    assert tiny_data.equal(decoded, made.decoded)


def test_pictures_decode_to_channels_first(tiny, tmp_path):
    made = tiny("cifar10")
    for name, content in tiny_data.png_files(made.decoded).items():
        (tmp_path / name).write_bytes(content)
    decoded = decode.registry_cifar10(made.dataset, tmp_path)
    assert tiny_data.equal(decoded, made.decoded)
    assert decode.sha256(decoded) == made.dataset.sha256


def test_sha256_is_over_the_four_arrays_in_order(tiny):
    decoded = tiny("mnist").decoded
    joined = b"".join(array.tobytes() for array in vars(decoded).values())
    assert list(vars(decoded)) == ["train_images", "train_labels", "test_images", "test_labels"]
    assert decode.sha256(decoded) == hashlib.sha256(joined).hexdigest()


def test_sha256_sees_one_changed_label(tiny):
    decoded = tiny("mnist").decoded
    labels = decoded.test_labels.copy()
    labels[-1] ^= 1
    assert decode.sha256(replace(decoded, test_labels=labels)) != decode.sha256(decoded)


class Evil:
    def __reduce__(self):
        return (print, ("run by a pickle",))


def test_a_pickle_cannot_run_anything(capsys):
    with pytest.raises(pickle.UnpicklingError, match="has no place in a dataset"):
        decode.cifar_batch(pickle.dumps(Evil(), protocol=2))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"\n<!DOCTYPE html><p>403 Forbidden", "is a web page"),
        (b"something else", "is truncated or altered"),
    ],
)
def test_a_wrong_file_is_named_for_what_it_is(tmp_path, content, what):
    path = tmp_path / "train"
    path.write_bytes(content)
    with pytest.raises(Damaged, match=f"^train {what}"):
        decode.read_official(path, "0" * 32)


@pytest.mark.parametrize("content", [b"<html>404</html>", b"", b"\x80\x02]q\x00."])
def test_wrong_registry_files_are_named(tmp_path, content):
    path = tmp_path / "a file"
    path.write_bytes(content)
    with pytest.raises(Damaged, match=r"^a file is not a picture"):
        decode.png_batch(path, (3, 32, 32))
    with pytest.raises(Damaged, match=r"^a file is not a list of labels"):
        decode.json_labels(path)


def test_the_catalog_counts_as_the_issue_says():
    counts = {name: (d.train, d.test, d.classes) for name, d in catalog.DATASETS.items()}
    assert counts == {
        "mnist": (60_000, 10_000, 10),
        "cifar10": (50_000, 10_000, 10),
        "cifar100": (50_000, 10_000, 100),
    }
