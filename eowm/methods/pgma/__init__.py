"""Parameter Generation and Model Adaptation (Hu et al., 2019).

PGMA generates some weights of the classifier for each image from an embedding of it, and replays
old tasks with images from an autoencoder. Three nets: an autoencoder (encoder E, decoder D) whose
codes z follow N(0, I); a generator f that makes weights from a code; and a solver S.

    ŷ = S(x; θ₀, f(E(x)))
    L = CE + λ ‖S(x′; θ₀, f(z)) − S′(x′; θ₀′, f′(z))‖²,  x′ = D′(z)

At the end of a task a bank of images x′ = D′(z) is drawn from the autoencoder as it is then; a
prime marks what belongs to the nets of that moment. While the next task is learnt, every step also
replays some of them: E and D keep z ↔ x′, and the new solver answers x′ as the old one did.

Losses, their weights and the order of the steps are those of the published code. Not taken over:
20 epochs for the last task instead of 5, and the encoder's pre-training, which ends after one step
(its loss starts at 1/64, below the threshold of 0.1).
"""

from typing import Annotated, Literal

from pydantic import Field

from eowm.settings import options


class Options(options.Options):
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
