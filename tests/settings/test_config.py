"""What config.yaml says, and what it refuses."""

import copy
import json

import pytest
import yaml

from eowm import paper
from eowm.errors import ConfigError
from eowm.paths import CHECKOUT as ROOT
from eowm.settings.config import Config, config_schema, load_config, parse_config, parse_overrides


@pytest.fixture
def values() -> dict:
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def test_table2_has_the_papers_columns(config: Config) -> None:
    assert [cell.scenario for cell in config.cells() if cell.row == "owm"] == [
        "shuffled-mnist-3",
        "shuffled-mnist-10",
        "shuffled-mnist-20",
        "cifar10-5",
        "cifar100-2",
        "cifar100-5",
        "cifar100-10",
        "cifar100-20",
    ]


def test_paper_preset_is_the_papers_table1(config: Config) -> None:
    """Every number of Table 1 holds for EOWM in every family; nothing is shrunk."""
    for line in paper.table1().itertuples():
        cell = config.cell(f"table2/{line.family}-{config.families[line.family].tasks[-1]}/eowm")
        run = config.resolve(cell, 0, "paper")
        value = (run.training.model_dump() | run.options)[line.setting]
        values = (
            [end for ends in value.values() for end in ends] if isinstance(value, dict) else [value]
        )
        assert all(line.low <= each <= line.high for each in values), line
    run = config.resolve(config.cell("table2/cifar10-5/owm"), 0, "paper")
    assert set(run.limits.model_dump().values()) == {None}


def test_overlays_win_in_the_documented_order(values: dict) -> None:
    def epochs() -> int:
        config = parse_config(values)
        return config.resolve(config.cell("table2/cifar10-5/owm"), 0, "paper").training.epochs

    values["methods"]["owm"]["families"]["cifar10"].pop("epochs")
    assert epochs() == values["families"]["cifar10"]["settings"]["epochs"]
    values["methods"]["owm"]["settings"]["epochs"] = 7
    assert epochs() == 7
    values["methods"]["owm"]["families"]["cifar10"]["epochs"] = 8
    assert epochs() == 8
    values["presets"]["paper"]["families"] = {"cifar10": {"settings": {"epochs": 9}}}
    assert epochs() == 9
    values["presets"]["paper"]["families"]["cifar10"]["methods"] = {"owm": {"epochs": 10}}
    assert epochs() == 10
    values["presets"]["paper"]["families"]["cifar10"]["methods"] = {"finetune": {"epochs": 10}}
    assert epochs() == 9
    values["presets"]["paper"]["families"]["cifar10"]["limits"] = {"epochs": 2}
    assert epochs() == 2


def test_a_variant_changes_only_what_it_names(values: dict) -> None:
    values["methods"]["owm"]["variants"]["fast"] = {
        "title": "OWM, fast",
        "families": {"cifar10": {"alpha": {"conv": [1, 0.5]}}},
    }
    config = parse_config(values)
    plain = config.resolve(config.cell("table2/cifar10-5/owm"), 0, "paper")
    fast = config.resolve(config.cell("table2/cifar10-5/owm:fast"), 0, "paper")
    assert fast.options["alpha"] == plain.options["alpha"] | {"conv": [1.0, 0.5]}
    assert fast.training == plain.training
    assert fast.hash() != plain.hash()


def test_overrides_from_the_command_line(config: Config) -> None:
    assert parse_overrides(["a=1e3", "b=last", "c=null"]) == {"a": 1000.0, "b": "last", "c": None}
    overrides = parse_overrides(["epochs=3", "alpha.conv=[1, 0.1]", "hidden=[8, 8]"])
    run = config.resolve(config.cell("table2/cifar10-5/owm"), 0, "quick", overrides)
    assert (run.training.epochs, run.net.hidden) == (3, (8, 8))
    assert run.options["alpha"]["conv"] == [1.0, 0.1]
    assert run.options["alpha"]["fc1"] == [1.0, 1e-4]


