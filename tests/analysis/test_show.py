"""`eowm show`: what a reader learns about one run."""

import re

import pytest
from commands import eowm, make_project
from made_records import make_record

from eowm import paths, records
from eowm.paths import CHECKOUT
from eowm.settings.config import load_config

CELL = "table2/shuffled-mnist-3/eowm"


def lines(text: str) -> list[str]:
    """Without the padding of tables."""
    return [re.sub(r" +", " ", line).strip() for line in text.splitlines()]


def test_a_published_run_beside_the_paper():
    code, text = eowm(CHECKOUT, "show", CELL)
    assert code == 0, text
    assert f"{CELL} seed 0, preset paper: complete" in text
    assert "budget: paper" in text
    (aa,) = [line for line in lines(text) if line.startswith("AA ")]
    assert re.fullmatch(r"AA 0\.97\d\d 0\.97\d\d ± 0\.\d{4} \(\d+\) 0\.9832 close", aa)
    assert "settings: those of eowm at the paper's budget" in text
    assert "None" not in text


def test_a_variant_names_what_it_changes():
    _, text = eowm(CHECKOUT, "show", "table3/disjoint-mnist-2/eowm:w2-0.10", "--seed", "1")
    assert "setting this run eowm at the paper's budget" in lines(text)
    assert "coefficients constant published" in lines(text)
    assert "w2 0.1 0" in lines(text)
    assert "epochs" not in text


@pytest.fixture
def tried(tmp_path):
    """A project where a variant ran once, and once with `--set`."""
    config, name = load_config(CHECKOUT / "config.yaml"), "table2/shuffled-mnist-3/owm:matched"
    make_project(tmp_path)
    own = make_record(config, name)
    records.write(own, tmp_path / paths.record("paper", name, 0))
    changed = make_record(config, name, overrides={"epochs": 2, "coefficients": "one"})
    place = paths.tried("paper", name, 0, changed.settings_hash)
    records.write(changed, tmp_path / place)
    return tmp_path, name, place


def test_a_run_with_set_names_what_replaced_what(tried):
    folder, name, place = tried
    code, text = eowm(folder, "show", name)
    assert code == 0, text
    assert str(place) in text.partition("runs of this cell with --set:")[2]
    _, text = eowm(folder, "show", place)
    assert "settings changed on the command line" in text
    (heads,) = [line for line in lines(text) if line.startswith("setting this run")]
    assert heads.endswith("this cell in config.yaml")
    assert "epochs 2 35 30" in lines(text)  # this run, OWM, its variant `matched`
    assert "coefficients one one published" in lines(text)  # also what went back to the default
    assert "stale settings" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([CELL, "--seed", "77"], ["seed77.json does not exist (not run)", "at hand: seed0, seed1"]),
        (["docs"], ["docs is a folder: name one record file in it"]),
        (["config.yaml"], ["config.yaml is not a valid record"]),
        ([CELL, "--preset", "papr"], ["did you mean 'paper'"]),
        (["table2/shuffled-mnist-3/ewom"], ["did you mean 'eowm'"]),
    ],
)
def test_one_sentence_for_what_cannot_be_shown(arguments, words):
    code, text = eowm(CHECKOUT, "show", *arguments)
    assert code == 2
    assert "Traceback" not in text
    assert all(word in text for word in words), text
