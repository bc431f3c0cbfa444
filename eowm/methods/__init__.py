"""One file a method, all on the small base class in `base.py`.

Adding a method takes three steps: a file here with a subclass of `Method`, its `Options` class in
`eowm/settings.py`, and its entry under `methods:` in `config.yaml`. See CONTRIBUTING.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eowm.methods.base import Method


def find(name: str) -> "type[Method]":
    """The class of a method: `ogd-plus` lives in `ogd_plus.py` as the class named `ogd-plus`."""
    module = import_module(f"eowm.methods.{name.replace('-', '_')}")
    return next(
        item
        for item in vars(module).values()
        if isinstance(item, type) and getattr(item, "name", None) == name
    )
