"""Enhanced Orthogonal Weights Modification (Li, Liu, Yao, Kou, Lv, Xu and Cui, 2021).

EOWM adds to OWM's P a second matrix Q_ort = (I + Σ wwᵀ/β)⁻¹ (Eq. 4), made of the weights in the way
in which P is made of the inputs, and Q = I − Q_ort. On similar tasks a share c₂ of the gradient
goes through Q, on dissimilar ones through Q_ort; then P acts as in OWM. In the published code c₁
stays near 1 and c₂ is a few hundredths at most.

    Q_ort ← Q_ort − k w̄ᵀQ_ort,  k = Q_ort w̄ / (β + w̄ᵀQ_ort w̄)   (Eq. 10)
    P_s = P (c₁ I + c₂ Q),  P_ds = P (c₁ I + c₂ Q_ort)   (Eq. 7)
    W ← W − η G P_EOWM   (Eq. 8)
    c₁ = (s + rᵖ eˢ)/(s + eˢ),  c₂ = (1 − c₁)(1 ∓ (1 + s)⁻ᵀ)   (published code)

A gradient G becomes G (c₁ I + c₂ Q) P: P acts last, because the other order, Eq. 8 taken literally,
lets Q leak into protected directions. The paper's text, the published code and what can work
differ; every reading is a setting.
"""

from typing import Literal

from pydantic import Field

from eowm.methods import owm
from eowm.settings import options


class Options(owm.Options):
    beta: dict[str, options.Schedule] = Field(
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
