from eowm.methods.base import Method


class Joint(Method):
    """Plain SGD on all tasks at once."""

    pools_tasks = True
