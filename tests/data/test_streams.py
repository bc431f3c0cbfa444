"""Splits and task streams as the paper cuts them."""

import numpy as np
import torch

from eowm.data import streams


def test_validation_and_test_share_the_official_test_set(resolve, arrays) -> None:
    settings = resolve("cifar10-5", "finetune")
    settings = settings.model_copy(update={"limits": type(settings.limits)()})
    data = arrays("cifar10")
    stream = streams.build(settings, data)
    validation = torch.cat([split.images for split in stream.validation])
    test = torch.cat([split.images for split in stream.test])
    assert (len(validation), len(test)) == (3000, 7000)
    both = {image.numpy().tobytes() for image in torch.cat([validation, test])}
    assert both == {image.numpy().tobytes() for image in data.test_images}


def test_stratified_is_proportional_exact_and_fixed() -> None:
    labels = np.repeat(np.arange(10), np.arange(95, 105))
    chosen = streams.stratified(labels, 300, seed=1)
    assert len(np.unique(chosen)) == 300
    counts = np.bincount(labels[chosen])
    assert np.abs(counts - np.bincount(labels) * 300 / len(labels)).max() < 1
    assert np.array_equal(chosen, streams.stratified(labels, 300, seed=1))
    assert not np.array_equal(chosen, streams.stratified(labels, 300, seed=2))


def test_shuffled_tasks_are_fixed_permutations_of_the_first(resolve, arrays) -> None:
    stream = streams.build(resolve("shuffled-mnist-3", "finetune"), arrays("mnist"))
    first, second = stream.task(0).train, stream.task(1).train
    order = np.random.RandomState(1).permutation(784)
    assert torch.equal(second.images.flatten(1), first.images.flatten(1)[:, order])
    assert torch.equal(first.labels, second.labels)
    assert torch.equal(stream.test[2].images, streams.build(
        resolve("shuffled-mnist-3", "finetune", seed=5), arrays("mnist")).test[2].images
    )  # fmt: skip


def test_the_first_permutations_are_those_of_the_published_code() -> None:
    """numpy's legacy generator seeded with the task index; values computed with numpy alone."""
    assert list(streams.permutation(0)[:5]) == [0, 1, 2, 3, 4]
    np.random.seed(3)
    assert list(streams.permutation(3)) == list(np.random.permutation(784))


def test_disjoint_tasks_are_consecutive_blocks(resolve, arrays) -> None:
    stream = streams.build(resolve("cifar100-20", "finetune"), arrays("cifar100", train=800))
    for i in range(20):
        task = stream.task(i)
        assert task.classes == tuple(range(5 * i, 5 * i + 5))
        assert set(task.train.labels.tolist()) == set(task.classes)
        assert set(stream.test[i].labels.tolist()) == set(task.classes)


def test_joint_training_pools_every_task(resolve, arrays) -> None:
    stream = streams.build(resolve("shuffled-mnist-3", "joint"), arrays("mnist"))
    pooled = stream.pooled()
    size = len(stream.task(0).train)
    assert len(pooled.train) == 3 * size
    assert torch.equal(pooled.train.images[size : 2 * size], stream.task(1).train.images)


def test_scaling(resolve, arrays) -> None:
    mnist = streams.build(resolve("shuffled-mnist-3", "finetune"), arrays("mnist")).task(0).train
    x, _ = mnist.batch(slice(0, 10))
    assert torch.equal(x, mnist.images[:10].float() / 255)
    cifar = streams.build(resolve("cifar10-5", "finetune"), arrays("cifar10")).task(0).train
    x, _ = cifar.batch(slice(0, 10))
    red = (cifar.images[:10, 0].float() - 125.3) / 63.0
    assert torch.allclose(x[:, 0], red, atol=1e-5)


def test_limits_cut_the_sets_and_keep_every_class(resolve, arrays) -> None:
    stream = streams.build(resolve("cifar10-5", "finetune"), arrays("cifar10"))
    assert sum(len(stream.task(i).train) for i in range(5)) == 400
    assert sum(len(split) for split in stream.test) == 100
    assert all(len(split.labels.unique()) == 2 for split in stream.validation)
