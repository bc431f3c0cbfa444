"""Cost: from the timing of the records, relative to fine-tuning on the same machine only."""

import math

import full_grid
import pytest
from conftest import fill, make_record, store

from eowm.analysis import collect, cost, style

CELL = "table2/cifar10-5/{}"


def timed(config, row, seconds, device="one", seed=0, precision="float32"):
    record = make_record(config, CELL.format(row), seed, overrides={"precision": precision})
    timing = record.timing.model_copy(
        update={"train_seconds": seconds, "peak_memory_bytes": 2**30, "images_per_second": 500.0}
    )
    environment = record.environment | {"device": device, "threads": 1}
    return record.model_copy(update={"timing": timing, "environment": environment})


def spent(folder, config):
    return cost.costs(collect.collect(config, "paper", folder))


def test_units(tmp_path, config):
    store(timed(config, "owm", 1800), tmp_path)
    (line,) = spent(tmp_path, config).itertuples()
    assert (line.hours, line.per_image, line.memory) == (0.5, 2000, 1)
    assert line.machine == "one, threads: 1"


def test_the_ratio_is_of_means_over_runs(tmp_path, config):
    for record in (
        timed(config, "owm", 300),
        timed(config, "owm", 500, seed=1),
        timed(config, "finetune", 200),
    ):
        store(record, tmp_path)
    cells = cost.per_cell(spent(tmp_path, config), "hours").set_index("row")
    assert cells.value["owm"] == pytest.approx(400 / 3600)
    assert cells.ratio.to_dict() == {"owm": 2.0, "finetune": 1.0}


def test_no_ratio_across_machines(tmp_path, config):
    store(timed(config, "owm", 300), tmp_path)
    store(timed(config, "finetune", 200, device="another"), tmp_path)
    cells = cost.per_cell(spent(tmp_path, config), "hours").set_index("row")
    assert math.isnan(cells.ratio["owm"])


@pytest.mark.parametrize(
    ("changed", "machine"),
    [
        ({"threads": 2}, "one, threads: 2"),
        ({"threads": 2, "earlier": [{"device": "one", "threads": 1}]},
         "one, threads: 1, then one, threads: 2"),
        ({}, "one, threads: 1, bfloat16"),
    ],
)  # fmt: skip
def test_no_ratio_to_a_run_under_other_conditions(tmp_path, config, changed, machine):
    precision = "float32" if changed else "bfloat16"
    other = timed(config, "owm", 300, precision=precision)
    store(timed(config, "finetune", 200), tmp_path)
    store(other.model_copy(update={"environment": other.environment | changed}), tmp_path)
    found = spent(tmp_path, config)
    cells = cost.per_cell(found, "hours").set_index("row")
    assert cells.ratio.notna().to_dict() == {"owm": False, "finetune": True}
    assert found.set_index("row").machine["owm"] == machine


@pytest.mark.parametrize(
    ("hours", "text"), [(2.345, "2.35 h"), (0.5, "30 min"), (0.02, "1.2 min"), (0.01, "36 s")]
)
def test_durations(hours, text):
    assert cost.QUANTITIES[0].text(hours) == text


def words(page) -> list[str]:
    return [text.get_text() for panel in page.axes for text in panel.texts]


def test_every_cell_has_its_number_or_a_dash(tmp_path, config):
    store(timed(config, "owm", 300), tmp_path)
    store(timed(config, "finetune", 200), tmp_path)
    page = cost.cells_figure(collect.collect(config, "paper", tmp_path), config)
    assert [word for word in words(page) if "–" not in word and "(" not in word] == [
        "5 min ×1.5", "3.3 min", "2,000 ×1", "2,000", "1.00 ×1", "1.00",
    ]  # fmt: skip
    assert words(page).count("–") == 3 * 24 - 6  # 3 tables of 3 rows and 8 scenarios


def test_limits_are_written(tmp_path, config):
    fill(tmp_path, config, "quick", source="standin")
    page = cost.cells_figure(collect.collect(config, "quick", tmp_path), config)
    note = page.texts[0].get_text()
    assert note.startswith("reduced budget. stand-in data. measured on: a test")
    assert "relative to fine-tuning" in note


def test_growth_with_the_number_of_tasks(tmp_path):
    config = full_grid.full_config()
    full_grid.fill_table2(tmp_path, config)
    page = cost.scaling_figure(collect.collect(config, "paper", tmp_path), config)
    assert [panel.get_ylabel() for panel in page.axes[:3]] == [
        "training time [h]", "time per image [µs]", "peak memory [GiB]",
    ]  # fmt: skip
    curves = [line for line in page.axes[0].lines if len(line.get_xdata()) == 3]
    assert len(curves) == 11
    assert list(curves[0].get_xdata()) == [3, 10, 20]
    assert all(panel.get_ylim()[0] == 0 for panel in page.axes)
    with style.context():
        page.draw_without_rendering()
        legend = page.legends[0].get_window_extent()
        assert all(not legend.overlaps(panel.get_tightbbox()) for panel in page.axes)


def test_no_record_at_all(tmp_path, config):
    runs = collect.collect(config, "paper", tmp_path)
    assert cost.cells_figure(runs, config).texts[0].get_text() == "no record"
    assert words(cost.scaling_figure(runs, config)) == ["no record"] * 6


def test_a_grid_without_families_of_several_sizes_is_said(tmp_path, config) -> None:
    table = config.tables["table2"].model_copy(update={"scenarios": ("shuffled-mnist-3",)})
    small = config.model_copy(update={"tables": {"table2": table}})
    page = cost.scaling_figure(collect.collect(small, "paper", tmp_path), small)
    assert [text.get_text() for text in page.texts] == ["no family has several numbers of tasks"]
