import pytest
from made_records import GRID

from eowm.settings.config import Config, load_config


@pytest.fixture(scope="session")
def config() -> Config:
    return load_config(overlay={"tables": GRID})
