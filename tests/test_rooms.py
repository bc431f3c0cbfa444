"""The rooms of the package import one way, in the order of the flow."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from eowm.paths import CHECKOUT as ROOT

MAY_IMPORT = {
    "settings": set(),
    "data": {"settings"},
    "nets": {"settings", "data"},
    "algebra": set(),
    "methods": {"settings", "data", "nets", "algebra"},
    "records": {"settings"},
    "jobs": {"settings", "records"},
    "training": {"settings", "data", "nets", "algebra", "methods", "records", "jobs"},
    "paper": set(),
    "analysis": {"settings", "records", "jobs", "paper", "theory"},
    "theory": {"algebra"},
}
SHARED = {"errors", "paths"}  # every room may import them
WITHOUT_TORCH = ["settings", "records", "jobs", "paper", "analysis", "cli"]


def imports(file: Path) -> set[str]:
    """The rooms that a module imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("eowm.")}


def trespasses() -> set[tuple[str, str]]:
    package = ROOT / "eowm"
    return {
        (str(file.relative_to(package)), target)
        for room, allowed in MAY_IMPORT.items()
        for file in (package / room).rglob("*.py")
        for target in imports(file) - allowed - SHARED - {room}
    }


def test_every_room_is_in_the_table() -> None:
    rooms = {path.parent.name for path in (ROOT / "eowm").glob("*/__init__.py")}
    assert rooms == MAY_IMPORT.keys()


def test_imports_go_one_way() -> None:
    assert trespasses() == set()


@pytest.mark.parametrize("room", WITHOUT_TORCH)
def test_these_rooms_never_load_torch(room) -> None:
    files = [ROOT / "eowm/cli.py"] if room == "cli" else (ROOT / "eowm" / room).rglob("*.py")
    names = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in sorted(files)
    ]
    code = f"import sys, {', '.join(names)}\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
