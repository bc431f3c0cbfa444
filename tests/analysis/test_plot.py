"""`eowm plot`: the curves of chosen cells."""

import pytest
from commands import eowm
from made_records import make_record, matrix

from eowm import records
from eowm.analysis import plot, results
from eowm.errors import UserError
from eowm.paths import CHECKOUT
from eowm.records.metrics import all_metrics, average_accuracy_so_far
from eowm.settings.config import load_config

CELLS = ["table2/shuffled-mnist-10/*owm", "table2/shuffled-mnist-10/joint", "table2/cifar10-5/owm"]


@pytest.fixture(scope="module")
def everything():
    return load_config(CHECKOUT / "config.yaml")


def test_each_format_from_a_shell(tmp_path):
    for suffix, start in {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}.items():
        out = tmp_path / "new" / f"curves.{suffix}"
        code, text = eowm(CHECKOUT, "plot", *CELLS, "--out", out)
        assert code == 0, text
        assert out.read_bytes().startswith(start)


def test_curves_are_the_means_of_the_runs(everything):
    found = {c.name: c for word in CELLS for c in results.choose(everything, word)}
    figure = plot.draw(everything, plot.curves_of(everything, found, "AA"), "AA")
    shuffled, cifar = figure.axes
    assert (shuffled.get_title(loc="left"), shuffled.get_xlabel()) == (
        "Shuffled MNIST (10 tasks)", "tasks learnt",
    )  # fmt: skip
    runs = found["table2/shuffled-mnist-10/owm"].runs
    curves = [average_accuracy_so_far(accuracy) for accuracy in runs.accuracy]
    expected = [sum(at) / len(at) for at in zip(*curves, strict=True)]
    drawn = [list(line.get_ydata()) for line in shuffled.lines]
    assert any(ys == pytest.approx(expected) for ys in drawn)
    assert any(len(set(ys)) == 1 for ys in drawn)  # joint training: a level line
    assert len(cifar.lines) == 1
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["OWM", "EOWM", "Joint training", "95 % t-interval"]


def test_a_file_beside_its_cell_has_another_look_and_its_limits(tmp_path, everything):
    name = "table2/shuffled-mnist-3/owm"
    mine = make_record(everything, name, accuracy=matrix(3, 0.8, 0.1), overrides={"epochs": 2})
    records.write(mine, tmp_path / "mine.json")
    words = [name, str(tmp_path / "mine.json")]
    found = {c.name: c for word in words for c in results.choose(everything, word)}
    figure = plot.draw(everything, plot.curves_of(everything, found, "AA"), "AA")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:2] == ["OWM", "OWM, mine.json"]
    (panel,) = figure.axes
    assert len({line.get_color() for line in panel.lines}) == 2
    assert "mine.json: stale" in panel.texts[0].get_text().replace("\n", " ")


def test_a_metric_so_far_ends_at_the_metric():
    accuracies = matrix(4, 0.9, 0.05)
    for metric, value in all_metrics(accuracies).items():
        assert plot.so_far(accuracies, metric)[-1] == value
    assert plot.so_far(accuracies, "AA") == average_accuracy_so_far(accuracies)
    assert plot.so_far(accuracies, "BWT")[0] is None


@pytest.mark.parametrize(
    ("words", "out", "metric", "told"),
    [
        (["table2/cifar10-5/owm"], "x.gif", "AA", "end its name with .png"),
        (["table2/cifar10-5/owm"], "x.png", "BTW", "did you mean 'BWT'"),
        (["table2/cifar11-5/*"], "x.png", "AA", "did you mean 'table2/cifar10-5/"),
        (["table2/cifar10-5/joint"], "x.png", "MRR", "no run of table2/cifar10-5/joint has MRR"),
        (["table2/cifar10-5/owm"], "file/x.png", "AA", "cannot write"),
    ],
)
def test_one_sentence_for_what_cannot_be_drawn(tmp_path, everything, words, out, metric, told):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UserError) as caught:
        plot.plot(everything, words, tmp_path / out, metric)
    assert told in str(caught.value)
