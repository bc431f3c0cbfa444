"""Figure 3: eight panels in the paper's order, with everything that limits them written in."""

import pytest
from made_records import fill, make_record, runs_with, store
from matplotlib.colors import to_hex

from eowm.analysis import collect, figures, style


def draw(folder, config, preset="paper"):
    return figures.figure3(collect.collect(config, preset, folder), config)


def notes(panel) -> str:
    return "\n".join(text.get_text() for text in panel.texts)


def test_curves_bands_ceiling_and_end_points(tmp_path, config):
    fill(tmp_path, config, "paper")
    figure = draw(tmp_path, config)
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert titles[::7] == ["(a) CIFAR-10 (5 tasks)", "(h) Shuffled MNIST (20 tasks)"]
    panel = figure.axes[0]
    colours = {to_hex(line.get_color()).upper() for line in panel.lines}
    assert {style.LOOKS[name][0] for name in ("owm", "finetune", "joint")} <= colours
    assert len(panel.collections) == 2  # bands of OWM and fine-tuning
    (hollow,) = (line for line in panel.lines if line.get_markerfacecolor() == "none")
    assert hollow.get_xdata()[0] > 5  # beside the curve, which ends at 5 tasks
    assert hollow.get_ydata()[0] == 0.5316
    assert notes(panel) == ""
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["OWM", "Fine-tuning", "Joint training", "95 % t-interval",
                      "hollow: the paper's end point"]  # fmt: skip


def test_a_band_stays_where_an_accuracy_can_be(tmp_path, config):
    """The interval of these two is 2.5 wide."""
    runs = runs_with(tmp_path, config, {"table2/cifar10-5/owm": [0.99, 0.6]})
    (band,) = figures.figure3(runs, config).axes[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0, 1)


def test_limits_stand_in_the_panel(tmp_path, config):
    assert notes(draw(tmp_path, config, "smoke").axes[0]) == "not run"
    fill(tmp_path, config, "smoke", source="standin", skip="owm")
    failed = make_record(config, "table2/cifar10-5/owm", preset="smoke", status="failed: diverged")
    store(failed, tmp_path)
    figure = draw(tmp_path, config, "smoke")
    assert notes(figure.axes[0]) == "reduced budget\nstand-in data\nfailed: OWM"
    assert notes(figure.axes[1]) == "reduced budget\nstand-in data\nnot run: OWM"
    assert figure.legends[0].get_texts()[0].get_text() == "OWM (no result)"


@pytest.mark.parametrize(
    ("rounded", "note"), [(("owm", "joint"), "bfloat16"), (("joint",), "bfloat16: Joint training")]
)
def test_rounded_products_are_told_once_where_all_runs_have_them(tmp_path, config, rounded, note):
    for row in ("owm", "joint"):
        precision = {"precision": "bfloat16" if row in rounded else "float32"}
        runs = runs_with(tmp_path, config, {f"table2/cifar10-5/{row}": [0.5]}, overrides=precision)
    assert notes(figures.figure3(runs, config).axes[0]).splitlines()[0] == note


def test_files_are_the_same_bytes_every_time(tmp_path, config):
    fill(tmp_path / "records", config, "smoke")
    first, second = (
        figures.save(draw(tmp_path / "records", config, "smoke"), tmp_path / name / "figure3")
        for name in "ab"
    )
    assert [file.name for file in first] == ["figure3.pdf", "figure3.png"]
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    assert b"CreationDate" not in first[0].read_bytes()
