"""A real DAG with every method once and two cells that fail; then `make cell`, `eowm cells`.

The tests of this file run in order and share one project folder.
"""

import json
import re

import pytest
import yaml
from project import SMALL, Project, jobs

from eowm.paths import CHECKOUT as ROOT

OWM, FINETUNE = "table2/shuffled-mnist-3/owm", "table2/shuffled-mnist-3/finetune"
WILD, ABLATION = "table2/shuffled-mnist-3/owm:wild", "table3/shuffled-mnist-2/eowm:w2-0.10"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Project:
    methods = yaml.safe_load((ROOT / "config.yaml").read_text())["methods"]
    methods["owm"]["variants"]["wild"] = {
        "title": "OWM <script>wild</script>", "settings": {"learning_rate": 1e30},
    }  # fmt: skip
    tables = json.loads(json.dumps(SMALL))
    tables["table2"]["methods"] = [name for name in methods if name != "finetune"]
    tables["table2"]["references"].append("owm:wild")
    return Project(
        tmp_path_factory.mktemp("project"), methods=methods, tables=tables,
        preset="smoke", data={"source": "standin"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def project(fresh) -> Project:
    """One cell diverges, and one cannot run: its checkpoint is rubbish."""
    fresh.pretend_theorems()
    rubbish = fresh.checkpoint(FINETUNE)
    rubbish.parent.mkdir(parents=True)
    rubbish.write_bytes(b"rubbish")
    fresh.replicated = fresh.make("replicate", "PRESET=smoke")
    return fresh


def states(text: str) -> dict[str, str]:
    return dict(re.findall(r"^ (table\S+) +(\D+) 0 .*make cell", text, re.M))


def test_a_failed_cell_stops_no_other_and_is_told_with_its_reason(project) -> None:
    result = project.replicated
    assert result.returncode != 0
    text = project.eowm("cells", "--preset", "smoke").stdout
    found = states(text)
    assert len(found) == 12  # ten methods, two of them with a variant
    failed = {cell for cell, state in found.items() if state != "done"}
    assert failed == {FINETUNE, WILD}
    assert "10 of 12 runs of preset 'smoke' are done" in result.stdout
    assert f"make cell CELL={FINETUNE} PRESET=smoke" in text
    assert re.search(rf"{FINETUNE} seed 0 failed: .*seed0\.pt .* is damaged", text)
    assert f"{WILD} seed 0 failed: diverged at task 1, epoch" in text
    out = project.folder / "paper_figures/smoke"
    for page in (out / "tables/table2.md", out / "report/index.html"):
        text = page.read_text()
        assert "diverged at task 1, epoch" in text
        assert "is damaged" in text
    assert "AA" in (out / "tables/table3.md").read_text()


def test_markup_from_the_config_stays_text(project) -> None:
    pages = {page.stem: page.read_text() for page in project.folder.rglob("smoke/**/*.html")}
    assert not [name for name, page in pages.items() if "<script>wild" in page]
    assert "OWM &lt;script&gt;wild" in pages["table2"]


def test_make_cell_plans_the_cell_and_what_depends_on_it(project) -> None:
    planned = jobs(project.make("cell", f"CELL={ABLATION}", "PRESET=smoke", "ARGS=-n").stdout)
    planned.pop("total")
    assert planned.keys() == {
        "train_table3_shuffled-mnist-2_eowm_w2-0.10", "collect", "report", "figures",
        "table2", "table3", "figure3", "forgetting", "cost", "claims",  # not figure2, theorems
    }  # fmt: skip
    assert set(planned.values()) == {1}


def test_make_cell_leaves_other_stale_cells_alone(project) -> None:
    file = project.folder / "config.yaml"
    before = file.read_text()
    config = yaml.safe_load(before)
    config["methods"]["owm"]["settings"]["momentum"] = 0.1
    file.write_text(yaml.safe_dump(config))
    assert states(project.eowm("cells", "--preset", "smoke").stdout)[OWM] == "stale"
    planned = jobs(project.make("cell", f"CELL={FINETUNE}", "PRESET=smoke", "ARGS=-n").stdout)
    file.write_text(before)
    assert "train_table2_shuffled-mnist-3_finetune" in planned
    assert "train_table2_shuffled-mnist-3_owm" not in planned


def test_make_cell_starts_from_the_beginning_with_the_seeds_asked_for(project) -> None:
    """The rubbish that stopped it is gone; a dry run did not touch it."""
    arguments = ("cell", f"CELL={FINETUNE}", "PRESET=smoke", "SEEDS=0,3")
    for dry_run in ("-nq", "--dryrun"):
        assert project.make(*arguments, f"ARGS={dry_run}").returncode == 0
        assert project.checkpoint(FINETUNE).exists()
    result = project.make(*arguments)
    assert result.returncode == 0, result.stdout
    trained = {rule: n for rule, n in jobs(result.stdout).items() if rule.startswith("train_")}
    assert trained == {"train_table2_shuffled-mnist-3_finetune": 2}
    assert json.loads(project.record(FINETUNE).read_text())["timing"]["interruptions"] == 0
    assert project.record(FINETUNE, seed=3).exists()
    assert f"{FINETUNE}      done 0 3" in project.eowm("cells", "--preset", "smoke").stdout
    table = (project.folder / "paper_figures/smoke/tables/table2.md").read_text()
    assert "is damaged" not in table
    assert "(2)" in table


def test_a_selection_with_seeds_of_its_own_is_planned_alone(project) -> None:
    choice = ("CELLS=table2/*/f* table3/*/*", "SEEDS=0-2", "PRESET=smoke", "ARGS=-n")
    planned = jobs(project.make("replicate", *choice).stdout)
    trained = {rule: n for rule, n in planned.items() if rule.startswith("train_")}
    assert trained == {
        "train_table2_shuffled-mnist-3_finetune": 2,  # seeds 0 and 3 are there
        "train_table3_shuffled-mnist-2_eowm_w2-0.10": 2,
    }


@pytest.mark.parametrize(
    ("cell", "word"),
    [
        ("table2/shuffled-mnist-3/own", "did you mean 'owm'"),
        ("`touch hit`;touch hit", "matches '`touch'"),
        ("", "Which cell?"),
    ],
)
def test_a_misspelt_cell_is_refused_with_the_nearest(project, cell, word) -> None:
    result = project.make("cell", f"CELL={cell}", "PRESET=smoke")
    assert result.returncode != 0
    assert word in result.stdout
    assert "Building DAG" not in result.stdout
    assert not (project.folder / "hit").exists()


def test_several_seeds_in_one_job(project) -> None:
    """As a setting: the same records, trained one after the other, and nothing becomes stale."""
    (project.folder / "together.yaml").write_text(
        "jobs: {seeds_per_job: 2}\npresets: {smoke: {seeds: [0, 3, 4]}}\n"
    )
    result = project.run("snakemake", "-n", "table2_shuffled-mnist-3_finetune",
                         "--configfile", "together.yaml")  # fmt: skip
    planned = {rule for rule in jobs(result.stdout) if rule.startswith("train_")}
    assert planned == {"train_table2_shuffled-mnist-3_finetune_seed4"}
