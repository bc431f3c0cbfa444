"""docs/findings.md and the README's result: in step with their templates and the records."""

import shutil

import pytest
from made_records import make_record, matrix, store

from eowm.analysis import findings
from eowm.errors import ConfigError
from eowm.paths import CHECKOUT as ROOT
from eowm.settings.config import Config, load_config


@pytest.fixture(scope="module")
def config() -> Config:
    """The whole grid, as committed."""
    return load_config(ROOT / "config.yaml")


def test_the_pages_are_up_to_date(config) -> None:
    for path, text in findings.render(config, ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `eowm findings`"


@pytest.fixture(scope="module")
def numbers(config) -> findings.Numbers:
    return findings.Numbers(config, ROOT)


def test_numbers_are_those_of_the_records(config, tmp_path) -> None:
    """EOWM 0.5 and 0.6, OWM 0.4 twice; the t-quantile of two values is 12.7062."""
    eowm, owm = "table2/cifar10-5/eowm", "table2/cifar10-5/owm"
    for cell, accuracies in ((eowm, (0.5, 0.6)), (owm, (0.4, 0.4))):
        for seed, accuracy in enumerate(accuracies):
            made = make_record(config, cell, seed, accuracy=matrix(5, accuracy, 0.0))
            store(made, tmp_path / "paper_figures/paper/records")
    numbers = findings.Numbers(config, tmp_path)
    assert numbers.aa(eowm) == "0.5500 ± 0.6353 (2)"
    assert numbers.mrr(owm) == "1.0000 ± 0.0000 (2)"
    assert numbers.difference(eowm, owm) == "+0.1500 [−0.4853, +0.7853], n = 2"
    assert numbers.paper(eowm) == "0.8223"
    assert numbers.paper_difference(eowm, owm) == "+0.2907"
    assert numbers.beside(owm) == "0.4000 ± 0.0000 (2) ≠ 0.5316"
    assert numbers.beside("table2/cifar10-5/ewc") == "not run / 0.1879"
    assert numbers.scenarios("eowm", "owm") == [("cifar10-5", "CIFAR-10 (5 tasks)")]


def test_a_run_with_other_settings_counts_as_not_run(config, tmp_path) -> None:
    made = make_record(config, "table2/cifar10-5/owm", overrides={"epochs": 1})
    store(made, tmp_path / "paper_figures/paper/records")
    assert findings.Numbers(config, tmp_path).aa("table2/cifar10-5/owm") == "not run"


def test_every_number_of_the_paper_has_one_verdict(numbers) -> None:
    verdicts = ("replicated", "close", "not replicated", "not comparable")
    assert sum(numbers.count(verdict) for verdict in verdicts) == numbers.count() == 140


def test_a_reduced_budget_is_marked(numbers) -> None:
    assert numbers.aa("table2/cifar100-2/eowm", preset="tenth").endswith(" ʳ")


def test_an_unknown_cell_is_refused_by_name(config, tmp_path) -> None:
    (tmp_path / "docs").mkdir()
    template = '{{ aa("table2/cifar10-5/eovm") }}'
    (tmp_path / "docs/findings.md.j2").write_text(template)
    with pytest.raises(ConfigError, match=r"'table2/cifar10-5/eovm'.*'table2/cifar10-5/eowm'"):
        findings.render(config, tmp_path)


@pytest.mark.parametrize("other", ["aa", "mrr", "paper"])
def test_an_unknown_cell_is_refused_everywhere(numbers, other) -> None:
    with pytest.raises(ConfigError, match="table2/nowhere/owm"):
        getattr(numbers, other)("table2/nowhere/owm")
    for ask in (numbers.difference, numbers.paper_difference):
        with pytest.raises(ConfigError, match="table2/nowhere/owm"):
            ask("table2/cifar10-5/owm", "table2/nowhere/owm")


def test_a_readme_without_the_marks_is_refused(config, tmp_path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for name in ("paper", "tenth"):
        folder = f"paper_figures/{name}/records"
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "README.md").write_text("# EOWM")
    with pytest.raises(ConfigError, match="lacks the two lines"):
        findings.render(config, tmp_path)
