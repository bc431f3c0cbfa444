"""This machine's runs beside the published ones: by hand, and through the real commands."""

import json
import math
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from scipy import stats

from eowm import paths, records
from eowm.analysis import agreement, collect
from eowm.paths import CHECKOUT
from eowm.records.metrics import all_metrics
from eowm.settings.config import load_config

CELL = "table2/shuffled-mnist-3/er-mir"
LONE = "table2/shuffled-mnist-10/pgma"  # one published seed, no reruns


@pytest.fixture(scope="module")
def config():
    return load_config(CHECKOUT / "config.yaml")


def published_record(name: str = CELL, seed: int = 0) -> dict:
    return json.loads((CHECKOUT / paths.record("paper", name, seed)).read_text())


def shifted(record: dict, by: float) -> dict:
    """Every accuracy by so much lower."""
    matrix = [[max(a - by, 0.0) for a in row] for row in record["accuracy"]]
    return record | {"accuracy": matrix, "metrics": all_metrics(matrix)}


def put(record: dict, root, preset: str = "quick") -> None:
    record = record | {"cell": record["cell"] | {"preset": preset}}
    cell = records.Record.model_validate(record).cell
    path = root / paths.record(preset, cell.name, cell.seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))


def judged(root, config) -> pd.DataFrame:
    runs = collect.collect(config, "quick", root / paths.records("quick"))
    return agreement.of_preset(config, "quick", runs).set_index("metric")


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        (CELL, lambda record: record, agreement.IDENTICAL),
        (CELL, lambda record: shifted(record, 1 / 7000), agreement.WITHIN),
        (CELL, lambda record: shifted(record, 0.05), agreement.DIFFERS),
        (LONE, lambda record: shifted(record, 0.05), agreement.UNKNOWN),
        (CELL, lambda record: record | {"status": "failed: diverged"}, "failed: diverged"),
    ],
)
def test_outcomes(tmp_path, config, name, change, expected) -> None:
    put(change(published_record(name)), tmp_path)
    found = judged(tmp_path, config)
    assert found.outcome["AA"] == expected
    assert agreement.disagrees(found) == (expected in (agreement.DIFFERS, "failed: diverged"))
    assert found.paper["AA"] > 0.5
    if expected == agreement.IDENTICAL:
        assert found.here["AA"] == found.published["AA"]


def test_only_equal_settings_and_published_seeds_are_compared(tmp_path, config) -> None:
    record = published_record()
    settings = records.Record.model_validate(record).settings
    other = settings.model_copy(update={"precision": "bfloat16"})
    rounded = {"settings": other.model_dump(mode="json"), "settings_hash": other.hash()}
    put(record | rounded, tmp_path)
    assert set(judged(tmp_path, config).outcome) == {agreement.OTHER_SETTINGS}
    unseen = settings.model_copy(update={"seed": 99})
    put(
        record
        | {"cell": record["cell"] | {"seed": 99}, "settings_hash": unseen.hash()}
        | {"settings": unseen.model_dump(mode="json")},
        tmp_path,
    )
    assert agreement.NOT_PUBLISHED in set(judged(tmp_path, config).outcome)


def test_the_tolerance_is_a_prediction_interval_by_hand() -> None:
    """Of the difference of two runs, from the reruns and the published run of their seed."""
    values = [0.90, 0.92, 0.94, 0.92]
    reruns = pd.DataFrame({"cell": "a", "seed": 0, "AA": values})
    seeds = [*((0, "a", 0.92), (1, "a", 0.10)), *((seed, "b", 0.5) for seed in range(5))]
    published = pd.DataFrame(seeds, columns=["seed", "cell", "AA"]).assign(status="complete")
    spread = math.sqrt(2 * 0.02**2 / 4)  # five values around 0.92
    expected = stats.t.ppf(0.9995, 4) * math.sqrt(2) * spread
    assert agreement.tolerance("a", "AA", reruns, published) == pytest.approx(expected)
    assert agreement.tolerance("b", "AA", reruns, published) == agreement.SMALLEST  # five seeds
    assert agreement.tolerance("b", "AA", reruns, published[published.seed < 4]) is None


def test_every_rerun_was_made_with_the_cells_of_quick_and_agrees_with_the_published(config) -> None:
    reruns = pd.read_csv(agreement.RERUNS)
    assert reruns.condition.nunique() == 5
    assert (reruns.groupby("condition").cell.nunique() == 14).all()
    published = collect.load(config, "paper", CHECKOUT)
    both = reruns.merge(published[["cell", "seed", "AA"]], on=["cell", "seed"])
    allowed = both.cell.map(lambda cell: agreement.tolerance(cell, "AA", reruns, published))
    assert ((both.AA_x - both.AA_y).abs() <= allowed).all()
    assert allowed.notna().all()
    assert (allowed < 0.01).mean() > 0.9  # and it means something; fine-tuning scatters most


def test_an_altered_record_is_told_in_terminal_report_and_exit_code(tmp_path) -> None:
    for name in ("config.yaml", "Snakefile"):
        shutil.copy(CHECKOUT / name, tmp_path)
    shutil.copytree(CHECKOUT / "docs", tmp_path / "docs")
    shutil.copytree(CHECKOUT / "paper_figures/paper/records", tmp_path / paths.records("paper"))

    def eowm(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "eowm", *arguments, "--preset", "quick"]
        environment = {"PYTHONPATH": str(CHECKOUT), "PATH": "", "HOME": str(tmp_path)}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )

    put(published_record(), tmp_path)
    sound = eowm("outcome")
    assert sound.returncode == 0, sound.stderr
    assert "This machine: 1 run beside the published ones: 1 identical." in sound.stdout
    assert "Replicates: " in sound.stdout
    put(shifted(published_record(), 0.05), tmp_path)
    altered = eowm("outcome")
    assert altered.returncode == 1
    assert f"{CELL}" in altered.stdout
    assert "1 differs" in altered.stdout
    assert eowm("report").returncode == 0
    page = (tmp_path / "paper_figures/quick/report/index.html").read_text()
    assert '<p class="warning"><b>This machine:</b>' in page
    assert '<b class="warning">differs</b>' in page
    assert not (tmp_path / "paper_figures/paper/report").exists()
