"""One file a method, all on the small base class in `base.py`.

A new method is a file here with a subclass of `Method`, an `Options` class in `eowm/settings.py`
and an entry under `methods:` in `config.yaml`. CONTRIBUTING.md has all steps.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from eowm.errors import ConfigError

if TYPE_CHECKING:
    from eowm.methods.base import Method


def find(name: str) -> "type[Method]":
    """The class of a method: `ogd-plus` lives in `ogd_plus.py` as the class named `ogd-plus`."""
    file = name.replace("-", "_")
    try:
        module = import_module(f"eowm.methods.{file}")
    except ModuleNotFoundError as error:
        if error.name != f"eowm.methods.{file}":
            raise
        raise ConfigError(f"method '{name}' has no file eowm/methods/{file}.py.") from None
    for item in vars(module).values():
        if isinstance(item, type) and getattr(item, "name", None) == name:
            return item
    raise ConfigError(f"eowm/methods/{file}.py has no class with name = '{name}'.")
