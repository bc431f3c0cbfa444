"""One place per method, all on the small base class in `base.py`.

`ogd-plus` is the folder `ogd_plus`: its `__init__.py`, which never imports torch, has the docstring
and the settings (`Options`), its `method.py` the subclass of `Method`. A new method may be a single
file with all of it, here or anywhere else. CONTRIBUTING.md shows one.
"""

import sys
from importlib import import_module, util
from pathlib import Path
from typing import TYPE_CHECKING

from eowm.errors import ConfigError
from eowm.settings.options import FOLDER, source_of

if TYPE_CHECKING:
    from types import ModuleType

    from eowm.methods.base import Method


def find(name: str) -> "type[Method]":
    """The class of a method: the one subclass of `Method` that its file defines."""
    from eowm.methods.base import Method

    source = source_of(name)
    code = source.with_name("method.py") if source.name == "__init__.py" else source
    if not code.is_file():
        raise ConfigError(f"method '{name}' has no code: add {code} with a subclass of Method.")
    module = _module(code)
    found = [
        item
        for item in vars(module).values()
        if isinstance(item, type)
        and issubclass(item, Method)
        and item.__module__ == module.__name__
    ]
    if len(found) != 1:
        names = ", ".join(item.__name__ for item in found) or "none"
        raise ConfigError(f"{code} must define one subclass of Method; it has: {names}.")
    return found[0]


def _module(code: Path) -> "ModuleType":
    if code.is_relative_to(FOLDER):
        return import_module(
            ".".join(["eowm.methods", *code.relative_to(FOLDER).with_suffix("").parts])
        )
    name = f"eowm_method_{code.stem}"
    if name not in sys.modules or sys.modules[name].__file__ != str(code):
        spec = util.spec_from_file_location(name, code)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]
