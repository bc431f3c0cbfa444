from eowm.methods.base import Method


class Finetune(Method):
    """Plain SGD, as the base class is."""
