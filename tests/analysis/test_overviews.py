"""The overviews of ambiguities and claims: every line is there, and what is missing is said."""

import pandas as pd
import pytest

from eowm.analysis import overviews, style


def line(topic, variant, default, difference=None, half=None, metric="AA", note="", limits=""):
    ran = difference is not None
    return {
        "topic": topic, "variant": variant, "default": default, "metric": metric,
        "n": 3 if ran else 0, "difference": difference, "note": note, "limits": limits,
        "low": difference - half if ran and half else None,
        "high": difference + half if ran and half else None,
    }  # fmt: skip


@pytest.fixture
def differences() -> pd.DataFrame:
    three, ten = "table2/shuffled-mnist-3/eowm", "table2/shuffled-mnist-10/eowm"
    lines = [
        line("What P learns", f"{three}:literal", f"{three}:paper", -0.2, 0.05),
        line("What P learns", f"{ten}:literal", f"{ten}:paper", -0.3, 0.05),
        line("What P learns", f"{three}:literal", f"{three}:paper", -0.1, 0.01, "MRR"),
        line("Order", f"{three}:literal-q-last", three, 0.002, limits="reduced budget"),
        line("Order", f"{three}:literal-q-last", three, metric="MRR", note="not run"),
        line("Best epoch", f"{three}, every epoch", three, -0.001, 0.001, "MRR"),
    ]
    numbers = dict.fromkeys(("difference", "low", "high"), float)
    return pd.DataFrame(lines).astype(numbers)


def texts(panel) -> list[str]:
    return [text.get_text() for text in panel.texts if text.get_text()]


def markers(panel) -> list[float]:
    return [line.get_xdata()[0] for line in panel.lines if line.get_marker() not in ("None", "")]


def test_every_comparison_has_its_marker_and_interval(differences, config):
    accuracy, retention = overviews.sensitivity_figure(differences, config).axes
    assert markers(accuracy) == [-0.2, -0.3, 0.002]
    assert markers(retention) == [-0.1, -0.001]
    bars = [list(bar.get_xdata()) for bar in accuracy.lines if len(bar.get_xdata()) == 2][1:]
    assert bars == [pytest.approx([-0.25, -0.15]), pytest.approx([-0.35, -0.25])]  # [0] is zero


def test_names_topics_and_what_is_missing(differences, config):
    page = overviews.sensitivity_figure(differences, config)
    accuracy, retention = page.axes
    assert [name for name in texts(accuracy) if name != "no pair"] == [
        "What P learns", "EOWM, literal − EOWM, text",
        "Order", "EOWM, literal, Q last [a]",
        "Best epoch", "EOWM, every epoch",
    ]  # fmt: skip
    assert texts(retention) == ["no pair"]
    assert page.texts[0].get_text() == "[a] not run"
    labels = [text.get_text() for text in page.legends[0].get_texts()]
    assert labels == [
        "Shuffled MNIST (3 tasks)",
        "Shuffled MNIST (10 tasks)",
        "Shuffled MNIST (3 tasks), reduced budget",
    ]


def test_nothing_touches_below_the_panels(differences, config):
    page = overviews.sensitivity_figure(differences, config)
    with style.context():
        page.draw_without_rendering()
        legend = page.legends[0].get_window_extent()
        boxes = [panel.xaxis.get_tightbbox() for panel in page.axes]
        boxes.append(page.texts[0].get_window_extent())
    assert not any(legend.overlaps(box) for box in boxes)


def test_the_scale_is_never_finer_than_a_percentage_point(config):
    cell = "table2/shuffled-mnist-3/eowm"
    small = pd.DataFrame([line("Order", f"{cell}:paper", cell, 1e-5, 1e-6)])
    (panel,) = overviews.sensitivity_figure(small, config).axes
    assert panel.get_xlim() == pytest.approx((-0.026, 0.026))


def test_all_scenarios_at_once(config):
    cells = [f"table2/{name}/eowm" for name in config.tables["table2"].scenarios]
    lines = [line("Order", f"{cell}:paper", cell, 0.01, 0.001) for cell in cells]
    (panel,) = overviews.sensitivity_figure(pd.DataFrame(lines), config).axes
    drawn = [line for line in panel.lines if line.get_marker() not in ("None", "")]
    assert len({(line.get_marker(), line.get_markerfacecolor()) for line in drawn}) == len(cells)
    assert len({line.get_ydata()[0] for line in drawn}) == len(cells)
    assert max(line.get_ydata()[0] for line in drawn) < panel.get_ylim()[0]


def test_rows_of_table_3_have_titles(config):
    cell = "table3/disjoint-mnist-2/eowm:w2-{}"  # a table that this grid does not have
    lines = [line("c2", cell.format("0.10"), cell.format("0.00"), 0.01, 0.001)]
    (panel,) = overviews.sensitivity_figure(pd.DataFrame(lines), config).axes
    assert texts(panel) == ["c2", "w2 = 0.10 − w2 = 0 (OWM)"]


def test_no_comparison(differences, config):
    page = overviews.sensitivity_figure(differences[:0], config)
    assert page.texts[0].get_text() == "no comparison"


CLAIMS = pd.DataFrame(
    [
        ("gain", "EOWM gains.", "undecided", "2 cells are missing"),
        ("best", "EOWM is best. " * 12, "fails", "1 of 14 comparisons speak against it"),
        ("range", "MRR lies between 0 and 1.", "holds", "0 of 39 runs outside"),
    ],
    columns=["id", "statement", "status", "why"],
)


def test_claims_are_counted_and_listed_by_verdict():
    (sheet,) = overviews.claims_figure(CLAIMS).axes
    words = texts(sheet)
    assert words[:3] == ["✓ holds: 1", "✗ fails: 1", "? undecided: 1"]
    assert [word for word in words if word in set(CLAIMS.id)] == ["range", "best", "gain"]
    assert set(CLAIMS.why) <= set(words)
    assert " ".join(word for word in words if "best." in word) == ("EOWM is best. " * 12).strip()


def test_no_text_leaves_the_sheet_or_meets_another():
    page = overviews.claims_figure(CLAIMS)
    with style.context():
        page.draw_without_rendering()
        boxes = [text.get_window_extent() for text in page.axes[0].texts]
    for place, box in enumerate(boxes):
        assert box.x1 <= page.bbox.x1
        assert box.y0 >= 0
        assert not any(box.overlaps(other) for other in boxes[place + 1 :])


def test_no_claim():
    assert overviews.claims_figure(CLAIMS[:0]).texts[0].get_text() == "no claim"


def test_another_reading_of_a_row_has_one_name(config):
    cell = "table2/cifar10-5/owm:matched"
    (name,) = overviews.compared(
        pd.DataFrame([line("Output", f"{cell}, task known", cell, 0.3, 0.01)]), config
    ).name
    assert name.endswith(", task known")
    assert "−" not in name
