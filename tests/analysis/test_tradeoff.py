"""Forgetting against plasticity: each method at its two numbers, with the intervals of both."""

import pytest
from conftest import fill, make_record, matrix, store
from matplotlib.colors import to_hex

from eowm.analysis import collect, figures, statistics, style, tradeoff

CIFAR10 = list(figures.FIGURE3_PANELS).index("cifar10-5")


def points(panel) -> dict[str, tuple[float, float]]:
    """Colour to place; the bars of an error bar are lines of more points."""
    drawn = [container[0] for container in panel.containers]
    return {
        to_hex(line.get_markerfacecolor()).upper(): (line.get_xdata()[0], line.get_ydata()[0])
        for line in drawn
    }


def test_a_method_stands_at_its_two_numbers(tmp_path, config):
    for seed, start in ((0, 0.9), (1, 0.8)):
        accuracy = matrix(5, start, 0.05)
        store(make_record(config, "table2/cifar10-5/owm", seed, accuracy=accuracy), tmp_path)
    page = tradeoff.figure(collect.collect(config, "paper", tmp_path), config)
    # Task i of 5 loses 0.05 (5 − i): 0.2, 0.15, 0.1, 0.05 forgotten, on average 0.125.
    assert points(page.axes[CIFAR10]) == {
        style.LOOKS["owm"][0]: (pytest.approx(0.85), pytest.approx(0.125))
    }
    across, up = page.axes[CIFAR10].containers[0][2]
    (left, right), _ = across.get_segments()[0].T
    half = statistics.t_interval([0.9, 0.8])[1] - 0.85
    assert (right - left) / 2 == pytest.approx(half)
    assert [end[1] for end in up.get_segments()[0]] == pytest.approx([0.125, 0.125])


def test_joint_training_has_no_place_and_is_not_missed(tmp_path, config):
    fill(tmp_path, config, "quick")
    page = tradeoff.figure(collect.collect(config, "quick", tmp_path), config)
    labels = [text.get_text() for text in page.legends[0].get_texts()]
    assert labels == ["OWM", "Fine-tuning", "bars: 95 % t-intervals"]
    assert [text.get_text() for text in page.axes[0].texts] == ["reduced budget"]


def test_tiny_differences_are_not_magnified(tmp_path, config):
    store(make_record(config, "table2/cifar10-5/owm"), tmp_path)
    panel = tradeoff.figure(collect.collect(config, "paper", tmp_path), config).axes[CIFAR10]
    for low, high in (panel.get_xlim(), panel.get_ylim()):
        assert high - low >= tradeoff.LEAST_SPAN - 1e-9


def test_no_record_at_all(tmp_path, config):
    page = tradeoff.figure(collect.collect(config, "paper", tmp_path), config)
    assert [panel.texts[0].get_text() for panel in page.axes] == ["not run"] * 8
