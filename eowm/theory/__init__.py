"""The theorems of the paper, measured and drawn."""
