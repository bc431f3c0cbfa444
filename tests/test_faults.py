"""What users and machines get wrong: one sentence each, with a name and a way out, exit code 2.

Through the real command line in this process: no traceback, and never a record from a bad input.
"""

import json
import resource
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
import yaml

from eowm import cli, paths, records
from eowm.data import store
from eowm.paths import CHECKOUT
from eowm.settings.options import options_of
from eowm.training.checkpoint import Checkpoint

CELL = "table2/shuffled-mnist-3/finetune"
TRAIN = ["train", CELL, "--preset", "smoke"]
SWEEP = ["sweep", "table2/shuffled-mnist-3/ewc", "--preset", "smoke"]
PUBLISHED = CHECKOUT / "paper_figures/paper/records/table3/disjoint-mnist-2/eowm/w2-0.10/seed0.json"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with nothing but a config."""
    shutil.copy(CHECKOUT / "config.yaml", tmp_path)
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "OUT", tmp_path)
    monkeypatch.setattr(paths, "CONFIG", tmp_path / "config.yaml")
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    return tmp_path


@pytest.fixture
def eowm(project, monkeypatch, capsys):
    """`eowm("train", …)`: exit code and what was said on stderr; `eowm.out` has the rest."""

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["eowm", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        call.out, told = capsys.readouterr()
        return ended.value.code, told

    return call


def refused(answer: tuple[int, str], *words: str) -> None:
    code, text = answer
    assert code == 2, text
    assert "Traceback" not in text
    for word in words:
        assert word in text


# --- config.yaml ------------------------------------------------------------------------------

BAD_CONFIGS = {
    "unknown key": ("prset", "quick", ["prset", "did you mean 'preset'"]),
    "unknown key, deep": ("methods/owm/settings/alhpa", 1, ["methods.owm.settings.alhpa"]),
    "key of another method": ("methods/ewc/settings/w2", 0.1, ["methods.ewc.settings.w2"]),
    "no options": ("methods/si", {"title": "SI", "settings": {"c": 1}},
                   ["method 'si' is unknown", "eowm/methods/si.py"]),
    "key of no option": ("methods/finetune/settings", {"alpha": {}}, ["alpha", "finetune"]),
    "no such method": ("methods/own", {"title": "x"}, ["own", "did you mean 'owm'"]),
    "too large": ("families/cifar10/settings/momentum", 1.5, ["momentum", "less than 1"]),
    "no choice": ("families/cifar10/settings/selection", "best", ["selection", "test-oracle"]),
    "alpha of 0": ("methods/owm/settings/alpha", {"fc": [1, 0]}, ["alpha", "greater than 0"]),
    "unknown family, deep": ("presets/quick/families/cifar", {}, ["presets.quick.families.cifar"]),
    "unknown method, deep": ("presets/quick/families/cifar10/methods", {"own": {}}, ["'owm'"]),
    "table of no preset": ("tables/selection/presets", ["papr"], ["did you mean 'paper'"]),
    "seeds of no cell": ("tables/table3/seeds/paper", {"*/own": [0]}, ["matches 'table3/*/own'"]),
    "no preset's rest": ("presets/quick/rest", "papr", ["presets.quick.rest", "'paper'"]),
    "wrong type": ("families/cifar10/settings/epochs", "x", ["families.cifar10.settings.epochs"]),
    "w2 > 1": ("methods/eowm/variants/w2-0.10/settings/w2", 1.5, ["w2", "less than or equal to 1"]),
    "negative epochs": ("families/cifar10/settings/epochs", -3, ["epochs", "greater than 0"]),
    "unknown method": ("tables/table2/methods", ["owmm"], ["owmm", "did you mean 'owm'"]),
    "unknown scenario": ("tables/table2/scenarios", ["cifar10-50"], ["did you mean 'cifar10-5'"]),
    "unknown variant": ("tables/table2/methods", ["owm:matchd"], ["did you mean 'matched'"]),
    "unknown preset": ("preset", "quik", ["quik", "did you mean 'quick'"]),
    "unknown family": ("methods/owm/families/cifar11", {}, ["did you mean 'cifar10'"]),
    "unknown dataset": ("families/cifar10/dataset", "cifar11", ["families.cifar10.dataset"]),
    "seeds twice": ("presets/quick/seeds", [1, 1], ["presets.quick.seeds", "different"]),
    "seeds below 0": ("presets/quick/seeds", [-1], ["presets.quick.seeds.0"]),
    "no seeds": ("presets/quick/seeds", [], ["presets.quick.seeds", "at least 1"]),
    "a name for the shell": ("methods/owm/variants/a;rm", {"title": "x"}, ["a;rm", "pattern"]),
    "a name for a path": ("methods/owm/variants/../x", None, ["methods.owm.variants"]),
    "costs without default": ("jobs/costs/mnist", {}, ["jobs.costs.mnist", "default"]),
    "cost of no method": ("jobs/costs/mnist/owmm", {"images_per_second": 1, "mem_mb": 1},
                          ["jobs.costs.mnist.owmm", "did you mean 'owm'"]),
    "cost of no variant": ("jobs/costs/mnist/eowm:broad", {"images_per_second": 1, "mem_mb": 1},
                           ["variant 'broad' is unknown"]),
    "no seeds in a job": ("jobs/seeds_per_job", 0, ["jobs.seeds_per_job", "greater than 0"]),
}  # fmt: skip


@pytest.mark.parametrize("fault", BAD_CONFIGS)
def test_a_bad_config_is_refused_before_anything_runs(project, eowm, fault) -> None:
    path, value, words = BAD_CONFIGS[fault]
    config = yaml.safe_load((project / "config.yaml").read_text())
    *parents, last = path.split("/") if "../x" not in path else [*path.split("/")[:-2], "../x"]
    place = config
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    (project / "config.yaml").write_text(yaml.safe_dump(config))
    refused(eowm(*TRAIN), *words)
    assert {path.name for path in project.iterdir()} == {"config.yaml"}


def test_seven_tasks_for_ten_classes(project, eowm) -> None:
    config = yaml.safe_load((project / "config.yaml").read_text())
    config["families"]["cifar10"]["tasks"].append(7)
    config["tables"]["table2"]["scenarios"].append("cifar10-7")
    (project / "config.yaml").write_text(yaml.safe_dump(config))
    refused(eowm("cells"), "cifar10-7", "10 classes cannot be cut into 7 equal tasks")


@pytest.mark.parametrize(
    ("text", "words"),
    [("a: [", "not valid YAML"), ("- a\n", "must hold keys"), ("", "families"),
     ("a: !!python/object/apply:os.system [ls]", "not valid YAML")],
)  # fmt: skip
def test_a_config_that_is_none(project, eowm, text, words) -> None:
    (project / "config.yaml").write_text(text)
    refused(eowm("cells"), "config.yaml", words)


# --- command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "table2/cifar10-5/own"], ["own", "did you mean 'owm'"]),
        (["train", "table2/cifar10-6/owm"], ["cifar10-6", "did you mean"]),
        ([*TRAIN, "--set", "epcohs=3"], ["epcohs", "did you mean 'epochs'"]),
        ([*TRAIN, "--set", "epochs=-3"], ["epochs", "greater than 0"]),
        ([*TRAIN, "--set", "epochs=abc"], ["epochs", "integer"]),
        ([*TRAIN, "--set", "epochs=null"], ["epochs", "integer"]),
        ([*TRAIN, "--set", "alpha=3"], ["--set alpha is not a setting of finetune"]),
        ([*TRAIN, "--set", "epochs=3", "--set", "epochs.x=3"], ["epochs has a value already"]),
        ([*TRAIN, "--set", "epochs=[1"], ["'[1' is not a value"]),
        (["train", "tabel2/cifar10-5/owm"], ["tabel2", "did you mean 'table2'"]),
        (["train", "cifar10-5/*"], ["'cifar10-5/*'", "eowm cells --names"]),
        ([*TRAIN[:-1], "fast"], ["fast", "quick"]),
        ([*TRAIN, "--set", "epochs"], ["key=value"]),
        (["train", "table2/cifar10-5/joint:x"], ["variant of joint 'x'", "known: none"]),
        ([*SWEEP, "strength", "1", "--first-tasks", "4", "--out", "x.csv"], ["has 3 tasks"]),
        ([*SWEEP, "strength.x", "1", "--out", "x.csv"], ["strength"]),
        ([*TRAIN, "--seed", "0", "--seed", "1", "--out", "x.json"], ["one --out for each run"]),
        (["forget", "table2/shuffled-mnist-3/finetun"], ["did you mean 'finetune'"]),
        (["forget", CELL, "--seeds", "one"], ["one", "whole numbers"]),
        (["forget", CELL, "--seeds", "4-0"], ["4-0", "whole numbers"]),
        (["cells", "--seeds", "-1"], ["-1"]),
        (["data", "fetch", "cifra10"], ["did you mean 'cifar10'"]),
        (["data", "fetch", "mnist", "--source", "registri"], ["did you mean 'registry'"]),
        (["cells", "table2/shuffled-mnist-2/owm"], ["no cell of preset 'quick' matches"]),
        (["cells", "table2/cifar10-5/owm", "table9/*"], ["no cell of preset 'quick' matches"]),
        (["cells", "table2/cifar10-5/owm/x"], ["no cell of preset"]),
        (["cells", "other/cifar10-5/*"], ["is unknown"]),
        (["cells", "tabel2"], ["no cell of preset 'quick' matches 'tabel2'"]),
        (["show", "nothing.json"], ["nothing.json", "does not exist"]),
        (["show", "table2/cifar10-5/own"], ["did you mean 'owm'"]),
        (["show", CELL, "--preset", "smoke"], ["seed0.json does not exist"]),
        (["show", "table2"], ["name one"]),
        (["show", "/"], ["is a folder", "name one record file"]),
        (["show", sys.executable], ["cannot be read", "not a text file"]),
        ([*SWEEP[:1], "table2/*/ewc", "strength", "1", "--out", "x.csv"], ["name one"]),
    ],
)
def test_a_bad_command(eowm, arguments, words) -> None:
    refused(eowm(*arguments), *words)


# --- data -------------------------------------------------------------------------------------


def prepare(project, sha256: str = "0" * 64) -> None:
    manifest = store.Manifest(name="mnist", source="standin", origin="test", sha256=sha256,
                              comparable=False, files={}, train=60_000, test=10_000)  # fmt: skip
    (project / "data").mkdir()
    (project / "data/mnist.manifest.json").write_text(manifest.model_dump_json())
    (project / "data/mnist.pt").write_bytes(b"rubbish")


def no_record(project) -> bool:
    return not list(project.rglob("seed*.json"))


def test_data_that_are_missing_damaged_or_stand_ins(project, eowm) -> None:
    refused(eowm(*TRAIN), "mnist is not in", "eowm data fetch mnist")
    prepare(project)
    refused(eowm(*TRAIN), "mnist.pt is damaged", "eowm data fetch mnist")
    refused(eowm(*TRAIN[:-1], "paper"), "stand-in", "this preset does not allow")
    assert no_record(project)


# --- disks and checkpoints --------------------------------------------------------------------


@pytest.fixture
def trainable(project, monkeypatch, arrays):
    """A project with data at hand."""
    prepare(project)
    made = arrays("mnist")

    def load(name, cache, **_):
        return made, store.read_manifest(name, cache)

    monkeypatch.setattr(store, "load", load)
    return project


def test_a_disk_that_is_full(trainable, eowm) -> None:
    """A limit on the size of files is what a test may impose without being root."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        answer = eowm(*TRAIN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    refused(answer, "cannot write the checkpoint", "seed0.pt", "free some space")
    assert no_record(trainable)
    assert eowm(*TRAIN)[0] == 0


