"""What config.yaml says, and what it refuses."""

import json

import pytest
import yaml

from eowm import paper
from eowm.paths import CHECKOUT as ROOT
from eowm.settings.config import Config, config_schema, parse_config, parse_overrides


@pytest.fixture
def values() -> dict:
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def test_table2_has_the_papers_columns(config: Config) -> None:
    columns = "shuffled-mnist-3 shuffled-mnist-10 shuffled-mnist-20 cifar10-5 "
    columns += "cifar100-2 cifar100-5 cifar100-10 cifar100-20"
    found = [cell.scenario for cell in config.cells() if cell.row == "owm"]
    assert found == columns.split()


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

    owm, preset = values["methods"]["owm"], values["presets"]["paper"]
    owm["families"]["cifar10"].pop("epochs")
    assert epochs() == values["families"]["cifar10"]["settings"]["epochs"]
    in_preset = preset.setdefault("families", {})["cifar10"] = {}
    for place, key, value, expected in (
        (owm["settings"], "epochs", 7, 7),
        (owm["families"]["cifar10"], "epochs", 8, 8),
        (in_preset, "settings", {"epochs": 9}, 9),
        (in_preset, "methods", {"owm": {"epochs": 10}}, 10),
        (in_preset, "methods", {"finetune": {"epochs": 10}}, 9),
        (in_preset, "limits", {"epochs": 2}, 2),
    ):
        place[key] = value
        assert epochs() == expected


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
    run = config.resolve(config.cell("table2/cifar10-5/owm"), 0, "smoke", overrides)
    assert (run.training.epochs, run.net.hidden) == (3, (8, 8))
    assert run.options["alpha"]["conv"] == [1.0, 0.1]
    assert run.options["alpha"]["fc1"] == [1.0, 1e-4]


def test_a_table_may_belong_to_some_presets_only(config: Config) -> None:
    assert {cell.table for cell in config.cells("smoke")} == {"table2", "table3"}
    only = {cell.table for cell in config.cells("paper")} - {"table2", "table3"}
    assert only == {"selection", "sensitivity-shuffled", "sensitivity-disjoint"}
    assert config.presets_beside("paper") == ["tenth"]
    assert config.presets_beside("smoke") == config.presets_beside("tenth") == []
    assert {cell.table for cell in config.cells()} == config.tables.keys()


def test_the_hash_depends_on_settings_only(config: Config) -> None:
    cell = config.cell("table2/cifar10-5/owm")
    runs = [(0, "paper"), (0, "paper"), (1, "paper"), (0, "tenth"), (0, "paper", {"momentum": 0.5})]
    first, again, *others = (config.resolve(cell, *run).hash() for run in runs)
    assert first == again
    assert len({first, *others}) == 4


@pytest.mark.parametrize(
    ("key", "default", "other"),
    [("images_per_epoch", None, 1000), ("precision", "float32", "bfloat16"),
     ("updates", None, "after")],
)  # fmt: skip
def test_a_setting_that_came_later_changes_no_older_hash(config, key, default, other) -> None:
    cell = config.cell("table2/shuffled-mnist-3/owm")
    plain, same = (config.resolve(cell, 0, "paper", each) for each in ({}, {key: default}))
    changed = config.resolve(cell, 0, "paper", {key: other})
    assert not any(f'"{name}"' in plain.model_dump_json() for name in (key, "core_version"))
    assert changed.hash() != plain.hash() == same.hash()


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
