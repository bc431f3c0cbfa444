"""The real command line, in a project with made-up records."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from eowm.paths import CHECKOUT


def eowm(folder: Path, *arguments: str | Path) -> tuple[int, str]:
    """Exit code, and what was said on stdout and stderr."""
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "EOWM_OUT": ""}
    command = [sys.executable, "-m", "eowm", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def make_project(folder: Path) -> Path:
    for name in ("config.yaml", "Snakefile"):
        shutil.copy(CHECKOUT / name, folder)
    return folder
