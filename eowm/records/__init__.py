"""The result of a run: its schema, reading and writing it, and the metrics of the paper."""

from eowm.records.record import (
    SCHEMA_VERSION,
    CellOfRun,
    DataOfRun,
    Record,
    Row,
    Timing,
    read,
    read_all,
    read_bytes,
    schema,
    write,
    write_bytes,
)

__all__ = [
    "SCHEMA_VERSION", "CellOfRun", "DataOfRun", "Record", "Row", "Timing", "read", "read_all",
    "read_bytes", "schema", "write", "write_bytes",
]  # fmt: skip
