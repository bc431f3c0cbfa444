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


def train(net: torch.nn.Module, images: np.ndarray, labels: np.ndarray, epochs: int = 2) -> None:
    x, y = floats(images), torch.from_numpy(labels).long()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(50):
            optimiser.zero_grad()
            cross_entropy(net(x[batch]), y[batch]).backward()
            optimiser.step()


def accuracy(net: torch.nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    with torch.no_grad():
        right = net(floats(images)).argmax(1) == torch.from_numpy(labels)
    return right.float().mean().item()


@pytest.mark.parametrize(
    ("name", "count", "least"), [("mnist", 10_000, 0.7), ("cifar10", 5_000, 0.8)]
)
def test_it_is_learnt_well_but_not_perfectly(made, name, count, least):
    torch.manual_seed(0)
    decoded = made[name]
    size = decoded.train_images[0].size
    net = torch.nn.Sequential(torch.nn.Linear(size, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))
    train(net, decoded.train_images[:count], decoded.train_labels[:count], epochs=4)
    assert least < accuracy(net, decoded.test_images, decoded.test_labels) < 0.97


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
    assert before > 0.8
    assert new > 0.8
    assert after < 0.1
