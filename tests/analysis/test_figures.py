"""Figure 3: eight panels in the paper's order, with everything that limits them written in."""

import pytest
from conftest import fill, make_record, store
from matplotlib.colors import to_hex

from eowm.analysis import figures, results, style

TITLES = [
    "(a) CIFAR-10 (5 tasks)",
    "(b) CIFAR-100 (2 tasks)",
    "(c) CIFAR-100 (5 tasks)",
    "(d) CIFAR-100 (10 tasks)",
    "(e) CIFAR-100 (20 tasks)",
    "(f) Shuffled MNIST (3 tasks)",
    "(g) Shuffled MNIST (10 tasks)",
    "(h) Shuffled MNIST (20 tasks)",
]


def draw(folder, config, preset):
    return figures.figure3(results.collect(folder, config, preset), config)


def notes(panel) -> str:
    return "\n".join(text.get_text() for text in panel.texts)


def legend(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.fixture(scope="module")
def complete(tmp_path_factory, config):
    folder = tmp_path_factory.mktemp("paper")
    fill(folder, config, "paper")
    return draw(folder, config, "paper")


def test_panels_and_titles(complete):
    assert [panel.get_title(loc="left") for panel in complete.axes] == TITLES


def test_curves_bands_ceiling_and_end_points(complete):
    panel = complete.axes[0]
    colours = {to_hex(line.get_color()).upper() for line in panel.lines}
    assert {style.LOOKS[name][0] for name in ("owm", "finetune", "joint")} <= colours
    assert len(panel.collections) == 2  # bands of OWM and fine-tuning
    dashed = [line for line in panel.lines if line.get_linestyle() == "--"]
    assert len(dashed) == 1
    hollow = [line for line in panel.lines if line.get_markerfacecolor() == "none"]
    assert [line.get_xdata()[0] for line in hollow] == [5]
    assert notes(panel) == ""


def test_one_shared_legend_says_which_marks_are_the_papers(complete, config):
    labels = legend(complete)
    assert labels[0] == config.methods["owm"].title
    assert any("paper" in label for label in labels)
    assert any("95 % t-interval" in label for label in labels)
    assert all(panel.get_legend() is None for panel in complete.axes)


def test_limits_stand_in_the_panel(tmp_path, config):
    fill(tmp_path, config, "quick", source="standin", skip="owm")
    failed = make_record(config, "table2/cifar10-5/owm", preset="quick", status="failed: diverged")
    store(failed, tmp_path)
    figure = draw(tmp_path, config, "quick")
    assert notes(figure.axes[0]) == "reduced budget\nstand-in data\nfailed: OWM"
    assert notes(figure.axes[1]) == "reduced budget\nstand-in data\nnot run: OWM"
    assert "OWM (no result)" in legend(figure)


def test_nothing_run_still_draws(tmp_path, config):
    figure = draw(tmp_path, config, "quick")
    assert notes(figure.axes[0]) == "not run"


@pytest.mark.parametrize("columns", [2, 4])
def test_nothing_is_clipped(tmp_path, config, columns):
    """Every title and the legend lie inside the page."""
    fill(tmp_path, config, "quick", source="standin", skip="owm")
    runs = results.collect(tmp_path, config, "quick")
    with style.context():
        figure = figures.figure3(runs, config, columns)
        figure.draw_without_rendering()
        texts = [text for panel in figure.axes for text in (panel._left_title, *panel.texts)]
        for artist in (*texts, figure.legends[0]):
            box = artist.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
            assert box.x0 >= 0
            assert box.x1 <= figure.get_figwidth()
            assert box.y0 >= 0
            assert box.y1 <= figure.get_figheight()


def test_files_are_the_same_bytes_every_time(tmp_path, config):
    fill(tmp_path / "records", config, "quick")
    first = figures.save(draw(tmp_path / "records", config, "quick"), tmp_path / "a" / "figure3")
    second = figures.save(draw(tmp_path / "records", config, "quick"), tmp_path / "b" / "figure3")
    assert [file.name for file in first] == ["figure3.pdf", "figure3.png"]
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    assert b"CreationDate" not in first[0].read_bytes()
