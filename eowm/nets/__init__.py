"""Every network: classifiers (MLP, CNN, ResNet-18), autoencoders, PGMA's generators."""

from eowm.nets.classifier import (
    MLP,
    Layer,
    build,
    cheap_mask,
    dropout,
    layers,
    padded_on_all_sides,
    pooled,
)

__all__ = [
    "MLP", "Layer", "build", "cheap_mask", "dropout", "layers", "padded_on_all_sides", "pooled",
]  # fmt: skip
