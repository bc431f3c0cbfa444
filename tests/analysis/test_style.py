"""One colour and marker per method, and titles from the config."""

import re

from eowm import paper
from eowm.analysis import style


def test_every_method_has_its_own_colour_and_marker():
    assert set(paper.table2().method) | {"finetune", "joint"} == set(style.LOOKS)
    assert len(set(style.LOOKS.values())) == len(style.LOOKS)
    assert len({colour for colour, _ in style.LOOKS.values()}) == len(style.LOOKS)
    assert len({marker for _, marker in style.LOOKS.values()}) == len(style.LOOKS)
    assert all(re.fullmatch("#[0-9A-F]{6}", colour) for colour, _ in style.LOOKS.values())


def test_titles(config):
    assert style.title(config, "owm") == config.methods["owm"].title
    assert style.scenario_title("cifar100-20") == "CIFAR-100 (20 tasks)"
    assert style.scenario_title("shuffled-mnist-3") == "Shuffled MNIST (3 tasks)"


def test_joint_training_is_dashed(config):
    assert style.look(config, "joint").line == "--"
    assert style.look(config, "owm").line == "-"
