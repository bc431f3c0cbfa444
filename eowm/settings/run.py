"""Every setting that all methods share, typed and described; those of one method are its `Options`.

Nothing here imports torch, so listing cells and checking a config take a fraction of a second.
"""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from eowm.settings.options import Strict, has_code, options_of

Selection = Literal["last", "validation", "test-oracle"]
Budget = Literal["paper", "reduced"]
Precision = Literal["float32", "bfloat16"]

# Raise it when a change of the loop, the networks or the streams alters the numbers of all methods:
# every finished cell becomes stale.
CORE_VERSION = 1


class Net(Strict):
    """The classifier. An `mlp` uses `hidden` and `dropout`; a `cnn` `filters` too; a `resnet18`
    `filters` alone, one number for each of its stages."""

    net: Literal["mlp", "cnn", "resnet18"] = Field(description="network family")
    hidden: tuple[Annotated[int, Field(gt=0)], ...] = Field(description="hidden linear layers")
    filters: tuple[Annotated[int, Field(gt=0)], ...] = Field((), description="conv filters")
    dropout: float = Field(0.0, ge=0, lt=1, description="after each conv (cnn) or hidden layer")


class Training(Strict):
    """The optimisation that every method shares."""

    epochs: int = Field(gt=0, description="passes over a task's training images")
    batch_size: int = Field(gt=0, description="images in a batch; a last smaller batch is kept")
    images_per_epoch: int | None = Field(
        None,
        gt=0,
        description="learn from only this many of a task's images, the same ones in every epoch, "
        "drawn anew for each task and seed; what a method gathers of a task (Fisher information, "
        "gradients, similarities, means) is of all its images",
        exclude_if=lambda value: value is None,  # records made before it existed keep their hash
    )
    reshuffle: bool = Field(
        True, description="new batches in every epoch, or the same ones throughout a task"
    )
    learning_rate: float = Field(gt=0, description="step size of SGD (PGMA: of Adam)")
    momentum: float = Field(0.0, ge=0, lt=1, description="SGD momentum, reset at each task")
    clip_norm: float | None = Field(
        None, gt=0, description="largest norm of the whole gradient, after any projection"
    )
    norm_penalty: float = Field(
        0.0, ge=0, description="weight of the sum of Frobenius norms added to the loss"
    )
    selection: Selection = Field(
        "last",
        description="which epoch of a task is kept: the last; the best on the validation images "
        "of the tasks seen; or the best on ALL test images (leakage: what the published CIFAR "
        "code does)",
    )


class Limits(Strict):
    """How a preset shrinks a run. `null` means: as in the paper."""

    epochs: int | None = Field(None, gt=0, description="at most this many epochs a task")
    train_images: int | None = Field(None, gt=0, description="training set cut to this size")
    validation_images: int | None = Field(None, gt=0, description="of 3,000")
    test_images: int | None = Field(None, gt=0, description="of 7,000")


class RunSettings(Strict):
    """One run, resolved: everything that decides its numbers. What may change their last bits
    (threads, device, versions) is in the `environment` of its record."""

    scenario: str
    method: str
    variant: str | None
    seed: int = Field(ge=0)
    dataset: Literal["mnist", "cifar10", "cifar100"]
    stream: Literal["shuffled", "disjoint"]
    tasks: int = Field(gt=0)
    net: Net
    training: Training
    limits: Limits
    options: dict[str, Any]
    method_version: int
    # Left out where they are what every record had before they existed, so that hashes stay.
    precision: Precision = Field(
        "float32",
        description="of the products of layers in training",
        exclude_if=lambda value: value == "float32",
    )
    core_version: int = Field(
        1,
        description="of the loop, the networks and the streams",
        exclude_if=lambda value: value == 1,
    )

    @model_validator(mode="after")
    def _check(self) -> "RunSettings":
        classes = 100 if self.dataset == "cifar100" else 10
        if self.stream == "disjoint" and classes % self.tasks:
            raise ValueError(f"{classes} classes cannot be cut into {self.tasks} equal tasks")
        if not has_code(self.method):
            return self  # a record of a method whose code is not here
        options = options_of(self.method)
        if self.net.net == "resnet18" and not options.any_net:
            raise ValueError(
                f"{self.method} cannot train a resnet18: it was not written for biases and batch "
                "normalisation (`any_net` of its Options)"
            )
        typed = options.model_validate(self.options)
        object.__setattr__(self, "options", typed.model_dump(mode="json"))
        return self

    def typed_options(self) -> Any:
        return options_of(self.method).model_validate(self.options)

    def hash(self) -> str:
        """Equal for equal settings, on every machine."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
