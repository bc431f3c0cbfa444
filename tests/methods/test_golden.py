"""A change of code that changes numbers must raise the version of its method.

Finished cells become stale by the version alone (it is part of the settings hash), so this test
keeps the outcome of short runs. The tolerance is far above what another processor changes and far
below what another algorithm does; both are tested here.
"""

import json

import golden
import pytest
from pydantic import ValidationError

from eowm.settings.options import options_of
from eowm.settings.run import RunSettings

SHIPPED = sorted(path.stem for path in golden.FOLDER.glob("*.json"))
LOSS, ACCURACY = 2e-4, 0.03  # relative, absolute


def stored(method: str) -> dict:
    return json.loads((golden.FOLDER / f"{method}.json").read_text())


def settings_of(run: dict, method: str) -> RunSettings:
    try:
        return RunSettings(**run["settings"] | {"method_version": options_of(method).version})
    except ValidationError as error:
        pytest.fail(f"settings of {method} have changed: {error}; {how(method)}")


def how(method: str) -> str:
    return (
        f"if that is meant, raise `version` in the Options of {method}, so that finished cells "
        f"become stale, and run: python tests/methods/golden.py {method}"
    )


def differs(run: dict, now: dict) -> bool:
    if run["status"] != now["status"] or len(run["loss"]) != len(now["loss"]):
        return True
    rows = [(a, b) for a, b in zip(run["accuracy"], now["accuracy"], strict=True) if a and b]
    return now["loss"] != pytest.approx(run["loss"], rel=LOSS) or any(
        b != pytest.approx(a, abs=ACCURACY) for a, b in rows
    )


@pytest.mark.parametrize("method", SHIPPED)
def test_the_numbers_of_a_method_belong_to_its_version(method) -> None:
    kept = stored(method)
    assert kept["version"] == options_of(method).version, (
        f"the golden runs of {method} are of another version: "
        f"python tests/methods/golden.py {method}"
    )
    for name, run in kept["runs"].items():
        now = golden.outcome(settings_of(run, method))
        assert not differs(run, now), f"{name} gives other numbers: {how(method)}"


@pytest.mark.parametrize("method", ["finetune", "owm", "eowm"])
def test_another_processor_is_no_other_method(method) -> None:
    """Rounding differs between processors in the seventh digit; here the sixth is disturbed."""
    for name, run in stored(method)["runs"].items():
        assert not differs(run, golden.outcome(settings_of(run, method), nudge=1e-6)), name


@pytest.mark.parametrize(
    ("method", "change"),
    [("finetune", {"learning_rate": 0.101}), ("owm", {"norm_penalty": 1.1e-3})],
)
def test_the_golden_run_can_fail(method, change) -> None:
    run = stored(method)["runs"][f"shuffled-mnist-2/{method}"]
    settings = settings_of(run, method)
    changed = settings.model_copy(update={"training": settings.training.model_copy(update=change)})
    assert differs(run, golden.outcome(changed))
