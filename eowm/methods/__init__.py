"""One place per method, all on the small base class in `base.py`.

`ogd-plus` is the folder `ogd_plus`: its `__init__.py`, which never imports torch, has the docstring
and the settings (`Options`), its `method.py` the subclass of `Method`. A new method may be a single
file with all of it, here or anywhere else. CONTRIBUTING.md shows one.
"""

from typing import TYPE_CHECKING

from eowm.errors import ConfigError
from eowm.settings.options import module_of, source_of

if TYPE_CHECKING:
    from eowm.methods.base import Method


def find(name: str) -> "type[Method]":
    """The class of a method: the one subclass of `Method` that its file defines."""
    from eowm.methods.base import Method

    source = source_of(name)
    code = source.with_name("method.py") if source.name == "__init__.py" else source
    if not code.is_file():
        raise ConfigError(f"method '{name}' has no code: add {code} with a subclass of Method.")
    module = module_of(code)
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
