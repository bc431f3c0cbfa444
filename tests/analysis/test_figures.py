"""Figure 3: eight panels in the paper's order, with everything that limits them written in."""

import full_grid
import pytest
from conftest import fill, make_record, matrix, store
from matplotlib.colors import to_hex

from eowm.analysis import collect, figures, style

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
    return figures.figure3(collect.collect(config, preset, folder), config)


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
    assert len(hollow) == 1
    assert hollow[0].get_xdata()[0] > 5  # beside the curve, which ends at 5 tasks
    assert hollow[0].get_ydata()[0] == 0.5316
    assert notes(panel) == ""


def test_a_band_stays_where_an_accuracy_can_be(tmp_path, config):
    for seed, accuracy in ((0, 0.99), (1, 0.6)):  # the interval of these two is 2.5 wide
        found = make_record(config, "table2/cifar10-5/owm", seed, accuracy=matrix(5, accuracy, 0.0))
        store(found, tmp_path)
    panel = draw(tmp_path, config, "paper").axes[0]
    (band,) = panel.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0, 1)


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


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """Eight methods and three references; some cells without a record."""
    config, folder = full_grid.full_config(), tmp_path_factory.mktemp("full")
    full_grid.fill_table2(folder, config, skip=("pgma", "er-mir", "ae-mir", "cifar100-20"))
    return draw(folder, config, "paper")


def test_the_whole_grid(crowded):
    panel = crowded.axes[0]
    hollow = [line for line in panel.lines if line.get_markerfacecolor() == "none"]
    assert len({line.get_xdata()[0] for line in hollow}) == 8  # none hides another
    assert to_hex(panel.lines[-2].get_color()).upper() == style.LOOKS["eowm"][0]  # on top
    assert notes(panel) == "not run: PGMA; ER-MIR;\nAE-MIR"
    assert notes(crowded.axes[4]) == "not run"
    assert len(legend(crowded)) == 8 + 3 + 2


def test_the_shorter_list_of_methods_is_written(tmp_path):
    config = full_grid.full_config()
    others = tuple(row for row in (*full_grid.METHODS, *full_grid.REFERENCES) if row != "owm")
    full_grid.fill_table2(tmp_path, config, skip=others)
    assert notes(draw(tmp_path, config, "paper").axes[0]) == "not run: all but OWM"


@pytest.mark.parametrize(
    ("rounded", "note"), [(("owm", "joint"), "bfloat16"), (("joint",), "bfloat16: Joint training")]
)
def test_rounded_products_are_told_once_where_all_runs_have_them(tmp_path, config, rounded, note):
    for row in ("owm", "joint"):
        accuracy = matrix(5, 0.5, 0.0, row) if row == "joint" else None
        precision = {"precision": "bfloat16" if row in rounded else "float32"}
        name = f"table2/cifar10-5/{row}"
        store(make_record(config, name, accuracy=accuracy, overrides=precision), tmp_path)
    assert notes(draw(tmp_path, config, "paper").axes[0]).splitlines()[0] == note


def test_nothing_is_clipped(crowded):
    """Every title and the legend lie inside the page, every note inside its panel's column."""
    with style.context():
        crowded.draw_without_rendering()
        to_inches = crowded.dpi_scale_trans.inverted()
        for artist in (*(panel._left_title for panel in crowded.axes), crowded.legends[0]):
            box = artist.get_window_extent().transformed(to_inches)
            assert box.x0 >= 0
            assert box.x1 <= crowded.get_figwidth()
            assert box.y0 >= 0
            assert box.y1 <= crowded.get_figheight()
        for panel in crowded.axes:
            for text in panel.texts:
                assert text.get_window_extent().x1 <= panel.get_window_extent().x1


def test_files_are_the_same_bytes_every_time(tmp_path, config):
    fill(tmp_path / "records", config, "quick")
    first = figures.save(draw(tmp_path / "records", config, "quick"), tmp_path / "a" / "figure3")
    second = figures.save(draw(tmp_path / "records", config, "quick"), tmp_path / "b" / "figure3")
    assert [file.name for file in first] == ["figure3.pdf", "figure3.png"]
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    assert b"CreationDate" not in first[0].read_bytes()
