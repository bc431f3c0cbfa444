"""Joint training (the ceiling; not in the paper).

The same network trained on the images of all tasks at once, with as many steps as the tasks have
together. A method that sees the tasks one by one should not exceed it on disjoint tasks.

    θ ← θ − η ∇ (L₁ + … + L_N)(θ)
"""

from eowm.settings import options


class Options(options.Options):
    """Plain SGD on all tasks at once has no settings of its own."""

    any_net = True
