"""CONTRIBUTING's *Try a method*, followed to the letter in a copy of the project."""

import csv
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from project import Project

from eowm.paths import CHECKOUT

FILES = ["README.md", "CONTRIBUTING.md", "tests/conftest.py", "tests/training/test_training.py"]
FOLDERS = [  # what the tests below look at
    "tests/analysis", "tests/settings", "paper_figures/paper", "paper_figures/tenth",
]  # fmt: skip
STAY_GREEN = ["analysis/test_style.py", "analysis/test_findings.py", "settings/test_config.py"]
TRAIN = ["train", "table2/shuffled-mnist-3/lwf", "--preset", "smoke"]

DRAW = """
import json, matplotlib
matplotlib.use("agg")
import eowm
from eowm.analysis import figures, report, style, tables
from eowm.analysis.summary import summarise
from eowm.settings.config import load_config

config, runs = load_config(), eowm.load("smoke")
figure = figures.figure3(runs, config)
panel = next(p for p in figure.axes if "Shuffled MNIST (3" in p.get_title(loc="left"))
colour = style.look(config, "lwf").colour
print(json.dumps({
    "table": tables.to_markdown(tables.layout(summarise(runs, config), config)),
    "legend": " ".join(text.get_text() for text in figure.legends[0].get_texts()),
    "curves": sum(line.get_color() == colour and len(line.get_xdata()) > 1 for line in panel.lines),
    "colour": colour,
    "others": [style.look(config, name).colour for name in config.methods if name != "lwf"],
    "report": report.render(runs, config, "smoke"),
}))
"""


def blocks(language: str) -> list[str]:
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


class Copy(Project):
    """The project with the method of CONTRIBUTING, inside of the package or outside."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in FILES:
            self.write(name, (CHECKOUT / name).read_text())
        for name in FOLDERS:
            shutil.copytree(CHECKOUT / name, folder / name)

    def add(self, file: str) -> None:
        method, test = blocks("python")
        self.write(file, method)
        self.write("tests/methods/test_lwf.py", test)

    def enter(self, **entry: str) -> None:
        """Its entry in config.yaml, and its row in Table 2."""
        config = yaml.safe_load((self.folder / "config.yaml").read_text())
        (text,) = blocks("yaml")
        config["methods"]["lwf"] = yaml.safe_load(text)["lwf"] | entry
        config["tables"]["table2"]["references"] += ["lwf", "lwf:strong"]
        self.write("config.yaml", yaml.safe_dump(config, sort_keys=False))

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def python(self, *arguments: str) -> str:
        done = self.run(sys.executable, "-m", *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture
def copy(tmp_path) -> Copy:
    made = Copy(tmp_path)
    made.python("eowm", "data", "fetch", "mnist", "--source", "standin")
    return made


@pytest.mark.parametrize(
    "file", ["eowm/methods/lwf.py", pytest.param("my/lwf.py", marks=pytest.mark.slow)]
)
def test_a_method_is_tried_with_three_files(copy, file) -> None:
    copy.add(file)
    copy.enter(**({} if file.startswith("eowm") else {"file": file}))
    copy.python("pytest", "tests/methods/test_lwf.py")
    resumed = copy.python("pytest", "tests/training", "-k", "interrupted and lwf")
    assert "4 passed" in resumed  # two scenarios, two ways to select an epoch

    assert "complete" in copy.python("eowm", *TRAIN)
    record = copy.folder / "paper_figures/smoke/records/table2/shuffled-mnist-3/lwf/seed0.json"
    assert json.loads(record.read_text())["settings"]["options"] == {"distillation": 1.0}
    copy.python("eowm", "collect", "--preset", "smoke")
    with (copy.folder / "paper_figures/smoke/results.csv").open() as lines:
        rows = {(run["row"], run["scenario"]): run for run in csv.DictReader(lines)}
    assert rows["lwf", "shuffled-mnist-3"]["status"] == "complete"
    assert rows["lwf", "shuffled-mnist-3"]["stale"] == "False"
    assert rows["lwf:strong", "shuffled-mnist-3"]["status"] == "not run"

    copy.write("draw.py", DRAW)
    drawn = json.loads(copy.python("draw").splitlines()[-1])
    assert "LwF" in drawn["table"]
    assert "LwF" in drawn["legend"]
    assert drawn["curves"] == 1  # of its colour, in the panel of the scenario that was trained
    assert drawn["others"].count(drawn["colour"]) == 0
    assert "Learning without Forgetting" in drawn["report"]
    copy.python("pytest", *(f"tests/{name}" for name in STAY_GREEN))


def test_a_file_is_tried_without_an_entry(copy) -> None:
    """The record's checksum of the code covers the file."""
    copy.add("my/lwf.py")
    codes = []
    for remark in ("", "# a remark\n"):
        copy.write("my/lwf.py", blocks("python")[0] + remark)
        settings = ["--set", "learning_rate=0.1", "--out", "record.json"]
        copy.python("eowm", *TRAIN, "--method-file", "my/lwf.py", *settings)
        record = json.loads((copy.folder / "record.json").read_text())
        assert record["cell"]["method"] == "lwf"
        codes.append(record["environment"]["code"])
    assert codes[0] != codes[1]
