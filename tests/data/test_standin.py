import numpy as np
import pytest

from eowm.data import catalog, decode, standin


@pytest.fixture(scope="module")
def made() -> dict[str, decode.Decoded]:
    return {name: standin.make(dataset) for name, dataset in catalog.DATASETS.items()}


@pytest.mark.parametrize(
    ("name", "sha256"),
    [
        ("mnist", "feb43cc61d87921a586f663471d45e28f35c56052b675f26355354f62eae002f"),
        ("cifar10", "4de925c7f8c1a1d03e4cb351cd6faed97efcbcea7ca0843d651db835d1fd6429"),
        ("cifar100", "531c19fae6ca740191ba97801b84ac30a0c599b0b25f5b15ed1e29a1aa68a382"),
    ],
)
def test_every_machine_makes_the_same_bytes(made, name, sha256):
    """Which are learnt well, and forgotten when other classes follow."""
    assert decode.sha256(made[name]) == sha256


@pytest.mark.parametrize("name", catalog.DATASETS)
def test_shapes_and_class_counts_are_those_of_the_dataset(made, name):
    dataset, decoded = catalog.DATASETS[name], made[name]
    assert decoded.train_images.shape == (dataset.train, *dataset.shape)
    assert decoded.test_images.shape == (dataset.test, *dataset.shape)
    assert decoded.train_images.dtype == decoded.test_labels.dtype == np.uint8
    assert tuple(np.bincount(decoded.train_labels)) == dataset.train_counts
    assert tuple(np.bincount(decoded.test_labels)) == dataset.test_counts


def test_no_image_is_in_both_halves(made):
    train = {image.tobytes() for image in made["mnist"].train_images}
    assert not any(image.tobytes() in train for image in made["mnist"].test_images)
