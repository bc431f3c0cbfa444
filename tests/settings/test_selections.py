"""Selections of cells and lists of seeds."""

import pytest

from eowm.errors import ConfigError
from eowm.settings.cells import Cell, parse_seeds, select


def names(config, patterns, preset="paper") -> list[str]:
    return [cell.name for cell in select(config, preset, patterns)]


def test_a_column_a_row_and_one_cell(config) -> None:
    table = config.tables["table2"]
    rows = (*table.methods, *table.references)
    assert names(config, "table2/cifar10-5/*") == [f"table2/cifar10-5/{row}" for row in rows]
    assert names(config, "table2/*/owm") == [f"table2/{s}/owm" for s in table.scenarios]
    assert names(config, "table2/cifar10-5/owm") == ["table2/cifar10-5/owm"]


def test_nothing_selects_the_grid_and_missing_parts_match_all(config) -> None:
    grid = list(config.cells("paper"))
    assert select(config, "paper", []) == select(config, "paper", "*") == grid
    assert select(config, "paper", "table3") == [c for c in grid if c.table == "table3"]


def test_several_patterns_keep_the_order_of_the_grid_and_repeat_nothing(config) -> None:
    found = names(config, ["table3/*/eowm:w2-0.10 table2/cifar10-5/owm", "table2/cifar10-5/o*"])
    assert found == [name for name in names(config, []) if name in found]
    assert {"table2/cifar10-5/owm", "table2/cifar10-5/ogd"} < set(found)


def test_cells_can_be_left_out(config) -> None:
    column = names(config, "table2/shuffled-mnist-3")
    found = names(config, "table2/shuffled-mnist-3 !table2/*/pgma !*/*/owm*")
    left_out = {"pgma", "owm", "owm:matched"}
    assert found == [name for name in column if name.rpartition("/")[2] not in left_out]
    with pytest.raises(ConfigError, match="matches 'table2/\\*/own'"):
        select(config, "paper", "table2 !table2/*/own")
    with pytest.raises(ConfigError, match="leaves out every cell"):
        select(config, "paper", "table2/*/owm !table2/*/owm")


def test_quick_trains_a_column_without_pgma_and_the_papers_ablation(config) -> None:
    trained = names(config, [], preset="quick")
    column, ablation = "table2/shuffled-mnist-3/", "table3/disjoint-mnist-2/eowm:w2-"
    expected = [name for name in names(config, "table2/shuffled-mnist-3") if "pgma" not in name]
    assert trained[:10] == expected
    assert sorted(trained[10:]) == [f"{ablation}{w2}" for w2 in ("0.00", "0.05", "0.10", "0.15")]
    assert all(config.seeds(config.cell(name), "quick") == (0,) for name in trained)
    for name in trained:  # the paper's budget, so the published settings
        cell = config.cell(name)
        assert config.resolve(cell, 0, "quick").hash() == config.resolve(cell, 0, "paper").hash()
    assert names(config, f"{column}pgma", preset="quick") == [f"{column}pgma"]  # on request


def test_seeds_by_scenario_and_row_the_last_match_counts(config) -> None:
    values = config.model_dump(mode="json", exclude_unset=True)
    values["tables"]["table2"]["seeds"] = {"paper": {"*/owm": "0-3", "cifar10-5/*": [5]}}
    changed = type(config).model_validate(values)
    seeds = {
        name: changed.seeds(changed.cell(f"table2/{name}"), "paper")
        for name in ("cifar100-2/owm", "cifar10-5/owm", "cifar10-5/ewc", "cifar100-2/ewc")
    }
    assert list(seeds.values()) == [(0, 1, 2, 3), (5,), (5,), (0, 1, 2)]


def test_a_run_that_no_table_shows(config) -> None:
    assert select(config, "paper", "other/shuffled-mnist-3/pgma") == [
        Cell("other", "shuffled-mnist-3", "pgma")
    ]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("0-4", (0, 1, 2, 3, 4)), ("7", (7,)), ("0-2,7 9", (0, 1, 2, 7, 9)), ("1 1", (1,)), ("", ())],
)
def test_seeds(text, seeds) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["x", "-1", "4-0", "1.5", "0-", "0-99999", "0--2", "٣"])
def test_what_is_no_seed(text) -> None:
    with pytest.raises(ConfigError, match="whole numbers"):
        parse_seeds(text)


def test_seeds_on_request_replace_those_of_the_selected_cells_only(config) -> None:
    values = config.model_dump(mode="json", exclude_unset=True)
    changed = type(config).model_validate(
        values | {"records": "table2/cifar10-5/*", "run_seeds": "0-4"}
    )
    inside, outside = (config.cell(f"table2/{s}/owm") for s in ("cifar10-5", "cifar100-2"))
    assert changed.seeds(inside, "paper") == (0, 1, 2, 3, 4)
    assert changed.seeds(outside, "paper") == config.seeds(outside, "paper")
    assert [changed.trains(cell, "paper") for cell in (inside, outside)] == [True, False]