@pytest.mark.parametrize("folder", ["results", "paper_figures"])
def test_a_folder_that_cannot_be_written(trainable, eowm, folder) -> None:
    (trainable / folder).write_text("a file where a folder should be")
    refused(eowm(*TRAIN), "cannot write", folder, "make its folder writable")


def test_damaged_checkpoints(trainable, eowm) -> None:
    file = trainable / paths.checkpoint("smoke", CELL, 0)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"rubbish")
    refused(eowm(*TRAIN), "seed0.pt", "is damaged; delete it")
    assert no_record(trainable)
    assert eowm(*TRAIN, "--fresh")[0] == 0


def test_a_checkpoint_of_a_method_that_keeps_more_than_plain_types(trainable, eowm) -> None:
    """Nothing is unpickled that could run code, and the message does not speak of the disk."""
    file = trainable / paths.checkpoint("smoke", CELL, 0)
    file.parent.mkdir(parents=True)
    Checkpoint(file, "a key").save({"method": np.float64(1.0)})
    refused(eowm(*TRAIN), "seed0.pt", "more than tensors and plain Python types")


def test_the_command_of_another_checkout_says_whose_code_it_is(project, eowm) -> None:
    (project / "eowm").mkdir()
    (project / "eowm/cli.py").touch()
    code, text = eowm("cells", "--names")
    assert code == 0
    assert f"this is the code of {CHECKOUT}" in text
    assert "`python -m eowm` runs that" in text


