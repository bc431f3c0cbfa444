"""The settings of a method, found where the method is: no table lists methods.

A method is `eowm/methods/<name>` (`-` written as `_`): a folder whose `__init__.py` has the
docstring and the class `Options`, and whose `method.py` has the code; or a single file with all
three. A file may also lie anywhere else (`methods.<name>.file` in config.yaml, `--method-file`).
Nothing here imports torch: of a single file, only the class `Options` is executed.
"""

import ast
import sys
from functools import cache
from importlib import import_module
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
    inside += [path for path in FOLDER.glob("*.py") if _options_class(_parse(path))]
    return sorted({path.stem.replace("_", "-") for path in inside} | _OUTSIDE.keys())


def use_file(name: str, path: Path) -> None:
    """From now on `name` is the method in this file."""
    path = (paths.ROOT / path).resolve()
    if not path.is_file():
        raise ConfigError(f"the file of method '{name}', {path}, does not exist.")
    _options_in(name, path)
    _OUTSIDE[name] = path


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
    places = (FOLDER / stem / "__init__.py", FOLDER / f"{stem}.py")
    return next((path for path in places if path.is_file()), None)


def docstring_of(name: str) -> str:
    """What the method does, with its equations; the report shows it."""
    return ast.get_docstring(_parse(source_of(name))) or ""


def options_of(name: str) -> type[Options]:
    """The class `Options` of a method."""
    path = source_of(name)
    if path.name == "__init__.py":
        found = getattr(import_module(f"eowm.methods.{path.parent.name}"), "Options", None)
        return _checked(found, path)
    return _options_in(name, path)


def _options_in(name: str, path: Path) -> type[Options]:
    return _execute_options(name, path, path.stat().st_mtime_ns)


@cache
def _execute_options(name: str, path: Path, _changed: int) -> type[Options]:
    """The class of a single file and the top-level lines that it needs, without the others."""
    tree = _parse(path)
    wanted = _options_class(tree)
    if wanted is None:
        return _checked(None, path)
    body, names = [wanted], _names(wanted)
    for node in reversed(tree.body[: tree.body.index(wanted)]):
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if future or _binds(node) & names:
            body.insert(0, node)
            names |= _names(node)
    module = ModuleType(f"eowm_options_of_{name.replace('-', '_')}")
    sys.modules[module.__name__] = module  # where pydantic looks up annotations
    try:
        exec(compile(ast.Module(body, []), str(path), "exec"), vars(module))  # noqa: S102
    except Exception as error:
        raise ConfigError(f"class Options of {_shown(path)} is wrong: {error}.") from error
    return _checked(module.Options, path)


def _checked(found: object, path: Path) -> type[Options]:
    if isinstance(found, type) and issubclass(found, Options):
        return found
    raise ConfigError(
        f"{_shown(path)} has no settings: add `class Options(Options)` with "
        "`from eowm.settings.options import Options` (CONTRIBUTING.md)."
    )


@cache
def _parsed(path: Path, _changed: int) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{_shown(path)} is not valid Python: {error}.") from None


def _parse(path: Path) -> ast.Module:
    return _parsed(path, path.stat().st_mtime_ns)


def _options_class(tree: ast.Module) -> ast.stmt | None:
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return next((node for node in classes if node.name == "Options"), None)


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _binds(node: ast.stmt) -> set[str]:
    """The names that a top-level line defines."""
    match node:
        case ast.Import(names) | ast.ImportFrom(names=names):
            return {(alias.asname or alias.name).partition(".")[0] for alias in names}
        case ast.ClassDef(name) | ast.FunctionDef(name):
            return {name}
        case ast.Assign() | ast.AnnAssign():
            stored = (part for part in ast.walk(node) if isinstance(part, ast.Name))
            return {part.id for part in stored if isinstance(part.ctx, ast.Store)}
    return set()


def _shown(path: Path) -> str:
    inside = path.is_relative_to(paths.CHECKOUT)
    return str(path.relative_to(paths.CHECKOUT) if inside else path)
