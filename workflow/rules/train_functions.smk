# What the training rules need to know about a cell: its jobs, its dataset, its resources.

import math

from eowm.jobs import costs


def batches(cell) -> list[tuple]:
    """The seeds of each job: any one seed, or several in turn where the config asks for it."""
    size = CONFIG.jobs.seeds_per_job
    if CONFIG.records != "all" and not CONFIG.trains(cell, PRESET):
        return []
    return (
        costs.batches(CONFIG.seeds(cell, PRESET), size) if size > 1 else [("{seed}",)]
    )


def train_rule(cell, batch) -> str:
    """`train_table2_cifar10-5_owm`, with the first seed where a cell has several rules."""
    several = len(batches(cell)) > 1
    return f"train_{cell.rule}" + (f"_seed{batch[0]}" if several else "")


def manifest_of(cell, batch):
    """The dataset. It is `ancient`: fetching it again retrains nothing. A record that came with
    the clone needs no dataset; asking for one would train it again."""
    manifest = WORK / "data" / f"{CONFIG.resolve(cell, 0, PRESET).dataset}.json"

    def needed(wildcards):
        made = [Path(record(cell, seed).format(**wildcards)) for seed in batch]
        published = not manifest.exists() and all(file.exists() for file in made)
        return [] if published else ancient(str(manifest))

    return needed


def needs_of(cell, batch, what):
    """A resource from the measured costs; a further attempt gets more."""

    def amount(wildcards, attempt):
        return getattr(costs.needs(CONFIG, cell, PRESET, len(batch), attempt), what)

    return amount


def priority_of(cell) -> int:
    """Longest first, so that no core waits for a last long run: seconds by the estimate."""
    return math.ceil(3600 * costs.estimate(CONFIG, cell, PRESET).core_hours)


# Functions of `output` or `resources` are not causes to train again: none changes a record.
def runs_of(wildcards, output):
    seeds = ",".join(Path(file).stem.removeprefix("seed") for file in output)
    return f"--seeds {seeds} " + " ".join(f"--out {file}" for file in output)


def device_of(wildcards, resources):
    return "auto" if resources.gpu else "cpu"
