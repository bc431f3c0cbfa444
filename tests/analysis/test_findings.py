"""docs/findings.md and docs/evidence.md: from the records alone, and in step with them."""

import json
import math
import shutil
from pathlib import Path

import pytest
from conftest import make_record, matrix, store

from eowm.analysis import findings, results
from eowm.errors import ConfigError
from eowm.paths import CHECKOUT as ROOT
from eowm.records import metrics
from eowm.settings.config import Config, load_config

FOLDER = ROOT / "paper_figures" / "paper"


@pytest.fixture(scope="module")
def config() -> Config:
    """The whole grid, as committed."""
    return load_config(ROOT / "config.yaml")


def written(folder: Path, config: Config) -> str:
    """Both pages, one after the other."""
    return "\n".join(findings.render(folder, config, "paper").values())


def test_the_pages_are_what_the_records_say(config) -> None:
    for name, text in findings.render(FOLDER, config, "paper").items():
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert page == text, "run: eowm findings"


def test_the_findings_fit_on_two_pages(config) -> None:
    """Printed with 9.5-point letters, tables with 8, two sheets of A4 hold about 1,700 words."""
    assert len(findings.render(FOLDER, config, "paper")["findings.md"].split()) < 1750


def test_the_readme_shows_the_result(config) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert page == findings.in_readme(page, FOLDER, config, "paper"), "run: eowm findings"
    block = page.partition(findings.BLOCK[0])[2].partition(findings.BLOCK[1])[0]
    assert "EOWM's gain over OWM" in " ".join(block.split())
    with pytest.raises(ConfigError, match="no place"):
        findings.in_readme("# EOWM", FOLDER, config, "paper")


@pytest.fixture
def copied(tmp_path) -> Path:
    for name in ("records", "tables"):
        shutil.copytree(FOLDER / name, tmp_path / name)
    return tmp_path


def change(folder: Path, cell: str, by: float, rows: slice) -> None:
    """Another accuracy on all tasks after some of them, in every run of a cell."""
    for path in (folder / "records" / cell).glob("seed*.json"):
        record = json.loads(path.read_text())
        record["accuracy"][rows] = [[a + by for a in row] for row in record["accuracy"][rows]]
        record["metrics"] = metrics.all_metrics(record["accuracy"])
        path.write_text(json.dumps(record))


def test_another_accuracy_changes_its_numbers_and_no_other(config, copied) -> None:
    before = written(copied, config).splitlines()
    change(copied, "table3/disjoint-mnist-2/eowm:w2-0.30", -0.01, slice(0, 1))
    after = written(copied, config).splitlines()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1
    assert changed[0].startswith("| 0.30 |")


def test_a_gain_would_be_told(config, copied) -> None:
    """What is said of a missing gain stands only while there is none."""
    of_q = "EOWM's AA is above that of its control, by the 95 % interval, on:"
    none, missing = f"{of_q} none of the ", "No effect of Q is seen"
    now = written(copied, config)
    assert (none in now) == (missing in now)
    change(copied, "table2/shuffled-mnist-10/eowm", 0.02, slice(None))
    then = written(copied, config)
    assert none not in then
    assert missing not in then
    assert f"{of_q} Shuffled MNIST (10 tasks)." in then
    assert "replicates in part: its average accuracy is higher" in then
    gain = "above our interval by more than 0.001 on: Shuffled MNIST (10 tasks)."
    assert (gain in now, gain in then) == (True, False)


def test_a_harm_of_q_would_not_be_called_no_effect(config, copied) -> None:
    change(copied, "table2/shuffled-mnist-10/eowm", -0.02, slice(None))
    page = written(copied, config)
    assert "No effect of Q is seen" not in page
    assert "It is below its control on: Shuffled MNIST (10 tasks)." in page