def test_a_checkpoint_made_on_other_data_is_not_continued(trainable, eowm, monkeypatch) -> None:
    """Otherwise a run begun on a stand-in could end as a comparable one."""
    from eowm.training.loop import Loop

    epochs = []

    def stop_after_one(self, task, epoch=Loop._epoch):
        epochs.append(1)
        if len(epochs) == 2:
            raise store.DataError("stop")
        epoch(self, task)

    monkeypatch.setattr(Loop, "_epoch", stop_after_one)
    assert eowm(*TRAIN)[0] == 2
    assert (trainable / paths.checkpoint("smoke", CELL, 0)).exists()
    shutil.rmtree(trainable / "data")
    prepare(trainable, sha256="1" * 64)
    assert eowm(*TRAIN)[0] == 0
    record = records.read(trainable / paths.record("smoke", CELL, 0))
    assert record.timing.interruptions == 0
    assert len(record.curves) == record.settings.training.epochs * record.settings.tasks


# --- records ----------------------------------------------------------------------------------


@pytest.fixture
def recorded(project):
    """A real record in its place; `change(…)` falsifies it."""
    place = project / paths.record("paper", "table3/disjoint-mnist-2/eowm:w2-0.10", 0)
    place.parent.mkdir(parents=True)
    shutil.copy(PUBLISHED, place)
    return place


