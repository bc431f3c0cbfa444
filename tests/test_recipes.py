"""Every block of docs/recipes.md, run as it stands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eowm.paths import CHECKOUT

PAGE = (CHECKOUT / "docs/recipes.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^## (.+?)\n.*?```(python|sh)\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
TOLD = {  # what a reader looks for
    "The table of runs": "train_seconds",
    "The best method of each scenario": "shuffled-mnist-20",
    "The accuracies of one run": "[[0.9",
    "How task 1 is forgotten": "finetune [0.9",
    "The learning curve of one run": "validation_seen",
    "Two methods, compared": "True",
    "The same in a shell": "in the paper: +0.0058",
    "One run, readable": "coefficients  constant  published",
    "A picture of any cells": "curves.png",
    "Your settings beside the published ones": "reduced budget, stand-in data",
    "Records of another machine": "table2/cifar10-5/eowm",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A project with the published records, stand-in data, and records from elsewhere."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("config.yaml", "Snakefile"):
        shutil.copy(CHECKOUT / name, folder)
    published = CHECKOUT / "paper_figures/paper/records"
    (folder / "paper_figures/paper").mkdir(parents=True)
    (folder / "paper_figures/paper/records").symlink_to(published)
    shutil.copytree(published / "table2/cifar10-5", folder / "theirs/records/table2/cifar10-5")
    run(folder, "eowm data fetch mnist --source standin")
    return folder


def run(folder: Path, command: str) -> str:
    bin_ = Path(sys.executable).parent
    own = {"PATH": f"{bin_}:{os.environ['PATH']}", "PYTHONPATH": str(CHECKOUT)}
    environment = os.environ | own | {"EOWM_CACHE_DIR": str(folder / "data"), "EOWM_OUT": ""}
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_recipe_is_listed_here() -> None:
    assert [heading for heading, _, _ in RECIPES] == re.findall("^## (.+)", PAGE, re.MULTILINE)
    assert {heading for heading, _, _ in RECIPES} == TOLD.keys()


@pytest.mark.parametrize(("heading", "language", "block"), RECIPES, ids=lambda x: x[:20])
def test_a_recipe(project, monkeypatch, capsys, heading, language, block) -> None:
    if language == "sh":
        told = run(project, block)
    else:
        monkeypatch.chdir(project)
        exec(block, {})  # noqa: S102
        told = capsys.readouterr().out
    assert TOLD[heading] in told
    pictures = re.findall(r"--out (\S+\.png)", block)
    assert all((project / picture).read_bytes()[1:4] == b"PNG" for picture in pictures)