def test_a_row_without_a_run_is_named_and_one_with_other_settings_does_not_count(
    config, tmp_path
) -> None:
    for seed, cell, how in (
        (0, "table2/shuffled-mnist-3/owm", {}),
        (0, "table2/shuffled-mnist-3/eowm", {"overrides": {"epochs": 1}}),
    ):
        store(make_record(config, cell, seed, accuracy=matrix(3, 0.9, 0.0), **how),
              tmp_path / "records")  # fmt: skip
    page = written(tmp_path, config)
    assert "| OWM | 0.9000 (1) ≠ 0.9834 |" in page
    assert "| EOWM | not run, 0.9832 |" in page
    assert "| PGMA | not run, 0.9814 |" in page


def test_a_published_number_above_joint_training_is_told(config, tmp_path) -> None:
    """The paper has 0.8223 for EOWM on CIFAR-10 and 0.5316 for OWM."""
    told = "CIFAR-10 (5 tasks): the paper's EOWM (0.8223) above our joint training, 0.7500 (1) |"
    assert told not in written(tmp_path, config)
    accuracy = matrix(5, 0.75, 0.0, "joint")
    store(make_record(config, "table2/cifar10-5/joint", accuracy=accuracy), tmp_path / "records")
    assert told in written(tmp_path, config)


def test_numbers_above_joint_training_on_similar_tasks_are_told(config, tmp_path) -> None:
    """The paper's 0.9814, 0.9834 and 0.9832 on three tasks."""
    told = "the paper's PGMA (0.9814), OWM (0.9834), EOWM (0.9832) above our joint training"
    for seed, accuracy in enumerate((0.974, 0.975, 0.976)):
        record = make_record(config, "table2/shuffled-mnist-3/joint", seed,
                             accuracy=[None, None, [accuracy] * 3])  # fmt: skip
        store(record, tmp_path / "records")
        assert (told in written(tmp_path, config)) == (seed > 0)  # an interval
    assert told in written(tmp_path, config)


def test_a_reduced_budget_stands_apart(config, tmp_path) -> None:
    for preset in ("paper", "tenth"):
        (tmp_path / preset / "records").mkdir(parents=True)
    for row, start in (("owm", 0.32), ("eowm", 0.33)):
        cell, accuracy = f"table2/cifar100-2/{row}", matrix(2, start, 0.02)
        record = make_record(config, cell, preset="tenth", accuracy=accuracy)
        store(record, tmp_path / "tenth" / "records")
    page = written(tmp_path / "paper", config)
    apart = page.partition("### With fewer epochs")[2].partition("\n## ")[0]
    assert "| OWM | 3 of 30 | 0.3100 (1) | 0.9375 (1) | 0.3200 (1) |" in apart
    assert page.count("0.3100") - 1 == apart.count("0.3100") == 1
    difference = "CIFAR-100 (2 tasks): EOWM − OWM is +0.0100, one pair"
    assert difference in apart
    told = "EOWM 0.3200 (1), OWM 0.3100 (1)."
    assert f"on CIFAR-100 (2 tasks): {told}" in page.partition("# The evidence")[0]
    assert "There is no result yet" in page


def test_choices_are_ordered_by_what_they_do(config, copied) -> None:
    now = written(copied, config)
    section = now.partition("## What the paper leaves open")[2].partition("\n## ")[0]
    lines = [line.split("|") for line in section.splitlines() if " tasks) | " in line]
    effects = [abs(float(line[4].strip() or line[5])) for line in lines]  # AA, or MRR alone
    assert effects == sorted(effects, reverse=True)
    assert effects[-1] >= findings.LARGE
    places = [(line[1], line[3]) for line in lines]
    assert len(places) == len(set(places)) > 1


def test_without_records_no_number_is_shown(config, tmp_path) -> None:
    (tmp_path / "records").mkdir()
    text = written(tmp_path, config)
    assert "There is no result yet" in text
    assert "| EWC |" not in text
    assert "No effect of Q is seen" not in text


