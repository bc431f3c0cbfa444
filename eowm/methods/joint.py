"""Joint training: plain SGD on all tasks at once, as many steps as in sequence. The ceiling."""

from eowm.methods.base import Method


class Joint(Method):
    name = "joint"
    pools_tasks = True
