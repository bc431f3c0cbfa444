"""Figure 2: every equation of the method is named, and no text leaves its box."""

from eowm.analysis import framework, style


def test_every_equation_is_named_and_every_text_keeps_to_its_box():
    with style.context():
        figure = framework.figure2()
        figure.draw_without_rendering()
    (page,) = figure.axes
    texts = {text.get_text(): text for text in page.texts}
    for name in ("Eqs. 7, 9", "Eq. 8", "Eqs. 1, 9", "Eqs. 4, 10", "Def. 5", "Alg. 1"):
        assert name in " ".join(texts)
    for (x, y, width, height), content, *_ in framework.BOXES:
        for line in content.split("\n"):
            extent = texts[line].get_window_extent().transformed(page.transData.inverted())
            assert x <= extent.x0 < extent.x1 <= x + width, line
            assert y <= extent.y0 < extent.y1 <= y + height, line