COLLECT = ["collect", "--preset", "paper"]
RESULTS = "paper_figures/paper/results.csv"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r["accuracy"][-1].__setitem__(0, 0.99), "metrics do not follow"),
        (lambda r: r["metrics"].update(AA=0.99), "metrics do not follow"),
        (lambda r: r["settings"]["training"].update(epochs=1), "settings_hash"),
        (lambda r: r["cell"].update(preset="quick"), "is a record of preset 'quick'"),
        (lambda r: r["cell"].update(variant="w2-0.15"), "is the record of"),
        (lambda r: r["cell"].update(seed=1), "is the record of"),
        (lambda r: r.update(schema_version=9), "schema_version"),
        (lambda r: r.pop("metrics"), "metrics"),
        (lambda r: r.update(surprise=1), "surprise"),
    ],
)
def test_a_falsified_or_foreign_record(recorded, eowm, monkeypatch, change, words) -> None:
    monkeypatch.chdir(paths.ROOT)
    content = json.loads(recorded.read_text())
    change(content)
    recorded.write_text(json.dumps(content))
    refused(eowm(*COLLECT), "seed0.json", words)
    assert not (paths.ROOT / RESULTS).exists()


def test_half_a_record(recorded, eowm, monkeypatch) -> None:
    monkeypatch.chdir(paths.ROOT)
    recorded.write_text(recorded.read_text()[:300])
    refused(eowm(*COLLECT), "seed0.json is not a valid record", "run its cell again")
    refused(eowm("show", str(recorded)), "seed0.json is not a valid record")


def test_a_record_of_other_settings_is_stale_and_never_comparable(
    recorded, eowm, monkeypatch
) -> None:
    monkeypatch.chdir(paths.ROOT)
    monkeypatch.setattr(options_of("eowm"), "version", 99)  # as if its code had changed
    assert eowm(*COLLECT)[0] == 0
    runs = pd.read_csv(paths.ROOT / RESULTS)
    (run,) = runs[runs.status == "complete"].to_dict("records")
    assert (run["data_source"], run["comparable"], run["stale"]) == ("registry", False, True)
    assert eowm("cells", "table3/disjoint*", "--preset", "paper")[0] == 0
    assert "stale 0" in eowm.out


def test_markup_in_a_record_stays_text(recorded, eowm) -> None:
    content = json.loads(recorded.read_text())
    content["status"] = "failed: [red]no[/] [/nothing]"
    content["environment"]["device"] = "[link=x]<b>"
    recorded.write_text(json.dumps(content))
    assert eowm("show", str(recorded))[0] == 0
    assert "failed: [red]no[/] [/nothing]" in eowm.out
    assert "[link=x]<b>" in eowm.out
