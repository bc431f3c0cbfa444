"""Methods and their settings are found by their place, without importing torch."""

import pytest

from eowm import methods
from eowm.errors import ConfigError
from eowm.paths import CHECKOUT as ROOT
from eowm.settings import options
from eowm.settings.config import load_config
from eowm.settings.overlay import overlay_model

SINGLE = """\
'''A toy.'''

import torch
from pydantic import Field

from eowm.methods.base import Method
from eowm.settings import options

LARGEST = 1.0
NOISE = torch.ones(1)


class Options(options.Options):
    strength: float = Field(0.5, le=LARGEST, description="of the toy")


class Toy(Method):
    pass
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """`file(text)`: the method in a file outside of the package, forgotten after the test."""
    monkeypatch.setattr(options, "_OUTSIDE", {})

    def write(text: str, name: str = "my_toy.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_the_shipped_methods_are_found(config) -> None:
    assert set(options.known_methods()) == set(config.methods)
    for name in options.known_methods():
        assert methods.find(name).__module__.startswith("eowm.methods.")
        assert "\n\n    " in options.docstring_of(name), f"{name} has no equation"


def test_a_file_anywhere_is_a_method(file) -> None:
    config = load_config(ROOT / "config.yaml", method_file=file(SINGLE))
    assert config.methods["my-toy"].title == "MY-TOY"
    settings = config.resolve(config.cell("table2/cifar10-5/my-toy"), 0, "smoke")
    assert settings.options == {"strength": 0.5}
    assert options.docstring_of("my-toy") == "A toy."
    assert methods.find("my-toy").__name__ == "Toy"
    cost = config.jobs.costs["mnist"]["default"]
    assert config.jobs.cost("mnist", "my-toy") == cost


def test_one_name_may_have_other_bounds_in_another_method(file) -> None:
    options.use_file("toy", file(SINGLE))
    assert overlay_model()(strength=0.5).strength == 0.5
    assert overlay_model()(strength=100.0).strength == 100.0  # EWC's


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("strength", "momentum", "momentum is a setting of all methods"),
        ("class Options(options.Options)", "class Settings(options.Options)", "class Options"),
        ("class Options(options.Options)", "class Options", "class Options"),
        ("le=LARGEST", "le=SMALLEST", "SMALLEST"),
        ("class Toy", "class", "cannot be loaded: invalid syntax"),
    ],
)
def test_a_wrong_file_is_one_sentence(file, old, new, words) -> None:
    with pytest.raises(ConfigError, match=words):
        load_config(ROOT / "config.yaml", method_file=file(SINGLE.replace(old, new)))


@pytest.mark.parametrize("count", [0, 2])
def test_a_file_has_one_subclass_of_method(file, count) -> None:
    head = SINGLE[: SINGLE.index("class Toy")]
    text = head + "".join(f"class Toy{i}(Method):\n    pass\n" for i in range(count))
    options.use_file("toy", file(text, f"toy{count}.py"))
    with pytest.raises(ConfigError, match="must define one subclass of Method"):
        methods.find("toy")


def test_a_method_without_a_file_is_named_with_what_to_add() -> None:
    with pytest.raises(ConfigError, match=r"add eowm/methods/no_such\.py"):
        methods.find("no-such")
    with pytest.raises(ConfigError, match="does not exist"):
        options.use_file("lwf", ROOT / "lwf.py")
