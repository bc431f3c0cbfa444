"""What was chosen by a sweep is what the sweep found."""

import pandas as pd
import pytest

from eowm.paths import CHECKOUT

SWEEPS = sorted((CHECKOUT / "docs" / "sweeps").glob("*.csv"))


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_the_config_has_the_best_value_of_the_sweep(config, path) -> None:
    table = pd.read_csv(path)
    (scenario,), (method,), (key,) = (set(table[c]) for c in ("scenario", "method", "setting"))
    means = table.groupby("value")["validation_accuracy"].mean()
    settings = config.resolve(config.cell(f"table2/{scenario}/{method}"), 0, "paper", {})
    assert settings.options[key] == means.idxmax()


def test_there_is_a_sweep_for_each_family_but_cifar100(config) -> None:
    """CIFAR-100 takes the value of CIFAR-10."""
    found = {pd.read_csv(path)["scenario"][0].rsplit("-", 1)[0] for path in SWEEPS}
    assert found == set(config.families) - {"cifar100"}
    strengths = [
        config.resolve(config.cell(f"table2/{scenario}/ewc"), 0, "paper").options["strength"]
        for scenario in ("cifar10-5", "cifar100-20")
    ]
    assert strengths[0] == strengths[1]
