"""A throw-away copy of the project, and the real `snakemake` in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from eowm.paths import CHECKOUT as ROOT

COPIED = ["Snakefile", "workflow", "eowm", "notebooks", "config.yaml", "environment.yml",
          "profiles", "pyproject.toml"]  # fmt: skip


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source, target = ROOT / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        (folder / "standin.yaml").write_text("preset: smoke\ndata: {source: standin}\n")

    def run(self, *command: str, timeout: float = 600) -> subprocess.CompletedProcess:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "EOWM_CACHE_DIR": str(self.folder / "data")}
        environment.pop("EOWM_DATA_DIR", None)
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # Snakemake uses both, and a dry run the other one
            text=True,
            timeout=timeout,
        )

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess:
        # The options that take lists come last: they would swallow a target.
        return self.run("snakemake", *arguments, "--cores", "2", "--configfile", "standin.yaml")
