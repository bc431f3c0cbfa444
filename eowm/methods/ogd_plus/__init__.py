"""OGD+ (Bennani, Doan and Sugiyama, 2020).

OGD with gradients that do not go stale: OGD+ keeps images of old tasks instead of gradients, and
takes all their gradients anew, with the present weights, at the end of each task.

    rows of J: ∇f_y(x; θ_now) of kept images of all tasks

`replace` (the published code) forgets the earlier gradients, `add` (the paper) keeps them too.
"""

from typing import Literal

from pydantic import Field

from eowm.methods import ogd


class Options(ogd.Options):
    basis: Literal["replace", "add"] = Field(
        "replace", description="new gradients replace the old ones (published code), or add to them"
    )
