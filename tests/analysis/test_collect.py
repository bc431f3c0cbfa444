"""Records to runs to summary: means and intervals by hand, notes, gaps, refusals."""

import json
import math

import pytest
from made_records import fill, make_record, matrix, runs_with, store

from eowm.analysis import collect, statistics
from eowm.analysis.summary import summarise
from eowm.errors import ConfigError, RecordError

CELL = "table2/cifar10-5/owm"


def runs_of(folder, config, preset="paper"):
    return collect.collect(config, preset, folder)


def line_of(runs, config, cell=CELL, metric="AA"):
    summary = summarise(runs, config)
    table, scenario, row = cell.split("/")
    found = summary[
        (summary.table == table)
        & (summary.scenario == scenario)
        & (summary.row == row)
        & (summary.metric == metric)
    ]
    assert len(found) == 1
    return found.iloc[0]


def test_mean_and_interval_by_hand(tmp_path, config):
    line = line_of(runs_with(tmp_path, config, {CELL: (0.50, 0.52, 0.57)}), config)
    # mean 0.53; deviations −0.03, −0.01, 0.04; variance 0.0026 / 2; for two degrees of freedom
    # t_p = (2p − 1) √(2 / (4 p (1 − p))), at p = 0.975: 4.30265
    half = 0.95 * math.sqrt(2 / 0.0975) * math.sqrt(0.0013 / 3)
    assert (line.n, line.seeds, line.comparable, line.note) == (3, "0 1 2", True, "")
    assert line["mean"] == pytest.approx(0.53, abs=1e-12)
    assert (line.low, line.high) == pytest.approx((0.53 - half, 0.53 + half), abs=1e-12)


def test_nothing_is_rounded_before_averaging(tmp_path, config):
    line = line_of(runs_with(tmp_path, config, {CELL: [0.50004] * 3}), config)
    assert (line["mean"], line.low) == pytest.approx((0.50004, 0.50004), abs=1e-12)


def test_one_run_has_no_interval():
    assert statistics.t_interval([0.5]) == (None, None)
    assert statistics.t_interval([]) == (None, None)
    assert statistics.mean([]) is None


def test_paper_value_for_the_papers_rows_only(tmp_path, config):
    runs = runs_of(tmp_path, config)
    assert 0 < line_of(runs, config).paper < 1
    assert math.isnan(line_of(runs, config, "table2/cifar10-5/joint").paper)
    assert math.isnan(line_of(runs, config, metric="BWT").paper)


def test_every_cell_of_the_grid_appears_without_any_record(tmp_path, config):
    runs = runs_of(tmp_path / "missing", config)
    assert len(runs) == 3 * 8 * 3
    assert set(runs.status) == {"not run"}
    summary = summarise(runs, config)
    assert len(summary) == 3 * 8 * len(collect.METRICS)
    assert set(summary.note) == {"not run"}
    assert set(summary.marks) == {"m"}
    assert not summary.comparable.any()


@pytest.mark.parametrize(
    ("seeds", "how", "marks", "note", "comparable"),
    [
        (1, {}, "m", "not run (2 of 3 runs)", True),
        (3, {"source": "standin"}, "s", "stand-in data", False),
        (3, {"overrides": {"epochs": 1}}, "o", "stale settings", False),
        (3, {"overrides": {"selection": "test-oracle"}}, "ot", "stale settings; test-selected",
         False),
        (3, {"overrides": {"precision": "bfloat16"}}, "b", "bfloat16", True),
        (1, {"preset": "smoke", "source": "standin"}, "rs", "reduced budget; stand-in data", False),
    ],
)  # fmt: skip
def test_what_limits_a_number_is_noted(tmp_path, config, seeds, how, marks, note, comparable):
    line = line_of(runs_with(tmp_path, config, {CELL: [0.5] * seeds}, **how), config)
    assert (line.marks, line.note, line.comparable) == (marks, note, comparable)


def test_one_stale_run_of_three_is_counted(tmp_path, config):
    runs_with(tmp_path, config, {CELL: [0.5] * 3})
    store(make_record(config, CELL, 0, overrides={"epochs": 1}), tmp_path)
    runs = runs_of(tmp_path, config)
    assert runs[runs.stale].seed.tolist() == [0]
    assert line_of(runs, config).note == "stale settings (1 of 3 runs)"
    assert not line_of(runs, config).comparable


