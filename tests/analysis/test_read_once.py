"""A whole drawing opens every record once: `collect` reads, everything else takes its table."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from made_records import fill, make_record, store

import eowm
from eowm import paper, paths
from eowm.analysis import (
    ambiguities,
    claims,
    collect,
    cost,
    figures,
    matrices,
    report,
    sensitivity,
    statistics,
    tables,
    tradeoff,
)  # fmt: skip
from eowm.analysis.summary import summarise
from eowm.errors import ConfigError


def draw_everything(runs, config, folder):
    """What the notebooks and the report call."""
    summary = summarise(runs, config)
    tables.write(summary, config, folder / "tables")
    statistics.paired_table(runs, paper.table2())
    pages = [figures.figure3(runs, config), tradeoff.figure(runs, config)]
    pages += [matrices.figure(runs, config, name) for name in config.tables["table2"].scenarios]
    pages += [cost.cells_figure(runs, config), cost.scaling_figure(runs, config)]
    claims.to_frame(claims.evaluate(claims.gather(runs, config)))
    pages.append(sensitivity.figure(ambiguities.to_frame(runs, config), config))
    report.write(runs, config, "smoke", folder)
    return pages


def test_a_drawing_opens_every_record_once(tmp_path, config, monkeypatch):
    fill(tmp_path / "records", config, "smoke")
    opened, read_text = Counter(), Path.read_text

    def counted(path, *args, **kwargs):
        opened[path] += path.name.startswith("seed")
        return read_text(path, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", counted)
    collect.write(collect.collect(config, "smoke", tmp_path / "records"), tmp_path)
    draw_everything(collect.read(tmp_path / "runs.json"), config, tmp_path)
    records = sorted((tmp_path / "records").rglob("seed*.json"))
    assert {path: opened[path] for path in records} == dict.fromkeys(records, 1)


def test_the_collected_file_holds_everything(tmp_path, config):
    fill(tmp_path / "records", config, "smoke", skip="owm")
    runs = collect.collect(config, "smoke", tmp_path / "records")
    table, everything = collect.write(runs, tmp_path)
    pd.testing.assert_frame_equal(collect.read(everything), runs)
    assert pd.read_csv(table).columns.tolist() == collect.COLUMNS


@pytest.fixture
def project(tmp_path, config, monkeypatch):
    monkeypatch.setattr(paths, "OUT", tmp_path)
    folder = tmp_path / paths.records("smoke")
    fill(folder, config, "smoke")
    return folder


def test_load_reads_the_collected_file_until_a_record_changes(project, config, monkeypatch):
    collect.write_json(collect.load(config, "smoke"), collect.collected_file("smoke"))
    with monkeypatch.context() as closed:
        closed.setattr(collect.records, "read_all", None)
        assert len(collect.load(config, "smoke")) == 24
    collect.collected_file("smoke").write_text('[{"cell": "of an older version"}]')
    assert len(collect.load(config, "smoke")) == 24
    changed = make_record(config, "table2/cifar10-5/owm", 7, preset="smoke")
    store(changed, project)
    assert len(collect.load(config, "smoke")) == 25


def test_compare_names_a_misspelt_cell():
    with pytest.raises(ConfigError, match="did you mean 'owm'"):
        eowm.compare("table2/cifar10-5/eowm", "table2/cifar10-5/omw")
    with pytest.raises(ConfigError, match="metric 'AAA' is unknown"):
        eowm.compare("table2/cifar10-5/eowm", "table2/cifar10-5/owm", "AAA")


def test_published_tables_follow_from_the_published_records():
    """Every digit of Tables 2 and 3."""
    from eowm.settings.config import load_config

    config = load_config()
    summary = summarise(eowm.load("paper"), config)
    for table in ("table2", "table3"):
        published = paths.ROOT / paths.outputs("paper") / "tables" / f"{table}.csv"
        assert tables.to_csv(summary[summary.table == table]) == published.read_text()
