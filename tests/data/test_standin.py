import pytest

from eowm.data import catalog, decode, standin


@pytest.mark.parametrize(
    ("name", "sha256"),
    [
        ("mnist", "feb43cc61d87921a586f663471d45e28f35c56052b675f26355354f62eae002f"),
        ("cifar10", "4de925c7f8c1a1d03e4cb351cd6faed97efcbcea7ca0843d651db835d1fd6429"),
        ("cifar100", "531c19fae6ca740191ba97801b84ac30a0c599b0b25f5b15ed1e29a1aa68a382"),
    ],
)
def test_every_machine_makes_the_same_bytes(name, sha256):
    dataset = catalog.DATASETS[name]
    made = standin.make(dataset)
    assert decode.sha256(made) == sha256
    assert made.train_images.shape == (dataset.train, *dataset.shape)
    assert made.test_images.shape == (dataset.test, *dataset.shape)
