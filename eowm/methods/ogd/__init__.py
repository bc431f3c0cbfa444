"""Orthogonal Gradient Descent (Farajtabar, Azizan, Mott and Li, 2020).

OGD keeps gradients of the network's outputs (the logit of the label, not the loss) at some images
of each task, and takes their span out of every later gradient, so that to first order the outputs
there do not change.

    g̃ = g − Jᵀ (J Jᵀ)⁻¹ J g,  rows of J: ∇f_y(x; θ*) of kept images
    θ ← θ − η g̃

A step moves the weights of a linear layer by −η g + η Jᵀc with c = K⁺ J g. The second part has the
size of the layer and costs most of a step, so it is put off: steps add up J g alone, a layer's
outputs are corrected by what Jᵀc would add to them, and it is multiplied out once in 64 steps.
"""

from typing import Literal

from pydantic import Field

from eowm.settings import options


class Options(options.Options):
    memory: int = Field(ge=0, description="OGD: images per task whose output gradients are kept")
    outputs: Literal["gtl"] = Field(
        "gtl", description="always the label's logit; part of the hash of old records"
    )
