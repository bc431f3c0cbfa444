"""An open replication of Enhanced Orthogonal Weights Modification (EOWM).

import eowm
runs = eowm.load()                           # one line per published run, as a pandas DataFrame
eowm.record("table2/cifar10-5/owm").matrix   # one run in full; its accuracies as an array
print(eowm.compare("table2/shuffled-mnist-10/eowm", "…/owm"))

More: docs/recipes.md.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from eowm.analysis.compare import Comparison
    from eowm.records import Record

__version__ = "0.1.0"


def load(source: str | Path | None = None, file: str | Path | None = None) -> "pd.DataFrame":
    """One line per run: metrics, matrices, curves, settings.

    `source`: a preset (also its cells that have not run), or a folder of records; else the
    published records. `file`: a runs.json that `eowm collect` wrote, to read instead.
    """
    from eowm.analysis import results
    from eowm.settings.config import load_config

    return results.load(load_config(), file or source)


def record(cell: str | Path, seed: int = 0, preset: str | None = None) -> "Record":
    """The record of one run, by the cell's name or its file; `matrix` has its accuracies."""
    from eowm.analysis import results
    from eowm.settings.config import load_config

    return results.read(load_config(), cell, seed, preset)[0]


def compare(
    first: str | Path,
    second: str | Path,
    metric: str = "AA",
    margin: float = 0.002,
    preset: str | None = None,
) -> "Comparison":
    """The differences first − second over the seeds that both have, with interval and tests.

    Each is a cell, a record file or a folder of records; `…/owm` as the second is OWM in the table
    and scenario of the first. `equivalent()` tells whether the difference lies inside ±margin by
    two one-sided t-tests; 0.002 is for AA on MNIST, and was set after the first seeds were seen.
    """
    from eowm.analysis.compare import compare
    from eowm.settings.config import load_config

    return compare(load_config(), first, second, metric, margin, preset)
