"""What was published, as data files: the one place that holds numbers of the paper.

Its claims and ambiguities lie here too; `eowm.analysis` reads them with the code that judges them.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

FOLDER = Path(__file__).parent


def table1() -> pd.DataFrame:
    """Table 1: setting (by its name in config.yaml), family, low, high.

    The paper prints one number (low = high) or a pair such as (3, 3.5), which it does not explain.
    """
    return pd.read_csv(FOLDER / "table1.csv")


def table2() -> pd.DataFrame:
    """Table 2: metric (AA, MRR), method, scenario, value; in the paper's order."""
    return pd.read_csv(FOLDER / "table2.csv")


def table3() -> pd.DataFrame:
    """Table 3: metric, scenario, w2, value. AA as a fraction, where the paper prints percent."""
    return pd.read_csv(FOLDER / "table3.csv")


@cache
def _yaml(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
