"""`eowm import`: sound records of another machine come in, byte for byte; nothing else does."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from eowm import paths
from eowm.jobs import holds
from eowm.paths import CHECKOUT
from eowm.records.metrics import all_metrics
from eowm.settings.run import RunSettings

PUBLISHED = CHECKOUT / paths.records("paper")
CELL = "table3/disjoint-mnist-2/eowm:w2-0.10"
PLACE = paths.place(CELL, 0)
ROUNDED = paths.place("other/cifar10-5/joint", 0)
BELOW = paths.records("paper")


@pytest.fixture
def project(tmp_path):
    """A project without records."""
    return empty_project(tmp_path / "project")


@pytest.fixture
def other(tmp_path):
    """The project of another machine, with three published records."""
    folder = tmp_path / "other"
    for place in (PLACE, PLACE.with_name("seed1.json"), ROUNDED):
        (folder / BELOW / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PUBLISHED / place, folder / BELOW / place)
    return folder


@pytest.fixture
def one(other):
    """Only one record; `change` alters it."""
    (other / BELOW / PLACE).with_name("seed1.json").unlink()
    (other / BELOW / ROUNDED).unlink()
    return other / BELOW / PLACE


def empty_project(folder):
    folder.mkdir()
    for name in ("config.yaml", "Snakefile"):
        shutil.copy(CHECKOUT / name, folder)
    return folder


def run(project, folder, *options, preset="paper"):
    """Exit code and output of the real command."""
    command = [sys.executable, "-m", "eowm", "import", str(folder), "--preset", preset, *options]
    environment = {k: v for k, v in os.environ.items() if k != paths.OUT_ROOT}
    done = subprocess.run(
        command, cwd=project, env=environment | {"PYTHONPATH": str(CHECKOUT)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def change(path, alter) -> None:
    """Alter a record; its hash and metrics then follow, unless `alter` says otherwise."""
    content = json.loads(path.read_text())
    if alter(content) is not AS_IT_IS:
        settings = RunSettings.model_validate(content["settings"])
        content["settings_hash"] = settings.hash()
        content["metrics"] = all_metrics(content["accuracy"])
    path.write_text(json.dumps(content))


AS_IT_IS = "as it is"


def alter(where, value, as_it_is=False):
    """`alter("settings/seed", 1)`: a function that sets it."""
    *parents, last = where.split("/")

    def set_it(content):
        for key in parents:
            content = content[int(key) if isinstance(content, list) else key]
        content[int(last) if isinstance(content, list) else last] = value
        return AS_IT_IS if as_it_is else None

    return set_it


# --- what is taken ----------------------------------------------------------------------------


@pytest.mark.parametrize("below", [".", BELOW, BELOW / "table3/disjoint-mnist-2/eowm/w2-0.10"])
def test_sound_records_come_in_byte_for_byte_once(project, other, below) -> None:
    code, text = run(project, other / below)
    expected = contents(other / BELOW)
    if "table3" in str(below):
        del expected[ROUNDED]
    else:
        assert "AA 0.7650, bfloat16" in text
    assert (code, text.splitlines()[-1]) == (0, f"taken {len(expected)}, already here 0, left 0")
    assert contents(project / BELOW) == expected
    code, text = run(project, other / below)
    assert (code, text.splitlines()[-1]) == (0, f"taken 0, already here {len(expected)}, left 0")
    assert contents(project / BELOW) == expected


def test_the_folders_above_a_record_mean_nothing(project, other) -> None:
    moved = other.with_name("usb") / "from lab/quick"
    moved.parent.mkdir(parents=True)
    (other / BELOW).rename(moved)
    assert run(project, moved.parents[1])[0] == 0
    assert contents(project / BELOW) == contents(moved)


def test_a_dry_run_writes_nothing(project, other) -> None:
    before = contents(project)
    code, text = run(project, other, "--dry-run")
    assert (code, text.splitlines()[-1]) == (0, "dry run: taken 3, already here 0, left 0")
    assert contents(project) == before


def test_a_preset_that_allows_it_takes_a_stand_in(project, one, config) -> None:
    def to_smoke(content):
        content["cell"] |= {"preset": "smoke", "budget": "reduced"}
        content["data"] |= {"source": "standin", "comparable": False, "sha256": "0" * 64}
        content["settings"] = config.resolve(config.cell(CELL), 0, "smoke").model_dump(mode="json")

    change(one, to_smoke)
    code, text = run(project, one.parent, preset="smoke")
    assert code == 0
    assert ", stand-in data" in text
    assert (project / paths.record("smoke", CELL, 0)).read_bytes() == one.read_bytes()


def test_it_needs_no_torch(project, other) -> None:
    code = (
        "import sys\nfrom eowm import cli\nsys.argv = ['eowm', 'import', sys.argv[1], '--preset', "
        "'paper']\ntry: cli.main()\nexcept SystemExit: pass\nassert 'torch' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(other)]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "taken 3" in done.stdout


# --- what is left for a fault -----------------------------------------------------------------


def other_seed(content):
    content["cell"]["seed"] = content["settings"]["seed"] = 1


def smaller_matrix(content):
    content["accuracy"] = [[0.5]]


FAULTS = {
    "altered accuracy": (alter("accuracy/1/0", 0.99, as_it_is=True), "metrics do not follow"),
    "altered AA": (alter("metrics/AA", 0.99, as_it_is=True), "metrics do not follow"),
    "altered settings": (alter("settings/training/epochs", 1, as_it_is=True), "settings_hash"),
    "stale settings": (alter("settings/training/epochs", 1), "epochs is 1, not "),
    "stale option": (alter("settings/options/w2", 0.5), " w2 is 0.5, not 0.1"),
    "older method": (alter("settings/method_version", 0), "method_version is 0, not "),
    "a budget it had not": (alter("cell/budget", "reduced"), "claims the budget 'reduced'"),
    "stand-in": (alter("data/source", "standin"), "stand-in data, which preset 'paper' never"),
    "not comparable": (alter("data/comparable", False), "stand-in data"),
    "wrong checksum": (alter("data/sha256", "0" * 64), "sha256 is 000000000000…"),
    "other dataset": (alter("data/name", "cifar10"), "trained on 'cifar10', not mnist"),
    "failed": (alter("status", "failed: diverged\nat task 1"), "that failed: diverged at task 1"),
    "wrong place": (other_seed, "seed 1: it belongs in"),
    "place of another cell": (alter("cell/table", "table2"), "it belongs in table2/disjoint"),
    "a place outside": (alter("cell/table", "../../x"), "it belongs in ../../x/"),
    "contradiction": (alter("settings/seed", 1), "contradicts itself: seed is 0"),
    "no matrix": (alter("accuracy", [], as_it_is=True), "is not square"),
    "ragged matrix": (alter("accuracy/1", [0.5], as_it_is=True), "is not square"),
    "size of the matrix": (smaller_matrix, "does not hold 2 × 2 accuracies"),
    "changed code": (alter("environment/commit", "a" * 40 + "+"), "changed code (commit aaa"),
    "changed before": (alter("environment/earlier", [{"commit": "a" * 40 + "+"}]), "changed code"),
    "short commit": (alter("environment/commit", "c0ffee"), "unknown code (commit 'c0ffee')"),
    "no commit": (alter("environment/commit", None), "unknown code (commit None)"),
    "no environments": (alter("environment/earlier", 5), "not a list of environments"),
    "other schema": (alter("schema_version", 9), "schema_version"),
}  # fmt: skip


@pytest.fixture(scope="module")
def import_of_faults(tmp_path_factory):
    """One import of a folder that has every fault, each in a folder of its name."""
    folder = tmp_path_factory.mktemp("import")
    project, faulty = empty_project(folder / "project"), folder / "faulty"
    for name, (alteration, _) in FAULTS.items():
        (faulty / name / PLACE).parent.mkdir(parents=True)
        shutil.copy(PUBLISHED / PLACE, faulty / name / PLACE)
        change(faulty / name / PLACE, alteration)
    code, text = run(project, faulty)
    assert code == 1
    assert {path.name for path in project.iterdir()} == {"config.yaml", "Snakefile"}
    return faulty, text.splitlines()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_record_is_left_and_named(import_of_faults, fault) -> None:
    folder, lines = import_of_faults
    start = f"left          {folder / fault / PLACE} "
    (line,) = [line for line in lines if line.startswith(start)]
    assert FAULTS[fault][1] in line


def test_every_fault_is_counted(import_of_faults) -> None:
    assert import_of_faults[1][-1] == f"taken 0, already here 0, left {len(FAULTS)}"


def test_a_cell_that_the_config_has_not(project, one) -> None:
    def other_variant(content):
        content["cell"]["variant"] = content["settings"]["variant"] = "w2-0.11"

    change(one, other_variant)
    one.parent.rename(one.parent.with_name("w2-0.11"))
    code, text = run(project, one.parents[1])
    assert code == 1
    assert "'w2-0.11' is unknown (did you mean 'w2-0.1" in text


def test_a_record_runs_no_code_of_its_own(project, one) -> None:
    (one.parent / "boom.py").write_text("open('boom', 'w')")
    change(one, alter("settings/method", str(one.parent / "boom"), as_it_is=True))
    code, text = run(project, one.parent)
    assert (code, "is not the name of a method" in text) == (1, True)
    assert not (project / "boom").exists()


def test_what_cannot_be_read_stops_nothing_else(project, one) -> None:
    folder = one.parent
    (folder / "seed1.json").symlink_to("seed1.json")
    (folder / "seed2.json").write_bytes(b"\xff half a rec")
    os.mkfifo(folder / "seed3.json")
    (folder / "again").symlink_to(folder.parent)
    (folder / "seed0-0123.json").write_text("a run with `--set`")
    code, text = run(project, folder)
    assert (code, text.splitlines()[-1]) == (1, "taken 1, already here 0, left 5")
    for words in ("seed1.json cannot be read: Too many levels", "seed2.json is not a valid record",
                  "seed3.json is not a file", "again is a link to a folder above it",
                  "seed0-0123.json is not named seed<N>.json"):  # fmt: skip
        assert words in text


def test_a_folder_that_is_none_or_has_nothing(project, other) -> None:
    code, text = run(project, other.with_name("othr"))
    assert (code, "is not a folder (did you mean 'other'?)" in text) == (2, True)
    code, text = run(project, project)
    assert (code, "has no seed<N>.json" in text) == (2, True)


# --- other presets, conflicts, duplicates ------------------------------------------------------


def test_records_of_another_preset_are_no_fault(project, other) -> None:
    code, text = run(project, other, preset="tenth")
    assert code == 0
    assert "3 records of preset 'paper': `--preset paper` imports them" in text
    assert text.splitlines()[-1] == "taken 0, already here 0, left 3"
    assert not (project / "paper_figures").exists()


@pytest.mark.parametrize(
    ("alteration", "code", "words"),
    [
        (alter("accuracy/1/0", 0.25), 1, "AA 0."),
        (alter("settings/precision", "bfloat16"), 1, ", bfloat16 there, AA"),
        (alter("timing/train_seconds", 1.0), 0, "(same numbers)"),
        (alter("environment/device", "another"), 0, "(same numbers)"),
    ],
)
def test_a_record_that_is_here_is_never_overwritten(project, one, alteration, code, words) -> None:
    assert run(project, one.parent)[0] == 0
    before = contents(project)
    change(one, alteration)
    found, text = run(project, one.parent)
    assert (found, words in text) == (code, True), text
    assert contents(project) == before


def test_a_damaged_record_here_is_not_overwritten_either(project, one) -> None:
    here = project / BELOW / PLACE
    here.parent.mkdir(parents=True)
    here.write_text("half a rec")
    code, text = run(project, one.parent)
    assert (code, "a record is here, but" in text) == (1, True)
    assert here.read_text() == "half a rec"


def test_a_run_that_is_being_trained_here_is_left(project, one) -> None:
    place = project / BELOW / PLACE
    with holds.hold(project / "results/seed0.lock", place, print):
        code, text = run(project, one.parent)
    assert (code, f"process {os.getpid()} on" in text) == (1, True)
    assert not place.exists()


@pytest.mark.parametrize("differ", [True, False])
def test_two_files_of_one_run(project, one, differ) -> None:
    second = one.parents[5] / "copy" / PLACE
    second.parent.mkdir(parents=True)
    shutil.copy(one, second)
    if differ:
        change(second, alter("accuracy/1/0", 0.25))
    code, text = run(project, one.parents[5])
    assert str(one) in text
    assert str(second) in text
    counts = "taken 0, already here 0, left 2" if differ else "taken 1, already here 1, left 0"
    assert (code, text.splitlines()[-1]) == (int(differ), counts)
    assert (project / BELOW / PLACE).exists() is not differ