def set_at(values: dict, path: str, value) -> dict:
    changed = copy.deepcopy(values)
    *parents, last = path.split("/")
    place = changed
    for key in parents:
        place = place[key]
    place[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("prset", "quick", ["prset", "did you mean 'preset'"]),
        ("preset", "qick", ["qick", "did you mean 'quick'"]),
        ("methods/owm/settings/alhpa", {}, ["methods.owm.settings.alhpa", "alpha"]),
        ("methods/own", {"title": "x"}, ["own", "did you mean 'owm'"]),
        ("methods/finetune/settings", {"alpha": {}}, ["alpha", "finetune"]),
        ("methods/owm/families/cifar11", {}, ["cifar11", "did you mean 'cifar10'"]),
        ("families/cifar10/settings/epochs", -1, ["families.cifar10.settings.epochs", "greater"]),
        ("families/cifar10/settings/epochs", "many", ["epochs", "integer"]),
        ("families/cifar10/settings/momentum", 1.5, ["momentum", "less than 1"]),
        ("families/cifar10/settings/selection", "best", ["selection", "test-oracle"]),
        ("methods/owm/settings/alpha", {"fc": [1, 0]}, ["alpha", "greater than 0"]),
        ("tables/table2/scenarios", ["cifar10-7"], ["cifar10-7", "did you mean 'cifar10-"]),
        ("tables/table2/methods", ["owmm"], ["owmm", "did you mean 'owm'"]),
        ("presets/quick/seeds", [1, 1], ["seeds", "different"]),
        ("presets/quick/seeds", [], ["seeds", "at least 1"]),
        ("presets/quick/families/cifar", {}, ["presets.quick.families.cifar"]),
        ("presets/quick/families/cifar10/methods", {"own": {}}, ["own", "did you mean 'owm'"]),
    ],
)
def test_bad_config_is_refused_by_name(values: dict, path: str, value, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(set_at(values, path, value))
    for word in words:
        assert word in str(caught.value)


def test_a_table_may_belong_to_some_presets_only(values: dict, config: Config) -> None:
    assert {cell.table for cell in config.cells("quick")} == {"table2", "table3"}
    only = {cell.table for cell in config.cells("paper")} - {"table2", "table3"}
    assert only == {"selection", "sensitivity-shuffled", "sensitivity-disjoint"}
    assert config.presets_beside("paper") == ["tenth"]
    assert config.presets_beside("quick") == config.presets_beside("tenth") == []
    assert {cell.table for cell in config.cells()} == config.tables.keys()
    with pytest.raises(ConfigError, match="did you mean 'paper'"):
        parse_config(set_at(values, "tables/table3/presets", ["papr"]))


def test_seven_tasks_for_ten_classes_are_refused(values: dict) -> None:
    values["families"]["cifar10"]["tasks"] = [2, 5, 7]
    values["tables"]["table2"]["scenarios"].append("cifar10-7")
    with pytest.raises(ConfigError, match="10 classes cannot be cut into 7 equal tasks"):
        parse_config(values)


@pytest.mark.parametrize("name", ["table2/cifar10-5", "table9/cifar10-5/owm", "table2/x/owm"])
def test_bad_cell_names(config: Config, name: str) -> None:
    with pytest.raises(ConfigError):
        config.cell(name)


def test_a_missing_or_broken_file_is_one_sentence(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"config\.yaml is missing"):
        load_config(tmp_path / "config.yaml")
    (tmp_path / "config.yaml").write_text("a: [")
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_config(tmp_path / "config.yaml")


def test_the_hash_depends_on_settings_only(config: Config) -> None:
    cell = config.cell("table2/cifar10-5/owm")
    assert config.resolve(cell, 0, "paper").hash() == config.resolve(cell, 0, "paper").hash()
    others = {
        config.resolve(cell, 1, "paper").hash(),
        config.resolve(cell, 0, "quick").hash(),
        config.resolve(cell, 0, "paper", {"momentum": 0.5}).hash(),
    }
    assert config.resolve(cell, 0, "paper").hash() not in others
    assert len(others) == 3


def test_a_setting_that_came_later_changes_no_older_hash(config: Config) -> None:
    cell = config.cell("table2/shuffled-mnist-3/owm")
    plain, limited = (
        config.resolve(cell, 0, "paper", {"images_per_epoch": n}) for n in (None, 1000)
    )
    assert "images_per_epoch" not in plain.model_dump()["training"]
    assert limited.hash() != plain.hash() == config.resolve(cell, 0, "paper").hash()


def test_precision_is_a_setting_left_out_at_float32(config: Config) -> None:
    cell = config.cell("table2/shuffled-mnist-3/owm")
    plain, rounded = (
        config.resolve(cell, 0, "paper", {"precision": name}) for name in ("float32", "bfloat16")
    )
    assert not {"precision", "core_version"} & plain.model_dump().keys()
    assert rounded.hash() != plain.hash() == config.resolve(cell, 0, "paper").hash()
    assert rounded.model_dump()["precision"] == "bfloat16"


def test_every_key_of_the_schema_has_a_description() -> None:
    schema = json.loads(config_schema())
    models = {"config": schema, **schema["$defs"]}
    missing = [
        f"{name}.{key}"
        for name, model in models.items()
        for key, field in model.get("properties", {}).items()
        if "description" not in field
    ]
    assert missing == []
