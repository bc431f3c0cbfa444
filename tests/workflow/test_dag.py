"""The DAG of the whole smoke grid: planned quickly; built once, then asked what it would redo.

The tests of this file run in order and share one project folder.
"""

import json
import re
import resource
import shutil
import sys
import zipfile

import pytest
from project import Project, jobs

from eowm import records
from eowm.paths import CHECKOUT as ROOT


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    return Project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def built(project):
    result = project.snakemake()
    assert result.returncode == 0, result.stdout
    return project


def test_every_cell_is_a_named_target(project, config) -> None:
    listed = project.snakemake("--list-target-rules").stdout.split()
    assert {cell.rule for cell in config.cells("smoke")} <= set(listed)


def test_the_papers_dag_is_planned_and_its_cells_are_listed_in_no_time(project) -> None:
    """Below 10 and 2 seconds of a core, because the machine may be busy; nothing is written."""

    def files() -> set:
        every = project.folder.rglob("*")
        return {path for path in every if not {".snakemake", "__pycache__"} & {*path.parts}}

    found = files()
    for command, limit in (
        (["snakemake", "-n", "--quiet", "--config", "preset=paper"], 10),
        ([sys.executable, "-m", "eowm", "cells", "--preset", "paper"], 2),
    ):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert project.run(*command).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < limit
    assert files() == found


@pytest.mark.parametrize("profile", [path.name for path in sorted((ROOT / "profiles").iterdir())])
def test_every_profile_plans_with_limits_for_each_run(project, profile) -> None:
    name = "table2_cifar10-5_owm"
    result = project.run("snakemake", "-n", name, "--workflow-profile", f"profiles/{profile}",
                         "--configfile", "standin.yaml")  # fmt: skip
    assert result.returncode == 0, result.stdout
    limits = re.search(rf"rule train_{name}:.*?resources: (.*?)$", result.stdout, re.S | re.M)[1]
    for wanted in (r"mem_mb=\d+", r"runtime=\d+", r"gpu=1"):
        assert re.search(wanted, limits), limits


@pytest.mark.slow
def test_the_whole_dag_builds_every_output(built, config) -> None:
    out = built.folder / "paper_figures/smoke"
    for name in ["tables/table2.csv", "tables/table2.md", "tables/table2.tex",
                 "figures/figure3.pdf", "figures/figure3.png", "notebooks/table2.ipynb",
                 "notebooks/table2.html", "notebooks/figure3.html", "report/index.html",
                 "results.csv"]:  # fmt: skip
        assert (out / name).stat().st_size > 0, name
    found = {record.cell.name: record for _, record in records.read_all(out / "records")}
    assert found.keys() == {cell.name for cell in config.cells("smoke")}
    assert all(record.complete for record in found.values())
    assert not any(record.data.comparable for record in found.values())
    page = (out / "tables/table2.md").read_text().lower()
    assert "stand-in" in page
    assert "reduced" in page


@pytest.mark.slow
def test_snakemakes_own_report_needs_no_network(built) -> None:
    result = built.run("snakemake", "--report", "report.zip", "--configfile", "standin.yaml",
                       timeout=900)  # fmt: skip
    assert result.returncode == 0, result.stdout
    with zipfile.ZipFile(built.folder / "report.zip") as archive:
        names = " ".join(archive.namelist())
    for name in ("table2.csv", "figure3.png", "table2.html", "index.html"):
        assert name in names


@pytest.mark.slow
def test_a_comment_or_faster_products_retrain_nothing(built) -> None:
    file = built.folder / "eowm/methods/owm/method.py"
    file.write_text(file.read_text() + "\n# a remark\n")
    assert "Nothing to be done" in built.snakemake().stdout
    faster = ["-n", "-p", "--config", "jobs={precision: bfloat16, threads: 2}"]
    assert "Nothing to be done" in built.snakemake(*faster).stdout
    again = built.snakemake("--forcerun", "train_table2_shuffled-mnist-3_finetune", *faster).stdout
    assert "shuffled-mnist-3/finetune --seeds 0" in again
    assert "--precision" not in again  # jobs read it from the config
    assert "--threads 2" in again


@pytest.mark.slow
def test_other_drawing_code_redraws_and_retrains_nothing(built) -> None:
    file = built.folder / "eowm/analysis/style.py"
    before = file.read_text()
    file.write_text(before + "\n# a remark\n")
    planned = jobs(built.snakemake("-n").stdout)
    file.write_text(before)
    assert not {rule for rule in planned if rule.startswith(("train_", "fetch"))}
    assert {"collect", "table2", "theorems", "figure3", "report"} <= planned.keys()


@pytest.mark.slow
def test_a_changed_setting_retrains_its_cells_and_redraws(built, config) -> None:
    file = built.folder / "config.yaml"
    before = file.read_text()
    file.write_text(before.replace("batch_size: 64", "batch_size: 60"))  # OWM on CIFAR-10
    smoke_sets_its_own = built.snakemake("-n")
    assert "Nothing to be done" in smoke_sets_its_own.stdout
    file.write_text(before.replace("alpha: {fc: [1, 1]}", "alpha: {fc: [1, 0.5]}", 1))
    planned = jobs(built.snakemake("-n").stdout)
    file.write_text(before)
    of_owm = {f"train_{cell.rule}" for cell in config.cells("smoke") if cell.method == "owm"}
    assert {rule for rule in planned if rule.startswith("train_")} == of_owm
    assert {"collect", "table2", "figure3", "report"} <= planned.keys()


@pytest.mark.slow
def test_a_missing_record_is_trained_again_alone(built) -> None:
    path = built.folder / "paper_figures/smoke/records/table2/shuffled-mnist-3/owm/seed0.json"
    before = json.loads(path.read_text())
    path.unlink()
    result = built.snakemake("table2_shuffled-mnist-3_owm")
    assert result.returncode == 0, result.stdout
    after = json.loads(path.read_text())
    assert after["accuracy"] == before["accuracy"]
    assert jobs(result.stdout)["total"] == 2  # the run and its target


@pytest.mark.slow
def test_records_of_a_fresh_clone_are_not_trained_again(built, tmp_path) -> None:
    clone = Project(tmp_path)
    records_folder = "paper_figures/smoke/records"
    shutil.copytree(built.folder / records_folder, clone.folder / records_folder)
    (clone.folder / records_folder / "table2/cifar10-5/joint/seed0.json").unlink()
    planned = jobs(clone.snakemake("-n").stdout)
    assert {rule for rule in planned if rule.startswith(("train_", "fetch"))} == {
        "fetch", "train_table2_cifar10-5_joint",
    }  # fmt: skip
    assert planned["fetch"] == 1


@pytest.mark.slow
def test_drawing_from_existing_records_trains_nothing(built) -> None:
    path = built.folder / "paper_figures/smoke/records/table2/cifar100-20/joint/seed0.json"
    content = path.read_text()
    path.unlink()
    result = built.snakemake("figures", "--config", "records=existing")
    assert result.returncode == 0, result.stdout
    assert not any(rule.startswith("train_") for rule in jobs(result.stdout))
    assert "not run" in (built.folder / "paper_figures/smoke/tables/table2.md").read_text()
    path.write_text(content)


def test_a_bad_config_is_refused_before_anything_runs(project) -> None:
    """tests/test_faults.py has all kinds."""
    (project.folder / "bad.yaml").write_text("preset: quik")
    result = project.run("snakemake", "-n", "--configfile", "bad.yaml")
    assert result.returncode != 0
    assert "did you mean 'quick'" in result.stdout
