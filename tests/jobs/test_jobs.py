"""What a scheduler is told about a run."""

import pytest

from eowm.jobs import costs
from eowm.settings.cells import Cell
from eowm.settings.config import parse_config


@pytest.fixture
def needs(config):
    def _needs(name: str, preset: str = "paper", **more) -> costs.Needs:
        return costs.needs(config, config.cell(name), preset, **more)

    return _needs


def test_every_cell_of_every_preset_has_limits(config) -> None:
    for cell in config.cells():
        for preset in config.presets:
            found = costs.needs(config, cell, preset)
            assert found.minutes > costs.START_MINUTES
            assert found.mem_mb > 0
            assert found.gpu in (0, 1)


def test_limits_hold_for_the_runs_that_were_recorded(config) -> None:
    """Measured here, on a busy machine: the limit must be above what was needed."""
    from eowm import paths, records

    for path in (paths.CHECKOUT / "paper_figures/paper/records").rglob("seed*.json"):
        record = records.read(path)
        run = record.cell
        cell = Cell(run.table, run.scenario, run.method, run.variant)  # also of no table
        limit = costs.needs(config, cell, "paper")
        assert record.timing.train_seconds + record.timing.eval_seconds < 60 * limit.minutes, path
        assert record.timing.peak_memory_bytes < limit.mem_mb * 2**20, path


def test_no_limit_is_longer_than_allowed(config, needs) -> None:
    """A cluster refuses what is longer; a run that needs more goes on in its next attempt."""
    found = needs("table2/cifar100-20/eowm", seeds=3, attempt=4)
    assert found.minutes == config.jobs.max_minutes


def test_a_further_attempt_gets_more_and_seeds_add_up(needs) -> None:
    name = "table2/shuffled-mnist-20/owm"
    first, second = (needs(name, attempt=n) for n in (1, 2))
    assert (second.minutes, second.mem_mb) == (2 * first.minutes, 2 * first.mem_mb)
    three = needs(name, seeds=3)
    assert three.mem_mb == first.mem_mb
    work = first.minutes - costs.START_MINUTES
    assert three.minutes - costs.START_MINUTES == pytest.approx(3 * work, abs=3)


@pytest.mark.parametrize(("size", "expected"), [(1, 3), (2, 2), (3, 1), (9, 1)])
def test_seeds_by_job(size, expected) -> None:
    found = costs.batches((4, 5, 6), size)
    assert len(found) == expected
    assert sum(found, ()) == (4, 5, 6)


def test_hours_by_hand(config):
    """EOWM on CIFAR-10: 20 epochs of 50,000 images and, by a third, 10,000 · (1 + … + 5)/5."""
    cell = config.cell("table2/cifar10-5/eowm")
    speed = config.jobs.cost("cifar10", "eowm").images_per_second
    found = costs.estimate(config, cell, "paper")
    assert found.core_hours == pytest.approx(20 * (50_000 + 30_000 / 3) / speed / 3600)
    assert found.gpu_hours == found.core_hours / config.jobs.gpu_speedup["cifar10"]


def test_a_method_of_large_products_gains_more_from_a_gpu_than_its_dataset_tells(config):
    values = config.model_dump(mode="json", exclude_unset=True)
    values["jobs"]["costs"]["mnist"]["pgma"] |= {"gpu_speedup": 25}
    changed = parse_config(values)
    for method, speedup in {"pgma": 25, "owm": config.jobs.gpu_speedup["mnist"]}.items():
        found = costs.estimate(changed, changed.cell(f"table2/shuffled-mnist-3/{method}"), "paper")
        assert found.gpu_hours == found.core_hours / speedup


def test_an_epoch_of_few_images_is_short(config):
    """ER-MIR sees 1,000 images of a task, once."""
    cell = config.cell("table2/shuffled-mnist-3/er-mir")
    speed = config.jobs.cost("mnist", "er-mir").images_per_second
    found = costs.estimate(config, cell, "paper")
    assert found.core_hours == pytest.approx((3 * 1000 + 3 * 20_000 / 3) / speed / 3600)


def test_a_variant_that_costs_more_has_its_own_entry(config) -> None:
    wide, plain = (config.jobs.cost("mnist", "eowm", variant) for variant in ("wide", "rate-0.1"))
    assert wide.images_per_second < plain.images_per_second / 10
    assert plain == config.jobs.cost("mnist", "eowm")
