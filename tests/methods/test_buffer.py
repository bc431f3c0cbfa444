"""The reservoir: a uniform sample at any time, whatever the size of the batches."""

import pytest
import torch
from scipy import stats

from eowm.methods.buffer import Reservoir


def fill(slots: int, items: int, batch: int) -> torch.Tensor:
    """Which of the numbers 0, 1, … are kept."""
    reservoir = Reservoir(slots)
    for numbers in torch.arange(items).split(batch):
        reservoir.add(0, number=numbers)
        assert len(reservoir) <= slots
    return reservoir.columns["number"]


@pytest.mark.parametrize("batch", [1, 7, 40])
def test_every_item_is_kept_equally_often(batch: int) -> None:
    """Chi-square over 1,000 streams; 40 is more than the slots, so items of a batch collide."""
    torch.manual_seed(0)
    slots, items, streams = 5, 60, 1000
    kept = torch.cat([fill(slots, items, batch) for _ in range(streams)])
    counts = torch.bincount(kept, minlength=items)
    assert counts.sum() == slots * streams
    # Of each stream exactly `slots` of `items` are kept: counts vary less than independent ones.
    statistic = (counts - slots * streams / items).square().sum() / (slots * streams / items)
    statistic *= (items - 1) / (items - slots)
    assert 0.001 < stats.chi2.sf(float(statistic), items - 1) < 0.999


@pytest.mark.parametrize("batch", [3, 50])
def test_no_item_is_kept_twice_and_rows_stay_together(batch: int) -> None:
    torch.manual_seed(0)
    reservoir = Reservoir(20)
    for task in range(3):
        for numbers in (task * 100 + torch.arange(100)).split(batch):
            reservoir.add(task, number=numbers, square=numbers.double() ** 2)
    numbers = reservoir.columns["number"]
    assert len(numbers.unique()) == 20
    assert torch.equal(reservoir.columns["square"], numbers.double() ** 2)
    assert torch.equal(reservoir.tasks, numbers // 100)


def test_of_one_batch_the_later_item_wins(monkeypatch) -> None:
    reservoir = Reservoir(4)
    reservoir.add(0, number=torch.arange(4))
    chosen = torch.tensor([2.5 / 5, 2.5 / 6, 0.99, 2.5 / 8], dtype=torch.float64)  # slots 2 2 – 2
    monkeypatch.setattr(torch, "rand", lambda *_, **__: chosen)
    reservoir.add(1, number=torch.tensor([10, 11, 12, 13]))
    assert reservoir.columns["number"].tolist() == [0, 1, 13, 3]
    assert reservoir.tasks.tolist() == [0, 0, 1, 0]


def test_only_items_of_earlier_tasks_are_drawn() -> None:
    torch.manual_seed(0)
    reservoir = Reservoir(30)
    for task in range(3):
        reservoir.add(task, number=torch.arange(10) + 10 * task)
    assert len(reservoir.draw(50, before=0)) == 0
    drawn = reservoir.draw(50, before=2)
    assert sorted(reservoir.columns["number"][drawn].tolist()) == list(range(20))
    few = reservoir.draw(6, before=2)
    assert len(few.unique()) == 6
    assert not torch.equal(few, reservoir.draw(6, before=2))
