"""The settings of a method, found where the method is: no table lists methods.

A method is `eowm/methods/<name>` (`-` written as `_`): a folder whose `__init__.py` has the
docstring and the class `Options`, and whose `method.py` has the code; or a single file with all
three. A file may also lie anywhere else (`methods.<name>.file` in config.yaml, `--method-file`).
The folders' `__init__.py` never import torch, so listing the shipped cells does not either.
"""

import ast
import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from eowm import paths
from eowm.errors import ConfigError, nearest

FOLDER = paths.PACKAGE / "methods"
_OUTSIDE: dict[str, Path] = {}  # methods whose file is not in the package


class Strict(BaseModel):
    """Immutable, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Positive = Annotated[float, Field(gt=0)]
Schedule = Annotated[
    tuple[Positive, Positive],
    Field(description="[at the task's start, at its end]; geometric in between"),
]


class Options(Strict):
    """Base of a method's own settings.

    Raise `version` when a change of code alters the numbers of the method: it is part of the
    settings hash, so finished cells become stale. A comment or a refactoring raises nothing.
    """

    version: ClassVar[int] = 1
    any_net: ClassVar[bool] = False  # True: biases and batch normalisation (resnet18) do no harm


def known_methods() -> list[str]:
    """Every method in `eowm/methods`, and those that `use_file` named."""
    inside = [path.parent for path in FOLDER.glob("*/__init__.py")]
    inside += [path for path in FOLDER.glob("*.py") if _has_options(path)]
    return sorted({path.stem.replace("_", "-") for path in inside} | _OUTSIDE.keys())


def use_file(name: str, path: Path) -> None:
    """From now on `name` is the method in this file."""
    path = (paths.ROOT / path).resolve()
    if not path.is_file():
        raise ConfigError(f"the file of method '{name}', {path}, does not exist.")
    _OUTSIDE[name] = path
    options_of(name)


def outside_files() -> list[Path]:
    return sorted(_OUTSIDE.values())


def source_of(name: str) -> Path:
    """The file with the docstring and the class `Options` of a method."""
    path = _find(name)
    if path is None:
        raise ConfigError(
            f"method '{name}' is unknown{nearest(name, known_methods())}: add "
            f"eowm/methods/{name.replace('-', '_')}.py, or name its file in config.yaml as "
            f"methods.{name}.file (CONTRIBUTING.md)."
        )
    return path


def has_code(name: str) -> bool:
    return _find(name) is not None


def _find(name: str) -> Path | None:
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    stem = name.replace("-", "_")
    if not stem.isidentifier():  # a record may say anything: never a path
        return None
    places = (FOLDER / stem / "__init__.py", FOLDER / f"{stem}.py")
    return next((path for path in places if path.is_file()), None)


def docstring_of(name: str) -> str:
    """What the method does, with its equations; the report shows it."""
    return ast.get_docstring(ast.parse(source_of(name).read_text(encoding="utf-8"))) or ""


def options_of(name: str) -> type[Options]:
    """The class `Options` of a method."""
    path = source_of(name)
    found = getattr(module_of(path), "Options", None)
    if isinstance(found, type) and issubclass(found, Options):
        return found
    raise ConfigError(
        f"{_shown(path)} has no settings: add `class Options(Options)` with "
        "`from eowm.settings.options import Options` (CONTRIBUTING.md)."
    )


def module_of(path: Path) -> ModuleType:
    """The module in a file of `eowm/methods`, or in any other file."""
    try:
        if path.is_relative_to(FOLDER):
            parts = path.relative_to(FOLDER).with_suffix("").parts
            return import_module(".".join(["eowm.methods", *parts]).removesuffix(".__init__"))
        name = f"eowm_method_{path.stem}"
        if name not in sys.modules or sys.modules[name].__file__ != str(path):
            spec = spec_from_file_location(name, path)
            assert spec is not None
            assert spec.loader is not None
            sys.modules[name] = module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
        return sys.modules[name]
    except ConfigError:
        raise
    except Exception as error:  # whatever a method's file has wrong
        raise ConfigError(f"{_shown(path)} cannot be loaded: {error}.") from error


@cache
def _has_options(path: Path) -> bool:
    """Is it a method? Its neighbours without a class `Options` are what methods share."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.ClassDef) and node.name == "Options" for node in tree.body)


def _shown(path: Path) -> str:
    inside = path.is_relative_to(paths.CHECKOUT)
    return str(path.relative_to(paths.CHECKOUT) if inside else path)
