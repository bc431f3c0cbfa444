"""What ambiguities do, drawn: every comparison is there, and what is missing is said."""

import pandas as pd
import pytest

from eowm.analysis import sensitivity

CELL = "table2/shuffled-mnist-3/eowm"


def line(topic, variant, default=CELL, difference=None, half=0.0, metric="AA", note="", limits=""):
    ran = difference is not None
    return {
        "topic": topic, "variant": variant, "default": default, "metric": metric,
        "n": 3 if ran else 0, "difference": difference, "note": note, "limits": limits,
        "low": difference - half if ran and half else float("nan"),
        "high": difference + half if ran and half else float("nan"),
    }  # fmt: skip


def test_every_comparison_has_its_marker_interval_and_name(config):
    ten = CELL.replace("3", "10")
    differences = pd.DataFrame(
        [
            line("Mean", f"{CELL}:literal", f"{CELL}:paper", -0.2, 0.05),
            line("Mean", f"{ten}:literal", f"{ten}:paper", -0.3, 0.05),
            line("Order", f"{CELL}:literal-q-last", CELL, 0.002, limits="reduced budget"),
            line("Order", f"{CELL}:literal-q-last", CELL, metric="MRR", note="not run"),
            line("Best epoch", f"{CELL}, every epoch", CELL, -0.001, 0.001, "MRR"),
            line("c2", "table3/disjoint-mnist-2/eowm:w2-0.10", "table3/x-2/eowm:w2-0.00", 0.01),
        ]
    )
    page = sensitivity.figure(differences, config)
    accuracy, retention = page.axes
    drawn = [[bar[0].get_xdata()[0] for bar in panel.containers] for panel in page.axes]
    assert drawn == [[-0.2, -0.3, 0.002, 0.01], [-0.001]]
    (segment,) = accuracy.containers[0][2][0].get_segments()
    assert segment[:, 0].tolist() == pytest.approx([-0.25, -0.15])
    assert [label.get_text() for label in accuracy.get_yticklabels()] == [
        "Mean: EOWM, literal − EOWM, text", "Order: EOWM, literal, Q last",
        "Best epoch: EOWM, every epoch", "c2: w2 = 0.10 − w2 = 0 (OWM)",
    ]  # fmt: skip
    assert [text.get_text() for text in retention.texts] == ["not run"]
    assert [text.get_text() for text in page.legends[0].get_texts()] == [
        "Shuffled MNIST (3 tasks)", "Shuffled MNIST (10 tasks)",
        "Shuffled MNIST (3 tasks), reduced budget", "Disjoint MNIST (2 tasks)",
    ]  # fmt: skip


def test_no_comparison(config):
    page = sensitivity.figure(pd.DataFrame(), config)
    assert page.texts[0].get_text() == "no comparison"
