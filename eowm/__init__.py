"""An open replication of Enhanced Orthogonal Weights Modification (EOWM)."""

__version__ = "0.1.0"