def test_the_share_of_q_is_a_few_hundredths_at_most(config) -> None:
    """By hand, for dissimilar tasks at s = −0.05 and p = 1: 1 − c1 = 0.01 e⁻⁰·⁰⁵/(e⁻⁰·⁰⁵ − 0.05).
    Similar ones at s = 1: c1 = (1 + 0.99 e)/(1 + e), c2 = (1 − c1)(1 − 2⁻¹⁰)."""
    numbers = findings.Numbers(None, None, config)
    lost = 0.01 * math.exp(-0.05) / (math.exp(-0.05) - 0.05)
    largest = lost * (1 + 0.95**-5) / (1 - lost)
    assert numbers.largest_share("cifar10-5") == pytest.approx(largest)
    assert 0.024 < largest < 0.025
    share = numbers.largest_share("shuffled-mnist-10")
    c1 = (1 + 0.99 * math.e) / (1 + math.e)
    assert (1 - c1) * (1 - 2**-10) / c1 <= share < 0.01 / 0.99


@pytest.mark.parametrize(("told", "explains"), [(0.83, True), (0.78, False)])
def test_a_number_above_joint_training_may_be_one_with_the_task_known(
    config, tmp_path, told, explains
) -> None:
    joint = make_record(config, "table2/cifar10-5/joint", accuracy=[None] * 4 + [[0.76] * 5])
    found = make_record(config, "table2/cifar10-5/eowm", accuracy=matrix(5, 0.5, 0.0))
    found = found.model_copy(update={"task_known": matrix(5, told, 0.0)})
    for record in (joint, found):
        store(record, tmp_path / "records")
    page = written(tmp_path, config)
    assert f"| AA with the task known: EOWM {told:.4f} (1) |" in page
    assert f"| EOWM | {told:.4f} (1) | 1.0000 (1) | 0.8223 | 0.8649 |" in page
    assert ("perhaps the task was known at test" in page) == explains


def test_the_paper_implies_how_well_a_task_is_learnt(config) -> None:
    """All tasks alike: 0.9 right after each, 80 % of it kept."""
    numbers = findings.Numbers.of(results.collect(FOLDER / "records", config, "paper"), config)
    assert numbers.implied_plasticity("table2/cifar10-5/eowm") == pytest.approx(0.9220, abs=1e-4)
    alike = numbers.summary.assign(paper=numbers.summary.metric.map({"AA": 0.756, "MRR": 0.8}))
    made_up = findings.Numbers(numbers.runs, alike, config)
    assert made_up.implied_plasticity("table2/cifar10-5/owm") == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("learnt", "kept", "told"),
    [
        (0.50, 0.71, "learns less"),
        (0.69, 0.10, "forgets more"),
        (0.50, 0.10, "learns less; forgets more"),
        (0.90, 0.90, "learns more; forgets less"),
        (0.68, 0.69, "neither learning nor forgetting alone explains it"),
    ],
)
def test_a_row_apart_from_the_paper_learns_or_forgets_otherwise(
    config, tmp_path, learnt, kept, told
) -> None:
    """The paper's OWM on CIFAR-10 learns 0.693 and keeps 0.7083 of it, by its AA and MRR."""
    accuracy = [[learnt * (1 if j == i else kept) if j <= i else 0.1 for j in range(5)]
                for i in range(5)]  # fmt: skip
    store(make_record(config, "table2/cifar10-5/owm", accuracy=accuracy), tmp_path / "records")
    numbers = findings.Numbers.of(results.collect(tmp_path / "records", config, "paper"), config)
    found = numbers.apart("cifar10", "owm")
    assert found is not None
    assert found.tasks == (5,)
    assert found.effects() == told
    assert found.learnt_numbers() == f"{learnt:.3f}; 0.693"
    assert found.scenarios == ["cifar10-5"]
    assert numbers.differences() == [found]


