"""Experience replay with maximally interfered retrieval (Aljundi et al., 2019).

ER-MIR keeps a small buffer of images, a reservoir sample of the stream to which each image is
offered once, in a task's first epoch. From the second task on, it asks before each step which of
some candidates from the buffer would suffer most from the step, and replays those together with the
new batch: the step is on the mean loss of the batch plus the mean loss of the replayed images.

    θᵥ = θ − η ∇L(new batch)
    replayed: the k largest of ℓ(x; θᵥ) − ℓ(x; θ) over candidates from the buffer
"""

from typing import Literal

from pydantic import Field

from eowm.settings import options


class Options(options.Options):
    any_net = True
    memory: int = Field(ge=0, description="MIR: images or codes kept, of all tasks together")
    candidates: int = Field(gt=0, description="kept images of earlier tasks drawn for each batch")
    retrieved: int = Field(gt=0, description="of these, how many are replayed: the most interfered")
    score_against: Literal["present"] = Field(
        "present", description="always the present loss; part of the hash of old records"
    )
    scores: Literal["training"] | None = Field(
        None,
        description="the network's mode while it scores: evaluation, or, as published, training",
        exclude_if=lambda value: value is None,  # records made before it existed keep their hash
    )
