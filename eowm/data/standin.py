"""A synthetic stand-in: the shapes and class counts of a dataset, but coloured tiles for images.

An image is one of its class's two tile patterns, faded into one of a few backgrounds that all
classes share, shifted by at most a pixel, with noise. The fading is uniform from "nothing of the
class left" to "no background", so a classifier learns the set well and never perfectly.
Integers only: every machine makes the same bytes.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from eowm.data.catalog import Dataset
from eowm.data.decode import Decoded

TILE = 4  # pixels; divides both 28 and 32
PATTERNS = 2  # of each class, so that a class is not one point
BACKGROUNDS = 32
LIT = 0.25  # of the tiles, in grey: digits are mostly dark, and learning rates depend on it
NOISE = 64  # grey levels up or down
STEPS = 16  # of fading
CHUNK = 2000  # images made at once: the working set stays in the processor's cache


def make(dataset: Dataset, advance: Callable[[int], object] = lambda n: None) -> Decoded:
    """The stand-in of a dataset, with `advance(n)` called after every n images."""
    patterns_rng, train_rng, test_rng = (_generator(dataset, part) for part in range(3))
    patterns = _tiles(patterns_rng, dataset.classes * PATTERNS, dataset.shape)
    backgrounds = _tiles(patterns_rng, BACKGROUNDS, dataset.shape)

    def split(rng: np.random.Generator, counts: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        labels = rng.permutation(np.repeat(np.arange(len(counts), dtype=np.uint8), counts))
        images = np.empty((len(labels), *dataset.shape), np.uint8)
        for start in range(0, len(labels), CHUNK):
            part = slice(start, start + CHUNK)
            images[part] = _draw(rng, labels[part], patterns, backgrounds)
            advance(len(labels[part]))
        return images, labels

    return Decoded(*split(train_rng, dataset.train_counts), *split(test_rng, dataset.test_counts))


def _generator(dataset: Dataset, part: int) -> np.random.Generator:
    """Independent streams for each dataset and part."""
    return np.random.Generator(np.random.PCG64([*dataset.name.encode(), part]))


def _tiles(rng: np.random.Generator, count: int, shape: tuple[int, int, int]) -> np.ndarray:
    channels, height, width = shape
    small = rng.integers(0, 256, (count, channels, height // TILE, width // TILE), dtype=np.int16)
    if channels == 1:
        small *= rng.random(small.shape) < LIT
    return small.repeat(TILE, axis=2).repeat(TILE, axis=3)


def _draw(
    rng: np.random.Generator, labels: np.ndarray, patterns: np.ndarray, backgrounds: np.ndarray
) -> np.ndarray:
    """Images of the given labels."""
    count = len(labels)
    pattern = patterns[labels.astype(int) * PATTERNS + rng.integers(0, PATTERNS, count)]
    images = backgrounds[rng.integers(0, BACKGROUNDS, count)]
    weight = rng.integers(0, STEPS + 1, (count, 1, 1, 1), dtype=np.int16)
    images += (pattern - images) * weight // STEPS
    images += rng.integers(-NOISE, NOISE + 1, images.shape, dtype=np.int16)
    return _shift(rng, images.clip(0, 255).astype(np.uint8))


def _shift(rng: np.random.Generator, images: np.ndarray) -> np.ndarray:
    """Each image rolled by -1, 0 or 1 pixel down and across."""
    down, across = rng.integers(-1, 2, (2, len(images)))
    for shift in product((-1, 0, 1), repeat=2):
        chosen = (down == shift[0]) & (across == shift[1])
        images[chosen] = np.roll(images[chosen], shift, axis=(2, 3))
    return images