def test_effects_name_the_tasks_where_they_are_not_everywhere() -> None:
    found = findings.Apart(
        family="shuffled-mnist",
        row="er-mir",
        tasks=(3, 10, 20),
        learnt=((0.8, 0.9), (0.8, 0.9), (0.8, 0.9)),
        kept=((0.9, 0.8), (0.8, 0.8), (0.6, 0.8)),
    )
    assert found.effects() == "learns less; forgets more (20 tasks); forgets less (3 tasks)"


def test_a_test_of_an_explanation_stands_beside_the_difference(config, tmp_path) -> None:
    """EWC far from the paper's 0.8820, and once more with one anchor."""
    cells = "table2/shuffled-mnist-10/ewc", "table2/shuffled-mnist-10/ewc:online"
    ours, other = (
        make_record(config, cell, accuracy=matrix(10, accuracy, 0.0))
        for cell, accuracy in zip(cells, (0.5, 0.7), strict=True)
    )
    apart = other.cell.model_copy(update={"table": "other"})  # in no table
    for record in (ours, other.model_copy(update={"cell": apart})):
        store(record, tmp_path / "records")
    page = written(tmp_path, config)
    told, numbers = (at for at in page.splitlines() if at.startswith("| EWC, Shuffled MNIST (10 "))
    assert told.endswith("| one anchor, at the latest weights: yes (10 tasks) |")
    tried = "(`ewc:online`): learnt 0.700; AA 0.7000 (1); MRR 1.0000 (1) (10 tasks) |"
    assert numbers.endswith(tried)


@pytest.mark.parametrize(("last", "told"), [(0.9395, ["EWC"]), (0.8, [])])
def test_a_published_row_that_is_fine_tuning_is_named(config, tmp_path, last, told) -> None:
    """The paper's EWC on CIFAR-10: AA 0.1879 and MRR 0, as of a net that knows the last task."""
    accuracy = [[last if j == i else 0.0 for j in range(5)] for i in range(5)]
    record = make_record(config, "table2/cifar10-5/finetune", accuracy=accuracy)
    store(record, tmp_path / "records")
    numbers = findings.Numbers.of(results.collect(tmp_path / "records", config, "paper"), config)
    assert [name for name, _ in numbers.no_better_than_finetuning("cifar10-5")] == told
    page = written(tmp_path, config)
    assert ("the paper's EWC matches our fine-tuning" in page) == bool(told)


def test_a_row_near_the_paper_is_not_apart(config, tmp_path) -> None:
    accuracy = [[0.693 * (1 if j == i else 0.7083) if j <= i else 0.1 for j in range(5)]
                for i in range(5)]  # fmt: skip
    store(make_record(config, "table2/cifar10-5/owm", accuracy=accuracy), tmp_path / "records")
    numbers = findings.Numbers.of(results.collect(tmp_path / "records", config, "paper"), config)
    assert numbers.apart("cifar10", "owm") is None
    assert numbers.apart("cifar10", "ewc") is None


def test_a_family_is_not_mistaken_for_one_with_a_longer_name(config, tmp_path) -> None:
    """cifar10 and cifar100."""
    accuracy = matrix(2, 0.9, 0.0)
    store(make_record(config, "table2/cifar100-2/owm", accuracy=accuracy), tmp_path / "records")
    numbers = findings.Numbers.of(results.collect(tmp_path / "records", config, "paper"), config)
    assert numbers.apart("cifar10", "owm") is None
    assert [found.scenarios for found in numbers.differences()] == [["cifar100-2"]]


def test_a_cell_whose_runs_scatter_is_marked(config, tmp_path) -> None:
    """Nothing can be said of the paper's 0.5316 by 0.3 and 0.7."""
    for seed, accuracy in ((0, 0.3), (1, 0.7)):
        found = matrix(5, accuracy, 0.0)
        store(make_record(config, "table2/cifar10-5/owm", seed, accuracy=found),
              tmp_path / "records")  # fmt: skip
    page = written(tmp_path, config)
    line = next(line for line in page.splitlines() if line.startswith("| OWM | 0.5000 ±"))
    assert line.endswith(" (2) ? 0.5316 |")
    assert "| EWC | not run, 0.1879 |" in page


