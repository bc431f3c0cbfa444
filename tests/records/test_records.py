"""Records are written whole; what is wrong with one is named (tests/test_faults.py)."""

from eowm import records
from eowm.paths import CHECKOUT

PUBLISHED = CHECKOUT / "paper_figures/paper/records/table3/disjoint-mnist-2/eowm/w2-0.10/seed0.json"


def test_a_record_survives_writing_and_reading(tmp_path) -> None:
    record, path = records.read(PUBLISHED), tmp_path / "folder" / "seed0.json"
    records.write(record, path)
    assert records.read(path) == record
    assert [p.name for p in path.parent.iterdir()] == ["seed0.json"]
    assert '"accuracy": [\n  [0.' in path.read_text()  # a matrix looks like one
