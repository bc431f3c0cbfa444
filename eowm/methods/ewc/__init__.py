"""Elastic Weight Consolidation (Kirkpatrick et al., 2017; online form: Schwarz et al., 2018).

EWC holds every weight back by a spring to its value θ*ⱼ after each earlier task j. The spring is as
strong as the weight was important, measured by the diagonal of the Fisher information, exact for
few classes and with one sampled label for many.

    L(θ) + ½ λ Σⱼ Σᵢ Fⱼᵢ (θᵢ − θ*ⱼᵢ)²
    Fⱼᵢ = E [ (∂ log p(y | x, θ*ⱼ) / ∂θᵢ)² ],  y drawn from the network

All quadratics together are one: their gradient is A (θ − θ*) − b with A = Σ Fⱼ, where θ* is the
latest anchor and b collects what the earlier anchors differ from it. So memory does not grow with
tasks. The penalty takes an implicit step, θ ← θ − s (A (θ − θ*) − b)/(1 + s A), stable for every λ.
With s = λ · rate/(1 − momentum) it rests where the gradient of the whole loss is zero.
"""

from typing import Literal

from pydantic import Field

from eowm.settings import options


class Options(options.Options):
    strength: float = Field(
        ge=0, description="λ in ½ λ Σ F (θ − θ*)², for the exact Fisher information"
    )
    fisher_labels: Literal["all", "sampled"] = Field(
        "all", description="expectation over every label, or one label drawn from the model"
    )
    fisher_images: int = Field(gt=0, description="images per task that the Fisher is averaged over")
    online: bool = Field(False, description="one running quadratic instead of one for each task")
    decay: float = Field(1.0, ge=1, le=1, description="always 1; part of the hash of old records")
