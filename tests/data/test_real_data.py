"""The real files, where EOWM_DATA_DIR says that they are."""

import os
from pathlib import Path

import numpy as np
import pytest

from eowm.data import catalog, store


@pytest.fixture(scope="module")
def folder() -> Path:
    folder = Path(os.environ.get("EOWM_DATA_DIR", "nowhere"))
    if not (folder / "cifar-100-python" / "train").is_file():
        pytest.skip("real CIFAR-100 is not at hand; set EOWM_DATA_DIR to a folder that holds it")
    return folder


def test_real_cifar100(folder, tmp_path):
    manifest = store.fetch("cifar100", tmp_path, source="local", local=folder)
    dataset = catalog.DATASETS["cifar100"]
    assert manifest.sha256 == dataset.sha256
    arrays, _ = store.load("cifar100", tmp_path)
    assert tuple(np.bincount(arrays.train_labels)) == dataset.train_counts
    assert tuple(np.bincount(arrays.test_labels)) == dataset.test_counts
    # The first training image: a cow (fine label 19, not the coarse 11), on a white sky.
    assert arrays.train_labels[0] == 19
    assert arrays.train_images[0, :, 0, 0].tolist() == [255, 255, 255]
    means = arrays.train_images.numpy().mean((0, 2, 3))
    assert means == pytest.approx([129.30, 124.07, 112.43], abs=0.01)
