"""Cost: from the timing of the records, relative to fine-tuning on the same machine only."""

import math

import pytest
from made_records import fill, make_record, store

from eowm.analysis import collect, cost


def timed(config, row, seconds, seed=0, precision="float32", **environment):
    overrides = {"precision": precision}
    record = make_record(config, f"table2/cifar10-5/{row}", seed, overrides=overrides)
    timing = record.timing.model_copy(
        update={"train_seconds": seconds, "peak_memory_bytes": 2**30, "images_per_second": 500.0}
    )
    environment = record.environment | {"device": "one", "threads": 1} | environment
    return record.model_copy(update={"timing": timing, "environment": environment})


def collected(folder, config, *records):
    for record in records:
        store(record, folder)
    return collect.collect(config, "paper", folder)


def test_units_and_the_ratio_of_means_over_runs(tmp_path, config):
    owm = timed(config, "owm", 300), timed(config, "owm", 500, seed=1)
    spent = cost.costs(collected(tmp_path, config, *owm, timed(config, "finetune", 1800)))
    line = spent[spent.row == "finetune"].iloc[0]
    assert (line.hours, line.per_image, line.memory) == (0.5, 2000, 1)
    cells = cost.per_cell(spent, "hours").set_index("row")
    assert cells.value["owm"] == pytest.approx(400 / 3600)
    assert cells.ratio.to_dict() == pytest.approx({"owm": 400 / 1800, "finetune": 1.0})


@pytest.mark.parametrize(
    ("changed", "machine"),
    [
        ({"device": "another"}, "another, threads: 1"),
        ({"threads": 2}, "one, threads: 2"),
        ({"threads": 2, "earlier": [{"device": "one", "threads": 1}]},
         "one, threads: 1, then one, threads: 2"),
        ({"precision": "bfloat16"}, "one, threads: 1, bfloat16"),
    ],
)  # fmt: skip
def test_no_ratio_to_a_run_under_other_conditions(tmp_path, config, changed, machine):
    records = timed(config, "finetune", 200), timed(config, "owm", 300, **changed)
    spent = cost.costs(collected(tmp_path, config, *records))
    cells = cost.per_cell(spent, "hours").set_index("row")
    assert math.isnan(cells.ratio["owm"])
    assert cells.ratio["finetune"] == 1
    assert spent.set_index("row").machine["owm"] == machine


@pytest.mark.parametrize(
    ("hours", "text"), [(2.345, "2.35 h"), (0.5, "30 min"), (0.02, "1.2 min"), (0.01, "36 s")]
)
def test_durations(hours, text):
    assert cost.QUANTITIES[0].text(hours) == text


def words(page) -> list[str]:
    return [text.get_text() for panel in page.axes for text in panel.texts]


def test_every_cell_has_its_number_or_a_dash(tmp_path, config):
    runs = collected(tmp_path, config, timed(config, "owm", 300), timed(config, "finetune", 200))
    page = cost.cells_figure(runs, config)
    assert [word for word in words(page) if word != "–"] == [
        "5 min ×1.5", "3.3 min", "2,000 ×1", "2,000", "1.00 ×1", "1.00",
    ]  # fmt: skip
    assert words(page).count("–") == 3 * 24 - 6  # 3 tables of 3 rows and 8 scenarios


def test_growth_with_the_number_of_tasks_and_its_limits(tmp_path, config):
    fill(tmp_path, config, "smoke", source="standin")
    runs = collect.collect(config, "smoke", tmp_path)
    note = cost.cells_figure(runs, config).get_supxlabel()
    assert note.startswith("reduced budget. stand-in data. measured on: a test")
    page = cost.scaling_figure(runs, config)
    assert len(page.axes) == 2 * 3
    assert [list(drawn[0].get_xdata()) for drawn in page.axes[0].containers] == [[3, 10, 20]] * 3


def test_nothing_to_draw_is_said(tmp_path, config):
    runs = collect.collect(config, "paper", tmp_path)
    assert cost.cells_figure(runs, config).get_supxlabel() == "no record"
    table = config.tables["table2"].model_copy(update={"scenarios": ("shuffled-mnist-3",)})
    small = config.model_copy(update={"tables": {"table2": table}})
    page = cost.scaling_figure(collect.collect(small, "paper", tmp_path), small)
    assert page.texts[0].get_text() == "no family has several numbers of tasks"
