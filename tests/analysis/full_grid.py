"""Records for the whole of Table 2: eight methods, three references, eight scenarios, all seeds.

The accuracies are made up, but of the size and shape that real ones have: the figures
must be readable before the last cell is trained.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml
from conftest import Matrix, make_record, store

from eowm import paths
from eowm.settings.config import Config, parse_config

METHODS = ("ewc", "pgma", "ogd", "ogd-plus", "owm", "er-mir", "ae-mir", "eowm")
REFERENCES = ("finetune", "joint", "owm:matched")
LEARNT = {"shuffled-mnist": 0.975, "cifar10": 0.88, "cifar100": 0.55}  # right after a task
# What is lost of a task with every later one, and time and memory beside fine-tuning's.
LOST = {"ewc": 0.3, "pgma": 0.15, "ogd": 0.12, "ogd-plus": 0.1, "owm": 0.02, "er-mir": 0.06,
        "ae-mir": 0.08, "eowm": 0.018, "finetune": 0.6}  # fmt: skip
COST = {"ewc": (1.4, 1.2), "pgma": (6, 1.8), "ogd": (3, 2.5), "ogd-plus": (3.4, 2.7),
        "owm": (2.1, 1.5), "er-mir": (2.6, 1.3), "ae-mir": (9, 1.9), "eowm": (2.9, 1.9),
        "finetune": (1, 1), "joint": (0.9, 1.1)}  # fmt: skip


def full_config() -> Config:
    values = yaml.safe_load(paths.CONFIG.read_text())
    for name in METHODS:
        values["methods"].setdefault(name, {"title": name.upper()})
    table = values["tables"]["table2"]
    table |= {"methods": list(METHODS), "references": list(REFERENCES)}
    return parse_config(values)


def accuracy(method: str, family: str, tasks: int, seed: int) -> Matrix:
    noise = np.random.default_rng([seed, tasks, *method.encode()]).normal
    start = LEARNT[family] * (1 - 0.3 * LOST.get(method, 0))
    if method == "joint":
        return [None] * (tasks - 1) + [list(np.clip(start + noise(0, 0.005, tasks), 0, 1))]
    lost = LOST[method] / (4 if family == "shuffled-mnist" else 1)
    chance = 0.1 if family == "shuffled-mnist" else 0.0
    rows: Matrix = []
    for t in range(tasks):
        kept = [start * (1 - lost) ** (t - i) + noise(0, 0.008) for i in range(t + 1)]
        rows.append([float(np.clip(a, chance, 1)) for a in kept] + [chance] * (tasks - t - 1))
    return rows


def fill_table2(
    folder: Path, config: Config, preset: str = "paper", skip: tuple[str, ...] = ()
) -> None:
    """`skip`: rows, scenarios or cells (`<scenario>/<row>`) that stay without a record."""
    for cell in config.cells():
        names = {cell.row, cell.scenario, f"{cell.scenario}/{cell.row}"}
        if cell.table == "table2" and not names & set(skip):
            for record in _records(config, cell, preset):
                store(record, folder)


def _records(config: Config, cell, preset: str) -> Iterator:
    family, _, tasks = cell.scenario.rpartition("-")
    for seed in config.seeds(cell, preset):
        matrix = accuracy(cell.method, family, int(tasks), seed)
        record = make_record(config, cell.name, seed, preset, matrix)
        time, memory = COST[cell.method]
        images = record.settings.training.epochs * 60000
        images *= int(tasks) if family == "shuffled-mnist" else 1
        speed = (30000 if family == "shuffled-mnist" else 900) / time * (1 + 0.05 * seed)
        timing = record.timing.model_copy(
            update={
                "train_seconds": images / speed,
                "images_per_second": speed,
                "peak_memory_bytes": int(memory * (0.4 + 0.01 * int(tasks)) * 2**30),
            }
        )
        yield record.model_copy(update={"timing": timing})
