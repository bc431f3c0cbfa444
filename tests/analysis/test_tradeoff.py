"""Forgetting against plasticity: each method at its two numbers, with the intervals of both."""

import pytest
from made_records import fill, runs_with

from eowm.analysis import collect, figures, statistics, tradeoff


def test_a_method_stands_at_its_two_numbers(tmp_path, config):
    runs = runs_with(tmp_path, config, {"table2/cifar10-5/owm": [(0.9, 0.05), (0.8, 0.05)]})
    page = tradeoff.figure(runs, config)
    (drawn,) = page.axes[figures.FIGURE3_PANELS.index("cifar10-5")].containers
    # Task i of 5 loses 0.05 (5 − i): 0.2, 0.15, 0.1, 0.05 forgotten, on average 0.125.
    assert (drawn[0].get_xdata()[0], drawn[0].get_ydata()[0]) == pytest.approx((0.85, 0.125))
    across, up = drawn[2]
    (left, right), _ = across.get_segments()[0].T
    half = statistics.t_interval([0.9, 0.8])[1] - 0.85
    assert (right - left) / 2 == pytest.approx(half)
    assert [end[1] for end in up.get_segments()[0]] == pytest.approx([0.125, 0.125])


def test_joint_training_has_no_place_and_limits_are_said(tmp_path, config):
    fill(tmp_path, config, "smoke")
    page = tradeoff.figure(collect.collect(config, "smoke", tmp_path), config)
    labels = [text.get_text() for text in page.legends[0].get_texts()]
    assert labels == ["OWM", "Fine-tuning"]
    assert [text.get_text() for text in page.axes[0].texts] == ["reduced budget"]
