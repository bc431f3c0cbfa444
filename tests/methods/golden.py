"""Short runs of every method and variant whose outcome is kept beside the method's version.

    python tests/methods/golden.py            # all methods anew
    python tests/methods/golden.py owm ewc    # these

Run it after raising `version`. One file per shipped method in tests/methods/golden; a method
without a file is not guarded.
Settings are kept with the outcome: a change of config.yaml is seen by its own hash, and here only
the code counts.
"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import torch

from eowm import methods, nets
from eowm.data import streams
from eowm.data.store import Arrays
from eowm.settings.config import Config, load_config
from eowm.settings.options import known_methods, options_of
from eowm.settings.run import RunSettings
from eowm.training.loop import Loop, seed_everything
from eowm.training.progress import Reporter

FOLDER = Path(__file__).parent / "golden"
SCENARIOS = ["shuffled-mnist-2", "cifar10-2"]
VARIANT_SCENARIO = SCENARIOS[0]


@cache
def arrays(dataset: str) -> Arrays:
    """The same made-up images on every machine: a pattern for each class, and noise."""
    shape = (1, 28, 28) if dataset == "mnist" else (3, 32, 32)
    generator = torch.Generator().manual_seed(0)
    patterns = torch.randint(200, (10, *shape), generator=generator)

    def make(count: int) -> tuple[torch.Tensor, torch.Tensor]:
        labels = torch.arange(count) % 10
        noise = torch.randint(56, (count, *shape), generator=generator)
        return (patterns[labels] + noise).to(torch.uint8), labels.to(torch.uint8)

    return Arrays(*make(600), *make(10_000))


def outcome(settings: RunSettings, nudge: float = 0.0) -> dict[str, Any]:
    """Losses of all epochs and the accuracies; `nudge` disturbs the first weights."""
    torch.set_num_threads(1)
    stream = streams.build(settings, arrays(settings.dataset))
    seed_everything(settings.seed)
    net = nets.build(settings.net, stream.image_shape, stream.classes)
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(1 + nudge * torch.randn_like(weight))
    reporter = Reporter("", settings.tasks, settings.training.epochs, quiet=True)
    learner = methods.find(settings.method)(net, settings)
    state = Loop(learner, stream, settings, reporter).run()
    return {
        "status": state.status,
        "loss": [float(f"{point['loss']:.6g}") for point in state.curves],
        "accuracy": [row and [round(a, 4) for a in row] for row in state.accuracy],
    }


def settings_of(config: Config, method: str) -> dict[str, RunSettings]:
    """By name: the method on both scenarios, its variants on one."""
    rows = [(method, scenario) for scenario in SCENARIOS]
    rows += [(f"{method}:{name}", VARIANT_SCENARIO) for name in config.methods[method].variants]
    table = next(iter(config.tables))
    return {
        f"{scenario}/{row}": config.resolve(config.cell(f"{table}/{scenario}/{row}"), 0, "smoke")
        for row, scenario in rows
    }


def make(config: Config, method: str) -> None:
    runs = {
        name: {"settings": settings.model_dump(mode="json"), **outcome(settings)}
        for name, settings in settings_of(config, method).items()
    }
    FOLDER.mkdir(exist_ok=True)
    content = {"version": options_of(method).version, "runs": runs}
    (FOLDER / f"{method}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or known_methods():
        make(load_config(), chosen)
        print(FOLDER / f"{chosen}.json")
