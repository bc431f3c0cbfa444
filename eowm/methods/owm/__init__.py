"""Orthogonal Weights Modification (Zeng, Chen, Cui and Yu, 2019).

OWM keeps, for each layer, a matrix P that takes out of a gradient G (outputs × inputs) the
directions of inputs seen before, so that the answers to them stay. P is updated from the mean input
x̄ of every batch, the first task included; for a convolution from the patches of the batch's mean
map. No old image is kept.

    P ← P − k x̄ᵀP,  k = P x̄ / (α + x̄ᵀP x̄)   (Eq. 9)
    W ← W − η G P   (Eqs. 1 and 2)

As in the published code, P already knows the batch whose gradient it projects (`updates: after`
swaps the two steps). α is the scenario's: constant, or falling geometrically over each task. The
variant `owm:matched` also scales the gradient by EOWM's c₁: the control that isolates EOWM's other
term.
"""

from typing import Literal

from pydantic import Field

from eowm.settings import options


class Options(options.Options):
    alpha: dict[str, options.Schedule] = Field(
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
