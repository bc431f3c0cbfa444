"""Fine-tuning: plain SGD on one task after the other. The floor of every comparison."""

from eowm.methods.base import Method


class Finetune(Method):
    name = "finetune"
