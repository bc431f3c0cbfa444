"""Records: written whole, checked when read."""

import json

import pytest

from eowm import records
from eowm.errors import RecordError
from eowm.records.metrics import all_metrics


@pytest.fixture
def record(config) -> records.Record:
    cell = config.cell("table2/shuffled-mnist-3/owm")
    settings = config.resolve(cell, 0, "smoke")
    matrix = [[0.9, 0.1, 0.1], [0.8, 0.9, 0.1], [0.7, 0.8, 0.9]]
    return records.Record(
        schema_version=1,
        cell={"table": "table2", "scenario": cell.scenario, "method": "owm", "variant": None,
              "seed": 0, "preset": "smoke", "budget": "reduced"},
        settings=settings,
        settings_hash=settings.hash(),
        data={"name": "mnist", "source": "standin", "sha256": "0", "comparable": False},
        accuracy=matrix,
        validation=matrix,
        best_epoch_accuracy=[0.9, 0.9, 0.9],
        curves=[],
        metrics=all_metrics(matrix),
        timing={"train_seconds": 1.0, "eval_seconds": 1.0, "images_per_second": 1.0,
                "peak_memory_bytes": 1, "interruptions": 0},
        environment={},
        status="complete",
    )  # fmt: skip


def test_a_record_survives_writing_and_reading(record, tmp_path) -> None:
    path = tmp_path / "folder" / "seed0.json"
    records.write(record, path)
    assert records.read(path) == record
    assert [p.name for p in path.parent.iterdir()] == ["seed0.json"]
    assert '"accuracy": [\n  [0.9, 0.1, 0.1],' in path.read_text()  # a matrix looks like one


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r["settings"]["training"].update(epochs=99), "settings_hash"),
        (lambda r: r["accuracy"][2].__setitem__(0, 0.99), "metrics do not follow"),
        (lambda r: r.pop("metrics"), "metrics"),
        (lambda r: r.update(surprise=1), "surprise"),
        (lambda r: r.update(schema_version=2), "schema_version"),
    ],
)
def test_a_changed_record_is_refused_by_name(record, tmp_path, change, words) -> None:
    path = tmp_path / "seed0.json"
    records.write(record, path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(RecordError, match=words) as caught:
        records.read(path)
    assert "seed0.json" in str(caught.value)


def test_half_a_record_is_refused(record, tmp_path) -> None:
    path = tmp_path / "seed0.json"
    records.write(record, path)
    path.write_text(path.read_text()[:200])
    with pytest.raises(RecordError, match=r"seed0\.json is not a valid record"):
        records.read(path)


def test_an_unwritable_place_is_one_sentence(record, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match=r"cannot write .*seed0\.json"):
        records.write(record, tmp_path / "file" / "seed0.json")
