import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from eowm.data import catalog, decode, standin

MNIST_SHA256 = "feb43cc61d87921a586f663471d45e28f35c56052b675f26355354f62eae002f"


@pytest.fixture(scope="module")
def made() -> dict[str, decode.Decoded]:
    return {name: standin.make(dataset) for name, dataset in catalog.DATASETS.items()}


@pytest.mark.parametrize("name", catalog.DATASETS)
def test_shapes_and_class_counts_are_those_of_the_dataset(made, name):
    dataset, decoded = catalog.DATASETS[name], made[name]
    assert decoded.train_images.shape == (dataset.train, *dataset.shape)
    assert decoded.test_images.shape == (dataset.test, *dataset.shape)
    assert decoded.train_images.dtype == decoded.test_labels.dtype == np.uint8
    assert tuple(np.bincount(decoded.train_labels)) == dataset.train_counts
    assert tuple(np.bincount(decoded.test_labels)) == dataset.test_counts


def test_every_machine_makes_the_same_bytes(made):
    assert decode.sha256(made["mnist"]) == MNIST_SHA256
    assert decode.sha256(standin.make(catalog.DATASETS["mnist"])) == MNIST_SHA256


def test_no_image_is_in_both_halves(made):
    train = {image.tobytes() for image in made["mnist"].train_images}
    assert not any(image.tobytes() in train for image in made["mnist"].test_images)


def floats(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(images).flatten(1).float() / 255


def train(net: torch.nn.Module, images: np.ndarray, labels: np.ndarray) -> None:
    x, y = floats(images), torch.from_numpy(labels).long()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(2):
        for batch in torch.randperm(len(x)).split(50):
            optimiser.zero_grad()
            cross_entropy(net(x[batch]), y[batch]).backward()
            optimiser.step()


def accuracy(net: torch.nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    with torch.no_grad():
        right = net(floats(images)).argmax(1) == torch.from_numpy(labels)
    return right.float().mean().item()


def test_learning_classes_one_after_the_other_forgets(made):
    torch.manual_seed(0)
    decoded = made["cifar10"]
    net = torch.nn.Linear(3072, 10)
    old_test = decoded.test_labels < 5
    images, labels = decoded.train_images[:6000], decoded.train_labels[:6000]
    train(net, images[labels < 5], labels[labels < 5])
    before = accuracy(net, decoded.test_images[old_test], decoded.test_labels[old_test])
    train(net, images[labels >= 5], labels[labels >= 5])
    after = accuracy(net, decoded.test_images[old_test], decoded.test_labels[old_test])
    new = accuracy(net, decoded.test_images[~old_test], decoded.test_labels[~old_test])
    assert 0.8 < before < 1
    assert 0.8 < new < 1
    assert after < 0.1
