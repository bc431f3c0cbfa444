"""Accuracy matrices: the mean over seeds, the future left out, and a note for what is missing."""

import numpy as np
import pytest
from made_records import fill, runs_with

from eowm.analysis import collect, matrices


def test_mean_over_seeds_of_what_was_learnt(tmp_path, config):
    runs = runs_with(tmp_path, config, {"table2/shuffled-mnist-3/owm": [(0.9, 0.1), (0.7, 0.1)]})
    average = matrices.mean_matrix(runs[runs.cell == "table2/shuffled-mnist-3/owm"])
    assert average[np.tril_indices(3)] == pytest.approx([0.8, 0.7, 0.8, 0.6, 0.7, 0.8])
    assert np.isnan(average[np.triu_indices(3, 1)]).all()


def test_a_panel_for_each_row_that_ran_and_the_others_named(tmp_path, config):
    fill(tmp_path, config, "smoke", skip="owm")
    runs = collect.collect(config, "smoke", tmp_path)
    page = matrices.figure(runs, config, "shuffled-mnist-3")
    titles = [panel.get_title(loc="left") for panel in page.axes]
    assert [title.split("\n")[0] for title in titles[:2]] == ["Fine-tuning", "Joint training"]
    assert [len(panel.texts) for panel in page.axes[:2]] == [6, 3]
    assert "MRR" in titles[0] and "MRR" not in titles[1]  # noqa: PT018
    assert page.get_supxlabel() == "reduced budget; not run: OWM"
    assert not matrices.figure(runs, config, "cifar100-20").axes[0].texts  # too small for numbers


def test_no_record_is_said(tmp_path, config):
    page = matrices.figure(collect.collect(config, "smoke", tmp_path), config, "cifar10-5")
    assert page.texts[0].get_text() == "CIFAR-10 (5 tasks)\nno record: not run"
