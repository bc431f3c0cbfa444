"""Every setting of a run, typed and described: this file is the documentation of `config.yaml`.

Nothing here imports torch, so listing cells and checking a config take a fraction of a second.
A method adds its own settings as one `Options` class at the end of this file.
"""

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator


class Strict(BaseModel):
    """Immutable, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Positive = Annotated[float, Field(gt=0)]
Schedule = Annotated[
    tuple[Positive, Positive],
    Field(description="[at the task's start, at its end]; geometric in between"),
]
Selection = Literal["last", "validation", "test-oracle"]
Budget = Literal["paper", "reduced"]
Precision = Literal["float32", "bfloat16"]


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
        description="learn from only so many of a task's images, the same ones in every epoch, "
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


class Options(Strict):
    """Base of a method's own settings.

    Raise `version` when a change of code alters the numbers of the method: it is part of the
    settings hash, so finished cells become stale. A comment or a refactoring raises nothing.
    """

    version: ClassVar[int] = 1
    any_net: ClassVar[bool] = False  # True: biases and batch normalisation (resnet18) do no harm


class FinetuneOptions(Options):
    """Plain SGD has no settings of its own."""

    any_net = True


class JointOptions(Options):
    """Plain SGD on all tasks at once has no settings of its own."""

    any_net = True


class OwmOptions(Options):
    """Orthogonal Weights Modification (method of Zeng et al., 2019)."""

    alpha: dict[str, Schedule] = Field(
        description="regulariser of P (Eq. 1) by layer name (fc1) or kind (conv)"
    )
    projector_stride: int = Field(
        2, gt=0, description="stride of the conv patches that update P (the published code: 2)"
    )
    coefficients: Literal["one", "constant", "published", "published-raw"] = Field(
        "one",
        description="c1 and c2 of Eq. 7: 1 and 0; 1 − w2 and w2; the rule of the published code; "
        "the same with its slips. OWM uses c1 only",
    )
    w2: float = Field(0.0, ge=0, le=1, description="c2 where the coefficients are constant")
    r: float = Field(0.99, gt=0, le=1, description="Table 1: base of the decay of c1")
    similarity: Literal["image-means", "pixels"] = Field(
        "image-means", description="what the published rule compares of two neighbouring tasks"
    )
    updates: Literal["after"] | None = Field(
        None,
        description="`after`: a batch is projected by what was known before it; null: P and Q "
        "learn from the batch first (the published code)",
        exclude_if=lambda value: value is None,  # records made before it existed keep their hash
    )


class EowmOptions(OwmOptions):
    """Enhanced Orthogonal Weights Modification (Li et al., 2021)."""

    beta: dict[str, Schedule] = Field(
        description="regulariser of Q (Eq. 4) by layer name (fc1) or kind (conv)"
    )
    case: Literal["published", "labels"] = Field(
        "published",
        description="P_s or P_ds: P_ds for convolutions of disjoint tasks and P_s elsewhere, "
        "or by overlap of labels (Definition 5)",
    )
    update: Literal["batch", "task-batches", "task-mean"] = Field(
        "batch",
        description="P and Q learn from every batch before it is projected; or at the task's end "
        "from each batch mean, or from one mean (then the first task is learnt by plain SGD)",
    )
    order: Literal["p-last", "q-last"] = Field(
        "p-last", description="P acts last (the published code), or Q does (Eq. 8 literally)"
    )


class EwcOptions(Options):
    """Elastic Weight Consolidation (Kirkpatrick et al., 2017)."""

    strength: float = Field(
        ge=0, description="λ in ½ λ Σ F (θ − θ*)², for the exact Fisher information"
    )
    fisher_labels: Literal["all", "sampled"] = Field(
        "all", description="expectation over every label, or one label drawn from the model"
    )
    fisher_images: int = Field(gt=0, description="images a task that the Fisher is averaged over")
    online: bool = Field(False, description="one running quadratic instead of one for each task")
    decay: float = Field(1.0, ge=0, le=1, description="γ of the online form")


class PgmaOptions(Options):
    """Parameter Generation and Model Adaptation (Hu et al., 2019)."""

    autoencoder: Literal["mlp", "conv"] = Field(
        description="the data generator: linear layers, or 4x4 convolutions (the published code)"
    )
    autoencoder_widths: tuple[Annotated[int, Field(gt=0)], ...] = Field(
        min_length=1, description="units or filters of its encoder; the decoder mirrors them"
    )
    code_size: int | None = Field(
        None, gt=0, description="length of z; null: 64 up to three tasks, 32 beyond (published)"
    )
    generated_inputs: int = Field(
        80, gt=0, multiple_of=10, description="inputs of the last layer with generated weights"
    )
    generator_width: int = Field(1000, gt=0, description="hidden units of each weight generator")
    replay_bank: int = Field(40_000, gt=0, description="images drawn at the end of a task")
    replay_batch: int = Field(400, gt=0, description="of them, how many are replayed in a step")


class OgdOptions(Options):
    """Orthogonal Gradient Descent (Farajtabar et al., 2020)."""

    memory: int = Field(ge=0, description="OGD: images a task whose output gradients are kept")
    outputs: Literal["gtl", "ave", "all"] = Field(
        "gtl", description="which outputs: the label's logit, the mean logit, every logit"
    )


class OgdPlusOptions(OgdOptions):
    """OGD+ (Bennani et al., 2020)."""

    basis: Literal["replace", "add"] = Field(
        "replace", description="new gradients replace the old ones (published code), or add to them"
    )


class ErMirOptions(Options):
    """Experience replay with maximally interfered retrieval (Aljundi et al., 2019)."""

    any_net = True
    memory: int = Field(ge=0, description="MIR: images or codes kept, of all tasks together")
    candidates: int = Field(gt=0, description="kept images of earlier tasks drawn for each batch")
    retrieved: int = Field(gt=0, description="of these, how many are replayed: the most interfered")
    score_against: Literal["present", "best"] = Field(
        "present",
        description="interference is the loss after the virtual step minus the present loss, "
        "or minus the lowest loss the image ever had",
    )
    scores: Literal["training"] | None = Field(
        None,
        description="the network's mode while it scores: evaluation, or, as published, training",
        exclude_if=lambda value: value is None,  # records made before it existed keep their hash
    )


class AeMirOptions(Options):
    """MIR with a memory of codes behind an autoencoder (Aljundi et al., 2019: "hybrid")."""

    any_net = True
    memory: int = Field(ge=0, description="MIR: images or codes kept, of all tasks together")
    candidates: int = Field(gt=0, description="kept codes of earlier tasks drawn for each batch")
    replayed: int = Field(gt=0, description="size of the replayed batch")
    classifier_epochs: int = Field(
        1, gt=0, description="the classifier learns only in the last epochs of a task, so many"
    )


OPTIONS: dict[str, type[Options]] = {
    "finetune": FinetuneOptions,
    "joint": JointOptions,
    "owm": OwmOptions,
    "eowm": EowmOptions,
    "ewc": EwcOptions,
    "pgma": PgmaOptions,
    "ogd": OgdOptions,
    "ogd-plus": OgdPlusOptions,
    "er-mir": ErMirOptions,
    "ae-mir": AeMirOptions,
}


class RunSettings(Strict):
    """One run, resolved: everything that decides its numbers but how it was computed (precision,
    threads, device, versions), which the `environment` of its record tells."""

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

    @model_validator(mode="after")
    def _check(self) -> "RunSettings":
        classes = 100 if self.dataset == "cifar100" else 10
        if self.stream == "disjoint" and classes % self.tasks:
            raise ValueError(f"{classes} classes cannot be cut into {self.tasks} equal tasks")
        if self.net.net == "resnet18" and not OPTIONS[self.method].any_net:
            raise ValueError(
                f"{self.method} cannot train a resnet18: it was not written for biases and batch "
                "normalisation (`any_net` of its Options)"
            )
        typed = OPTIONS[self.method].model_validate(self.options)
        object.__setattr__(self, "options", typed.model_dump(mode="json"))
        return self

    def typed_options(self) -> Any:
        return OPTIONS[self.method].model_validate(self.options)

    def hash(self) -> str:
        """Equal for equal settings, on every machine."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _overlay() -> type[Strict]:
    """All settings by their flat names, each optional: what a config section may change."""
    fields: dict[str, Any] = {}
    models: list[type[Strict]] = [Net, Training, *OPTIONS.values()]
    shared = Net.model_fields.keys() | Training.model_fields.keys()
    for model in models:
        if issubclass(model, Options) and (taken := shared & model.model_fields.keys()):
            raise TypeError(f"{model.__name__}: {', '.join(taken)} is a setting of all methods")
        for name, field in model.model_fields.items():
            kind: Any = Annotated[(field.annotation, *field.metadata, None)]  # keeps the bounds
            told = [fields[name][1].description] if name in fields else []
            if field.description not in told:  # one name may mean two things in two methods
                told.append(field.description)
            if name in fields:  # and have other bounds: `resolve` checks those of the method
                kind = fields[name][0] | kind
            fields[name] = (kind | None, Field(None, description="; ".join(told)))
    return create_model("Overlay", __base__=Strict, __doc__=_overlay.__doc__, **fields)


if TYPE_CHECKING:

    class Overlay(Strict): ...

else:
    Overlay = _overlay()
