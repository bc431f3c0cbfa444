"""The ambiguities: complete, and measured by cells that exist."""

import pytest
from made_records import make_record, matrix, runs_with, store

from eowm.analysis import ambiguities, collect
from eowm.settings.config import load_config

VARIANT = "sensitivity-shuffled/shuffled-mnist-3/eowm:rate-0.1"
DEFAULT = "table2/shuffled-mnist-3/eowm"


@pytest.fixture(scope="module")
def whole():
    return load_config()


def entry(number):
    return next(entry for entry in ambiguities.load() if entry.number == number)


def test_entries_are_complete_and_numbered_once():
    entries = ambiguities.load()
    assert len(entries) >= 40
    assert len({entry.number for entry in entries}) == len(entries)
    assert all(len(entry.options) > 1 for entry in entries)
    assert all(entry.reading is None or entry.reading in ambiguities.READINGS for entry in entries)


def test_every_measurement_is_made_of_cells_of_the_grid(whole):
    cells = {cell.name for cell in whole.cells()}
    named = {cell for entry in ambiguities.load() for pair in entry.sensitivity for cell in pair}
    assert named <= cells
    measuring = {cell.name for cell in whole.cells() if cell.table.startswith("sensitivity")}
    assert measuring <= named, "a cell that no entry reads"


def test_a_variant_differs_from_its_default_in_what_the_topic_says(whole):
    """The two cells of a pair share a scenario and differ in their settings."""
    for item in ambiguities.load():
        for pair in item.sensitivity:
            variant, default = (whole.cell(cell) for cell in pair)
            assert variant.scenario == default.scenario
            first, second = (whole.resolve(cell, 0, "paper") for cell in (variant, default))
            sections = ("net", "training", "options")
            assert any(getattr(first, s) != getattr(second, s) for s in sections), pair


def test_sensitivity_is_the_paired_difference(tmp_path, whole):
    runs = runs_with(tmp_path, whole, {DEFAULT: [0.8] * 3, VARIANT: [0.81, 0.82, 0.83]})
    measured = {found.variant: found for found in ambiguities.measure(runs, whole, entry(34))}
    accuracy, memory = measured[VARIANT].differences
    assert (accuracy.metric, accuracy.n) == ("AA", 3)
    assert accuracy.mean == pytest.approx(0.02)
    assert memory.mean == pytest.approx(0.0)
    other = measured["sensitivity-cifar10/cifar10-5/eowm:rate-0.02"]
    assert not other.ran
    assert other.note == "not run (a cell of preset tenth)"
    frame = ambiguities.to_frame(runs, whole)
    assert frame[(frame.number == 34) & (frame.n > 0)].difference.tolist() == pytest.approx(
        [0.02, 0]
    )


def test_cifar_is_read_from_the_reduced_preset_and_says_so(tmp_path, whole):
    """The default cell exists in both budgets: the pair is of one."""
    variant, default = "sensitivity-cifar10/cifar10-5/eowm:rate-0.02", "table2/cifar10-5/eowm"
    runs = runs_with(tmp_path / "paper", whole, {default: [0.9]})
    reduced = runs_with(tmp_path / "tenth", whole, {variant: [0.5], default: [0.4]}, "tenth")
    assert (whole.presets_beside("smoke"), whole.presets_beside("paper")) == ([], ["tenth"])
    elsewhere = {"tenth": reduced}
    measured = {f.variant: f for f in ambiguities.measure(runs, whole, entry(34), elsewhere)}
    assert measured[variant].differences[0].mean == pytest.approx(0.1)
    assert measured[variant].limits == "reduced budget"
    frame = ambiguities.to_frame(runs, whole, elsewhere)
    assert set(frame[frame.variant == variant].limits) == {"reduced budget"}


def test_stale_runs_do_not_count(tmp_path, whole):
    for cell, how in ((DEFAULT, {"overrides": {"epochs": 1}}), (VARIANT, {})):
        store(make_record(whole, cell, **how), tmp_path)
    runs = collect.collect(whole, "paper", tmp_path)
    assert not any(found.ran for found in ambiguities.measure(runs, whole, entry(34)))


def test_mrr_of_every_epoch_by_hand(tmp_path, whole):
    """0.6 is left of 0.8 at the task's end, and of 0.9 in its best epoch."""
    rows = [[0.8, 0, 0], [0.7, 0.5, 0], [0.6, 0.5, 0.9]]
    record = make_record(whole, DEFAULT, accuracy=rows)
    store(record.model_copy(update={"best_epoch_accuracy": [0.9, 0.5, 0.9]}), tmp_path)
    runs = collect.collect(whole, "paper", tmp_path)
    (found,) = ambiguities.measure(runs, whole, entry(59))
    ends, epochs = (0.6 / 0.8 + 1) / 2, (0.6 / 0.9 + 1) / 2
    assert found.differences[0].mean == pytest.approx(epochs - ends)


def test_mrr_of_ends_of_tasks_by_hand(tmp_path, whole):
    """A task that gets better after its end: 0.8 at its end, 0.9 at best, 0.85 in the end."""
    rows = [[0.8, 0, 0], [0.9, 0.5, 0], [0.85, 0.5, 0.9]]
    improving, steady = "table2/shuffled-mnist-3/er-mir", "table2/shuffled-mnist-3/owm"
    runs = runs_with(tmp_path, whole, {improving: [rows], steady: [0.9]})
    (found,) = ambiguities.measure(runs, whole, entry(58))  # nothing changes for the other
    assert found.default == improving
    best, ends = (0.85 / 0.9 + 1) / 2, (0.85 / 0.8 + 1) / 2
    assert found.differences[0].mean == pytest.approx(ends - best)


def test_the_task_known_is_read_from_the_same_records(tmp_path, whole):
    for row, told in (("eowm", 0.9), ("owm", None)):
        record = make_record(whole, f"table2/cifar10-5/{row}", accuracy=matrix(5, 0.5, 0.0))
        known = None if told is None else matrix(5, told, 0.0)
        store(record.model_copy(update={"task_known": known}), tmp_path)
    runs = collect.collect(whole, "paper", tmp_path)
    (found,) = ambiguities.measure(runs, whole, entry(43))
    assert found.variant == "table2/cifar10-5/eowm, task known"
    accuracy, memory = found.differences
    assert (accuracy.metric, accuracy.mean) == ("AA", pytest.approx(0.4))
    assert (memory.metric, memory.mean) == ("MRR", pytest.approx(0.0))
