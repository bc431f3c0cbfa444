"""MIR with a memory of codes behind an autoencoder (Aljundi et al., 2019: "hybrid").

The idea of ER-MIR with an autoencoder (encoder E, decoder D): the buffer holds codes instead of
images, and retrieval looks for codes near those on which the classifiers before and after the step
disagree most.

    h ← h + ∇ₕ KL( p(D(h); θ) ‖ p(D(h); θᵥ) )
    replayed: D(codes of the buffer nearest to h)

The autoencoder learns in every epoch of a task, the classifier in the last one only. From the
second task on, every batch is joined by replayed images: codes of earlier tasks, decoded by the
copy of the autoencoder that was made when the last task ended. They are drawn at random while the
autoencoder learns alone, and found by interference when the classifier learns, too: the batch is
encoded, its codes take one step of gradient ascent as above, and of the candidates drawn from
memory the one nearest to each is taken. The classifier sees reconstructions only, and at test every
image is autoencoded first.

Ours: copies are made, and kept codes encoded anew, at a task's end (the published code does it
after every epoch: more copies, more drift). Whatever is stored, shown to the classifier, copied or
tested comes from evaluation mode: batch normalisation then does not depend on a batch's company.
"""

from pydantic import Field

from eowm.settings import options


class Options(options.Options):
    any_net = True
    memory: int = Field(ge=0, description="MIR: images or codes kept, of all tasks together")
    candidates: int = Field(gt=0, description="kept codes of earlier tasks drawn for each batch")
    replayed: int = Field(gt=0, description="size of the replayed batch")
    classifier_epochs: int = Field(
        1, gt=0, description="the classifier learns only in this many last epochs of a task"
    )
