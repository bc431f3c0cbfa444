"""The published numbers: not changed by accident, and equal to the paper's own source."""

import hashlib
import os
import re
from pathlib import Path

import pytest

from eowm import paper, paths

SHA256 = {
    "table1.csv": "8876666388d3b98ddb023c85e470606aa8055afc3543dde522cce9c4846d407d",
    "table2.csv": "c48209fdd32e11238617905b7eaac79b77058cd1979dc500013f5146109b38e8",
    "table3.csv": "bf35488041b08355a1b7a5363770e8df80feb9385d7c4d322569002481a357ab",
}
METHODS = {"EWC": "ewc", "PGMA": "pgma", "OGD": "ogd", "OGD+": "ogd-plus", "OWM": "owm",
           "ER-MIR": "er-mir", "AE-MIR": "ae-mir", "Our EOWM": "eowm"}  # fmt: skip
SETTINGS = {"Epochs each task": "epochs", "Batch size": "batch_size", "$r$": "r",
            "Learning rate": "learning_rate", r"$\alpha$": "alpha", r"$\beta$": "beta"}  # fmt: skip
FAMILIES = {"Shuffled MNIST": "shuffled-mnist", "CIFAR-10": "cifar10", "CIFAR-100": "cifar100"}


@pytest.mark.parametrize("name", SHA256)
def test_numbers_are_as_transcribed(name):
    assert hashlib.sha256((paper.FOLDER / name).read_bytes()).hexdigest() == SHA256[name]


def paper_source() -> str:
    given = os.environ.get("EOWM_PAPER_TEX")
    path = Path(given) if given else paths.ROOT.parent / "shared" / "paper" / "eowm-paper.tex"
    if not path.is_file():
        pytest.skip("the paper's LaTeX source is not at hand; set EOWM_PAPER_TEX to its path")
    return path.read_text()


def table_source(label: str) -> str:
    return re.search(rf"\\label\{{{label}\}}(.*?)\\end\{{table", paper_source(), re.S)[1]


def cells(line: str) -> list[str]:
    """The cells of one table row without their markup; commands with one argument keep it."""
    text = re.sub(r"\\(?:textbf|multirow\{\d\}\{\*\})\{([^{}]*)\}", r"\1", line)
    return [cell.strip() for cell in text.removesuffix(r"\hline").strip()[:-2].split("&")]


def test_table1_equals_the_papers_source():
    source = table_source("tab4_1")
    families = [FAMILIES[name] for name in re.findall(r"Shuffled MNIST|CIFAR-\d+", source)]
    assert len(families) == 3
    read = []
    for line in source.splitlines():
        row = cells(line)
        if row[0] in SETTINGS:
            for family, value in zip(families, row[1:], strict=True):
                numbers = [float(number) for number in re.findall(r"[\d.]+", value)]
                read.append([SETTINGS[row[0]], family, numbers[0], numbers[-1]])
    assert read == paper.table1().values.tolist()


def test_table2_equals_the_papers_source():
    source = table_source("tab4_2")
    titles = re.findall(r"@\{\}\}([\w -]+?)\\\\ \((\d+) tasks\)", source)
    scenarios = [f"{FAMILIES[name]}-{tasks}" for name, tasks in titles]
    assert len(scenarios) == 8

    read, metric = [], ""
    for line in source.splitlines():
        row = cells(line)
        if len(row) == 10 and row[1] in METHODS:
            metric = row[0] or metric
            for scenario, value in zip(scenarios, row[2:], strict=True):
                read.append(f"{metric},{METHODS[row[1]]},{scenario},{value}")
    assert read == (paper.FOLDER / "table2.csv").read_text().splitlines()[1:]


def test_table3_equals_the_papers_source():
    numbers = re.findall(r"^(AA|MRR) *&[^&]*&([^\\]*)\\\\", table_source("tab4_3"), re.M)
    scenarios = ["shuffled-mnist-2"] * 2 + ["disjoint-mnist-2"] * 2
    read = []
    for scenario, (metric, row) in zip(scenarios, numbers, strict=True):
        scale = 100 if metric == "AA" else 1
        for w2, value in zip((0.05, 0.1, 0.15), row.split("&"), strict=True):
            read.append([metric, scenario, w2, pytest.approx(float(value) / scale)])
    assert paper.table3().values.tolist() == read
