"""An open replication of Enhanced Orthogonal Weights Modification (EOWM).

import eowm
runs = eowm.load("paper")                    # one line per run, as a pandas DataFrame
eowm.record("table2/cifar10-5/owm", seed=1)  # everything that one run left behind
eowm.compare("table2/shuffled-mnist-3/eowm", "table2/shuffled-mnist-3/owm")
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from eowm.analysis.statistics import Paired
    from eowm.records import Record

__version__ = "0.1.0"


def load(preset: str = "paper", file: Path | str | None = None) -> "pd.DataFrame":
    """Every run of a preset, also those that have not run; metrics, matrices, curves, settings.

    `file`: a runs.json that `eowm collect` wrote, to read instead.
    """
    from eowm.analysis import collect
    from eowm.settings.config import load_config

    return collect.read(Path(file)) if file else collect.load(load_config(), preset)


def record(cell: str, seed: int = 0, preset: str = "paper") -> "Record":
    """The record of one run, by the cell's name."""
    from eowm import paths, records
    from eowm.settings.config import load_config

    name = load_config().cell(cell).name
    return records.read(paths.OUT / paths.record(preset, name, seed))


def compare(first: str, second: str, metric: str = "AA", preset: str = "paper") -> "Paired":
    """The differences first − second of two cells, over the seeds that both have."""
    from eowm.analysis.collect import METRICS
    from eowm.analysis.statistics import paired
    from eowm.errors import ConfigError, nearest
    from eowm.settings.config import load_config

    config = load_config()
    if metric not in METRICS:
        raise ConfigError(f"metric '{metric}' is unknown{nearest(metric, METRICS)}.")
    one, other = (config.cell(cell).name for cell in (first, second))
    return paired(load(preset), one, other, metric)
