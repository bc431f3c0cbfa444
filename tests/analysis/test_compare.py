"""Cells, files and folders compared seed by seed, in Python and on the command line."""

import numpy as np
import pytest
from commands import eowm as command
from made_records import make_record, matrix

import eowm
from eowm import records
from eowm.errors import UserError
from eowm.paths import CHECKOUT
from eowm.settings.config import load_config

FIRST, SECOND = "table2/shuffled-mnist-10/eowm", "table2/shuffled-mnist-10/owm"


@pytest.fixture(scope="module")
def everything():
    return load_config(CHECKOUT / "config.yaml")


def write(folder, config, accuracies, name="table2/shuffled-mnist-3/owm", **how):
    """A record per seed in a folder of the user's own."""
    for seed, accuracy in accuracies.items():
        record = make_record(config, name, seed, accuracy=matrix(3, accuracy, 0.0), **how)
        records.write(record, folder / f"seed{seed}-{record.settings_hash}.json")
    return folder


def test_published_cells_from_a_shell():
    code, text = command(CHECKOUT, "compare", FIRST, "…/owm", "--margin", "0.01")
    assert code == 0, text
    seeds = eowm.compare(FIRST, SECOND).seeds
    assert all(any(line.split()[:1] == [str(s)] for line in text.splitlines()) for s in seeds)
    assert f"n = {len(seeds)}, p = " in text
    assert "equivalent within ±0.01: yes (two one-sided t-tests, p < 0.001)" in text
    assert "in the paper: +0.0058" in text


def test_it_is_the_table_s_difference():
    runs = eowm.load()
    by_seed = runs[runs.cell.isin([FIRST, SECOND])].pivot(index="seed", columns="cell", values="AA")
    expected = (by_seed[FIRST] - by_seed[SECOND]).dropna()
    found = eowm.compare(FIRST, ".../owm")
    assert found.n == len(expected)
    assert found.mean == pytest.approx(expected.mean())
    assert found.second.name == SECOND


def test_folders_and_files_of_ones_own(tmp_path, everything):
    fast = write(tmp_path / "fast", everything, {0: 0.80, 1: 0.90}, overrides={"epochs": 2})
    slow = write(tmp_path / "slow", everything, {0: 0.85, 1: 0.97, 5: 0.99})
    found = eowm.compare(fast, str(slow))
    assert found.differences == pytest.approx((-0.05, -0.07))
    assert found.seeds == (0, 1)
    assert found.paper is None  # two settings of one cell
    assert "fast  (stale settings)" in str(found)
    (one,) = fast.glob("seed0-*")
    alone = eowm.compare(one, slow)
    assert (alone.n, alone.equivalent()) == (1, None)
    assert "one pair decides nothing" in str(alone)
    table = eowm.load(tmp_path)
    assert sorted(table.AA.round(2)) == [0.80, 0.85, 0.90, 0.97, 0.99]


def test_a_folder_of_two_settings_is_refused(tmp_path, everything):
    write(tmp_path, everything, {0: 0.8, 1: 0.8}, overrides={"epochs": 2})
    write(tmp_path, everything, {2: 0.9}, overrides={"epochs": 3})
    with pytest.raises(UserError, match="different settings"):
        eowm.compare(tmp_path, "…/owm")
    write(tmp_path, everything, {1: 0.9}, overrides={"epochs": 3})
    with pytest.raises(UserError, match=r"seed 1 .* twice: .*seed1-\w+.json, .*seed1-\w+.json"):
        eowm.compare(tmp_path, "…/owm")


@pytest.mark.parametrize(
    ("first", "second", "how", "words"),
    [
        (FIRST, "…/omw", {}, ["did you mean 'owm'"]),
        (FIRST, SECOND, {"metric": "MMR"}, ["did you mean 'MRR'"]),
        (FIRST, SECOND, {"margin": 0.0}, ["margin 0 must be above 0"]),
        (FIRST, SECOND, {"preset": "papr"}, ["did you mean 'paper'"]),
        (FIRST, "…/joint", {"metric": "MRR"}, ["no run of table2/shuffled-mnist-10/joint has MRR"]),
        (FIRST, "table2/cifar10-5/owm", {}, ["are two scenarios"]),
        ("table2/cifar10-5", "…/owm", {}, ["name one"]),
        (FIRST, "nothing.json", {}, ["nothing.json does not exist"]),
        # spelt well, but not in this table: which of the two, and what there is
        ("table2/shuffled-mnist-2/eowm", "…/owm", {},
         ["table2/shuffled-mnist-2/eowm has no complete run", "table2 has shuffled-mnist-3"]),
        (FIRST, "…/eowm:q-last", {}, ["eowm:q-last has no complete run", "has ewc, "]),
    ],
)  # fmt: skip
def test_one_sentence_for_what_cannot_be_compared(first, second, how, words):
    with pytest.raises(UserError) as caught:
        eowm.compare(first, second, **how)
    assert all(word in str(caught.value) for word in words), caught.value


def test_no_common_seed_names_the_seeds(tmp_path, everything):
    one = write(tmp_path / "one", everything, {0: 0.8, 1: 0.8})
    other = write(tmp_path / "other", everything, {2: 0.8})
    with pytest.raises(UserError, match=r"one has 0, 1 and .*other has 2"):
        eowm.compare(one, other)


def test_a_matrix_has_nan_where_nothing_was_measured():
    found = eowm.record("table2/cifar10-5/joint").matrix
    assert found.shape == (5, 5)
    assert np.isnan(found[:4]).all()
    assert found[4].mean() == pytest.approx(eowm.record("table2/cifar10-5/joint").metrics["AA"])


def test_loading_what_is_no_source(tmp_path):
    with pytest.raises(UserError, match="did you mean 'paper'"):
        eowm.load("papr")
    with pytest.raises(UserError, match="holds no record"):
        eowm.load(tmp_path)
