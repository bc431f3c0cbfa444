"""Accuracy matrices: the mean over seeds, the future left out, and a note for what is missing."""

import full_grid
import numpy as np
import pytest
from conftest import fill, make_record, matrix, store

from eowm.analysis import collect, matrices, style


def collected(folder, config, preset="paper"):
    return collect.collect(config, preset, folder)


def words(page) -> str:
    return "\n".join(text.get_text() for text in page.texts)


def test_mean_over_seeds_of_what_was_learnt(tmp_path, config):
    for seed, start in ((0, 0.9), (1, 0.7)):
        accuracy = matrix(3, start, 0.1)
        store(make_record(config, "table2/shuffled-mnist-3/owm", seed, accuracy=accuracy), tmp_path)
    runs = collected(tmp_path, config)
    average = matrices.mean_matrix(
        runs[(runs.row == "owm") & (runs.scenario == "shuffled-mnist-3")]
    )
    assert average[np.tril_indices(3)] == pytest.approx([0.8, 0.7, 0.8, 0.6, 0.7, 0.8])
    assert np.isnan(average[np.triu_indices(3, 1)]).all()


def test_a_panel_for_each_row_with_its_numbers(tmp_path, config):
    fill(tmp_path, config, "quick")
    page = matrices.figure(collected(tmp_path, config, "quick"), config, "shuffled-mnist-3")
    titles = [panel.get_title(loc="left") for panel in page.axes[:-1]]  # the last is the scale
    assert [title.split("\n")[0] for title in titles] == ["OWM", "Fine-tuning", "Joint training"]
    assert titles[2].split("\n")[1].startswith("AA 0.")
    assert "MRR" not in titles[2]
    assert [len(panel.texts) for panel in page.axes[:-1]] == [6, 6, 3]
    assert "reduced budget" in words(page)


def test_numbers_only_where_they_can_be_read(tmp_path, config):
    fill(tmp_path, config, "quick")
    runs = collected(tmp_path, config, "quick")
    for scenario in ("shuffled-mnist-10", "cifar100-20"):
        assert not matrices.figure(runs, config, scenario).axes[0].texts


def test_missing_rows_are_named_and_no_record_is_said(tmp_path, config):
    fill(tmp_path, config, "quick", skip="owm")
    page = matrices.figure(collected(tmp_path, config, "quick"), config, "cifar10-5")
    assert len(page.axes) == 3
    assert "not run: OWM" in words(page)
    empty = matrices.figure(collected(tmp_path / "none", config, "quick"), config, "cifar10-5")
    assert not empty.axes
    assert words(empty) == "CIFAR-10 (5 tasks)\nno record: not run"


def test_eleven_panels_do_not_touch(tmp_path):
    config = full_grid.full_config()
    others = tuple(name for name in config.tables["table2"].scenarios if name != "cifar10-5")
    full_grid.fill_table2(tmp_path, config, skip=others)
    page = matrices.figure(collected(tmp_path, config), config, "cifar10-5")
    with style.context():
        page.draw_without_rendering()
        boxes = [panel.get_tightbbox() for panel in page.axes]
    assert len(boxes) == 12
    for place, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.x1 <= page.bbox.x1
        assert not any(box.overlaps(other) for other in boxes[place + 1 :])


def test_the_title_fits_above_one_panel(tmp_path, config):
    cell = "table2/shuffled-mnist-10/owm"  # the longest title of a scenario
    store(make_record(config, cell, 0, accuracy=matrix(10, 0.9, 0.01)), tmp_path)
    page = matrices.figure(collected(tmp_path, config), config, "shuffled-mnist-10")
    with style.context():
        page.set_dpi(style.RC["savefig.dpi"])  # widths of letters depend on it
        page.draw_without_rendering()
        assert all(text.get_window_extent().x1 <= page.bbox.x1 for text in page.texts)
