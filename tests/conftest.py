"""Shared by all tests: no network, no GPU, two threads at most."""

import functools
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

from eowm.paths import CHECKOUT as ROOT
from eowm.settings.config import Config, load_config
from eowm.settings.run import RunSettings


@pytest.fixture(scope="session")
def config() -> Config:
    return load_config(ROOT / "config.yaml")


@pytest.fixture(scope="session")
def resolve(config: Config):
    """`resolve("cifar10-5", "owm", epochs=1)`: settings of a smoke run."""

    def _resolve(scenario: str, method: str, seed: int = 0, **overrides) -> RunSettings:
        cell = config.cell(f"table2/{scenario}/{method}")
        return config.resolve(cell, seed, "smoke", overrides)

    return _resolve


@pytest.fixture(scope="session")
def arrays():
    """`arrays("mnist")`: random images of the right shape, made once; nobody changes them."""
    import torch

    from eowm.data.store import Arrays

    @functools.cache
    def _arrays(dataset: str, train: int = 600, test: int = 10_000) -> Arrays:
        shape = (1, 28, 28) if dataset == "mnist" else (3, 32, 32)
        classes = 100 if dataset == "cifar100" else 10
        rng = np.random.default_rng(0)
        prototypes = rng.integers(0, 200, (classes, *shape))

        def make(count: int):
            labels = rng.permutation(np.arange(count) % classes)
            images = prototypes[labels] + rng.integers(0, 56, (count, *shape))
            return torch.from_numpy(images.astype(np.uint8)), torch.from_numpy(
                labels.astype(np.uint8)
            )

        return Arrays(*make(train), *make(test))

    return _arrays
