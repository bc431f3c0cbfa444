"""Records: written whole, checked when read."""

import pytest

from eowm import records
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
