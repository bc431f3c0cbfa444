"""One run from its settings to its record: the loop, checkpoints, precision, progress."""
