"""What a run of each method needs: the table `jobs.costs` of config.yaml, measured.

    python benchmarks/costs.py [method …] [--dataset mnist …]

Each method learns a few batches of every task at the paper's settings, in a process of its own,
from random images as many as the dataset has. Printed: images a second in the last task (methods
slow down as they remember more) and the peak memory. One thread, and its CPU time is counted, so
that a busy machine measures the same.
"""

import argparse
import resource
import subprocess
import sys
import time

import torch

from eowm import methods, nets
from eowm.data import streams
from eowm.data.store import Arrays
from eowm.jobs.costs import SIZE, TEST_IMAGES
from eowm.settings.config import Config, load_config
from eowm.settings.options import known_methods
from eowm.settings.run import Limits, RunSettings
from eowm.training import memory
from eowm.training.loop import Loop, seed_everything
from eowm.training.progress import Reporter

SCENARIOS = {"mnist": "shuffled-mnist-20", "cifar10": "cifar10-5", "cifar100": "cifar100-10"}
BATCHES = 3  # in each epoch
FEW_EPOCHS = 5  # a method with so few may not treat all alike (AE-MIR), so all are run; else one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=known_methods())
    parser.add_argument("--dataset", action="append", choices=list(SCENARIOS))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.here:
        measure(chosen.dataset[0], chosen.methods[0])
        return
    for dataset in chosen.dataset or SCENARIOS:
        print(f"    {dataset}:", flush=True)
        for method in chosen.methods:
            command = [sys.executable, __file__, method, "--dataset", dataset, "--here"]
            if subprocess.run(command).returncode:
                print(f"      # {method}: failed", flush=True)


def measure(dataset: str, method: str) -> None:
    torch.set_num_threads(1)
    settings = shortened(load_config(), dataset, method)
    stream = streams.build(settings, random_arrays(dataset))
    seed_everything(0)
    net = nets.build(settings.net, stream.image_shape, stream.classes)
    learner = methods.find(method)(net, settings)
    memory.keep_freed()
    begin, observe, seconds, images = learner.begin_task, learner.observe, [0.0], [0]

    def begun(task):
        begin(task)
        seconds[:], images[:] = [], []  # only the last task counts

    def timed(x, y, progress):
        started = time.process_time()
        loss = observe(x, y, progress)
        seconds.append(time.process_time() - started)
        images.append(len(y))
        return loss

    learner.begin_task, learner.observe = begun, timed  # type: ignore[method-assign]
    Loop(learner, stream, settings, Reporter("", settings.tasks, 1, quiet=True)).run()
    speed = sum(images) / sum(seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    two_digits = int(float(f"{speed:.1e}"))
    with_room = int(-(-2 * peak // 500) * 500)  # to check a dataset and evaluate takes more
    print(f"      {method}: {{images_per_second: {two_digits}, mem_mb: {with_room}}}")


def shortened(config: Config, dataset: str, method: str) -> RunSettings:
    """The paper's settings with a few batches a task."""
    cell = config.cell(f"{next(iter(config.tables))}/{SCENARIOS[dataset]}/{method}")
    settings = config.resolve(cell, 0, "paper")
    if settings.training.epochs > FEW_EPOCHS:
        settings = config.resolve(cell, 0, "paper", {"epochs": 1})
    a_task = max(BATCHES * settings.training.batch_size, 200)
    train = a_task * (1 if settings.stream == "shuffled" else settings.tasks)
    limits = Limits(train_images=train, validation_images=100, test_images=100)
    return settings.model_copy(update={"limits": limits})


def random_arrays(dataset: str) -> Arrays:
    shape = (1, 28, 28) if dataset == "mnist" else (3, 32, 32)
    classes = 100 if dataset == "cifar100" else 10

    def make(count: int) -> tuple[torch.Tensor, torch.Tensor]:
        images = torch.randint(256, (count, *shape), dtype=torch.uint8)
        return images, (torch.arange(count) % classes).to(torch.uint8)

    return Arrays(*make(SIZE[dataset]), *make(TEST_IMAGES))


if __name__ == "__main__":
    main()
