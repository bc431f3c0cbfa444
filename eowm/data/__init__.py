"""Datasets: where they come from, how they are checked, and how they are kept.

`catalog` says what a dataset is, `sources` gets it, `decode` turns its files into arrays,
`store` prepares it once and loads it. Nothing here imports torch before tensors are needed.
"""