def test_a_number_of_rounded_products_says_so_beside_the_same_run_without(config, tmp_path) -> None:
    """Joint training on CIFAR-100 with bfloat16 alone, on CIFAR-10 in both ways."""
    cells = "table2/cifar100-2/joint", "table2/cifar10-5/joint", "table2/cifar10-5/joint"
    for cell, accuracy, table, precision in zip(
        cells, (0.6, 0.7, 0.71), ("table2", "table2", "other"),
        ("bfloat16", "float32", "bfloat16"), strict=True,
    ):  # fmt: skip
        tasks = int(cell.split("/")[1][-1])
        made = make_record(config, cell, accuracy=matrix(tasks, accuracy, 0.0, "joint"))
        place = made.cell.model_copy(update={"table": table})
        environment = {"precision": precision}
        made = made.model_copy(update={"cell": place, "environment": environment})
        store(made, tmp_path / "records")
    pages = findings.render(tmp_path, config, "paper")
    assert "joint training 0.6000 (1) ᵇ." in pages["findings.md"]
    above = "EOWM's 0.8223 on CIFAR-10 (5 tasks) against 0.7000."
    assert above in pages["findings.md"]
    told = "marked ᵇ here and b in the tables: Joint training on CIFAR-100 (2 tasks)."
    assert told in pages["evidence.md"]
    both = (
        "| Joint training, CIFAR-10 (5 tasks) | 0 | 0.7000 | 0.7100 | +0.0100 | n/a | n/a | n/a |"
    )
    assert both in pages["evidence.md"]


def test_a_ceiling_tells_its_best_epoch(config, tmp_path) -> None:
    """The paper's 0.8223 of EOWM is above 0.7 whichever epoch is kept."""
    epochs = [
        {"task": 5, "epoch": number, "loss": 1.0, "validation_current": 0.5, "validation_seen": 0.5,
         "test_current": 0.5, "test_seen": accuracy}
        for number, accuracy in enumerate((0.6, 0.75, 0.7), start=1)
    ]  # fmt: skip
    made = make_record(config, "table2/cifar10-5/joint", accuracy=matrix(5, 0.7, 0.0, "joint"))
    store(type(made).model_validate(made.model_dump() | {"curves": epochs}), tmp_path / "records")
    told = "the paper's EOWM (0.8223) above our joint training, 0.7000 (1), after any epoch at most"
    assert f"{told} 0.7500 |" in written(tmp_path, config)


def test_nothing_is_said_of_rounding_where_there_is_none(config, tmp_path) -> None:
    store(make_record(config, "table2/cifar10-5/joint"), tmp_path / "records")
    assert "bfloat16" not in written(tmp_path, config)


def test_epochs_chosen_on_test_images_stand_beside_the_last_ones(config, tmp_path) -> None:
    """The control too: its name has a variant of its own."""
    cells = {
        "table2/cifar10-5/eowm": 0.5,
        "table2/cifar10-5/owm:matched": 0.45,
        "selection/cifar10-5/eowm:select-test": 0.6,
        "selection/cifar10-5/owm:matched-select-test": 0.58,
    }
    for cell, accuracy in cells.items():
        made = make_record(config, cell, accuracy=matrix(5, accuracy, 0.0))
        store(made, tmp_path / "records")
    page = findings.render(tmp_path, config, "paper")["evidence.md"]
    section = page.partition("### CIFAR-10 (5 tasks) with epochs chosen on test images")[2]
    assert "| EOWM | 0.5000 (1) | 0.6000 (1) | 0.8223 | 1.0000 (1)" in section
    assert "| OWM, c1 of EOWM | 0.4500 (1) | 0.5800 (1) | – | 1.0000 (1)" in section
    assert "EOWM − its control, both so chosen: +0.0200, one pair" in section
    assert "| OWM |" not in section.partition("## Table 3")[0]