def test_a_failed_run_is_visible_and_not_averaged(tmp_path, config):
    runs_with(tmp_path, config, {CELL: [0.5, 0.6]})
    store(make_record(config, CELL, 2, status="failed: diverged"), tmp_path)
    line = line_of(runs_of(tmp_path, config), config)
    assert line.n == 2
    assert line["mean"] == pytest.approx(0.55)
    assert line.note == "failed: diverged (1 of 3 runs)"


def test_joint_training_has_no_retention(tmp_path, config):
    runs = runs_with(tmp_path, config, {"table2/cifar10-5/joint": [0.5] * 3})
    line = line_of(runs, config, "table2/cifar10-5/joint", "MRR")
    assert (line.n, line.note) == (0, "not defined")
    assert line_of(runs, config, "table2/cifar10-5/joint").n == 3


def test_more_seeds_than_the_preset_count_too(tmp_path, config):
    line = line_of(runs_with(tmp_path, config, {CELL: [0.5] * 4}), config)
    assert (line.n, line.seeds, line.note) == (4, "0 1 2 3", "")


def test_a_record_outside_the_grid_is_kept_apart(tmp_path, config):
    store(make_record(config, "table2/cifar10-2/owm"), tmp_path)
    runs = runs_of(tmp_path, config)
    assert runs[~runs.in_grid].scenario.tolist() == ["cifar10-2"]


@pytest.mark.parametrize(
    ("preset", "place", "words"),
    [("smoke", "seed0", "is a record of preset 'smoke'"), ("paper", "seed1", "it belongs in")],
)
def test_a_record_in_a_wrong_place_is_refused_by_name(tmp_path, config, preset, place, words):
    path = store(make_record(config, CELL, preset=preset), tmp_path)
    wrong = path.rename(path.with_name(f"{place}.json"))
    with pytest.raises(RecordError, match=words) as caught:
        runs_of(tmp_path, config)
    assert str(wrong) in str(caught.value)


def test_a_record_that_contradicts_itself_is_refused(tmp_path, config):
    record = make_record(config, CELL)
    other = make_record(config, "table2/cifar10-5/finetune")
    swapped = record.model_copy(
        update={"settings": other.settings, "settings_hash": other.settings_hash}
    )
    store(swapped, tmp_path)
    with pytest.raises(RecordError, match="contradicts itself: method is 'owm'"):
        runs_of(tmp_path, config)


def test_a_matrix_of_another_size_is_refused(tmp_path, config):
    store(make_record(config, CELL, accuracy=matrix(3, 0.5, 0.0)), tmp_path)
    with pytest.raises(RecordError, match="does not hold 5 × 5 accuracies"):
        runs_of(tmp_path, config)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda values: values.update(settings_hash="0" * 16), "settings_hash does not belong"),
        (lambda values: values.pop("accuracy"), "accuracy: Field required"),
        (lambda values: values["data"].pop("sha256"), "data.sha256: Field required"),
        (lambda values: values["metrics"].update(AA=0.99), "metrics do not follow"),
        (lambda values: values.update(extra=1), "extra"),
    ],
)
def test_a_damaged_record_is_refused_by_name(tmp_path, config, change, words):
    path = store(make_record(config, CELL), tmp_path)
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
    with pytest.raises(RecordError, match=words) as caught:
        runs_of(tmp_path, config)
    assert str(path) in str(caught.value)


def test_unknown_preset_names_the_nearest(tmp_path, config):
    with pytest.raises(ConfigError, match="did you mean 'quick'"):
        runs_of(tmp_path, config, "quik")


def test_curves_follow_the_matrix(tmp_path, config):
    accuracy = [[0.8, 0.0], [0.6, 0.4]]
    store(make_record(config, "table2/cifar100-2/owm", accuracy=accuracy), tmp_path)
    curves = collect.accuracy_so_far(runs_of(tmp_path, config))
    assert curves.tasks.tolist() == [1, 2]
    assert curves.accuracy.tolist() == pytest.approx([0.8, 0.5])


def test_changing_one_record_changes_only_its_cell(tmp_path, config):
    fill(tmp_path, config, "smoke")
    before = summarise(runs_of(tmp_path, config, "smoke"), config)
    store(make_record(config, CELL, preset="smoke", accuracy=matrix(5, 0.123, 0.0)), tmp_path)
    after = summarise(runs_of(tmp_path, config, "smoke"), config)
    changed = before["mean"].ne(after["mean"]) & before["mean"].notna()
    assert set(zip(after[changed].scenario, after[changed].row, strict=True)) == {
        ("cifar10-5", "owm")
    }
