"""Figure 2: every step of the method with its equation, and no text beyond its box."""

import pytest

from eowm.analysis import figures, framework, style


@pytest.fixture(scope="module")
def figure():
    with style.context():
        drawn = framework.figure2()
        drawn.draw_without_rendering()
        return drawn


def test_the_steps_stand_in_the_order_of_the_code():
    steps = (framework.BATCH, framework.FORWARD, framework.BACKWARD, framework.PROJECT)
    assert [box.title[0] for box in (*steps, framework.STEP)] == ["1", "2", "3", "5", "6"]
    states = (framework.INPUTS, framework.SPACE)
    assert [box.title[0] for box in states] == ["4", "4"]  # P and Q learn before they project


def test_every_equation_of_the_method_is_named(figure):
    words = " ".join(text.get_text() for text in figure.axes[0].texts)
    for name in ("Eqs. 7, 9", "Eq. 8", "Eqs. 1, 9", "Eqs. 4, 10", "Def. 5", "Alg. 1"):
        assert name in words


def test_texts_keep_to_their_boxes(figure):
    page = figure.axes[0]
    texts = {text.get_text(): text for text in page.texts}
    boxes = [value for value in vars(framework).values() if isinstance(value, framework.Box)]
    assert len(boxes) == 10
    for box in boxes:
        for line in (box.title, *box.lines):
            extent = texts[line].get_window_extent().transformed(page.transData.inverted())
            assert box.x <= extent.x0, line
            assert extent.x1 <= box.x + box.width, line
            assert box.y <= extent.y0, line
            assert extent.y1 <= box.y + box.height, line


def test_vector_and_bitmap(tmp_path, figure):
    files = figures.save(figure, tmp_path / "figure2")
    assert [file.suffix for file in files] == [".pdf", ".png"]
    assert b"/Subtype /Image" not in files[0].read_bytes()  # nothing but lines and letters
