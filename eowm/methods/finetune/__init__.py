"""Fine-tuning (the floor; not in the paper).

Plain SGD on one task after another. Nothing holds on to what was learnt before, so on disjoint
tasks the old classes are lost as soon as new ones arrive.

    θ ← θ − η ∇L(θ)
"""

from eowm.settings import options


class Options(options.Options):
    """Plain SGD has no settings of its own."""

    any_net = True
