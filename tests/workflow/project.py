"""A throw-away copy of the project, and the real `snakemake` and `make` in it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from eowm.paths import CHECKOUT as ROOT

COPIED = ["Snakefile", "workflow", "eowm", "notebooks", "config.yaml", "environment.yml",
          "profiles", "pyproject.toml", "requirements.lock", "Makefile", "docs"]  # fmt: skip

# The smallest grid that has everything: two methods on MNIST, and a table of variants.
SMALL = {
    "table2": {"scenarios": ["shuffled-mnist-3"], "methods": ["owm"], "references": ["finetune"]},
    "table3": {"scenarios": ["shuffled-mnist-2"], "methods": ["eowm:w2-0.10"]},
}


class Project:
    def __init__(self, folder: Path, **changes) -> None:
        """`changes` replace top-level keys of config.yaml."""
        self.folder = folder
        for name in COPIED:
            source, target = ROOT / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        (folder / "standin.yaml").write_text("preset: smoke\ndata: {source: standin}\n")
        if changes:
            file = folder / "config.yaml"
            config = yaml.safe_load(file.read_text()) | changes
            file.write_text(yaml.safe_dump(config, sort_keys=False))

    def pretend_theorems(self, preset: str = "smoke", root: Path | None = None) -> None:
        """Files in place of what needs no training and much time, so that it is not made."""
        out = (root or self.folder) / "paper_figures" / preset
        names = ["notebooks/theorems.ipynb", "notebooks/theorems.html", "tables/theorems.csv"]
        figures = ("figure1", "theorem4")
        names += [f"figures/{name}.{kind}" for name in figures for kind in ("pdf", "png")]
        for name in names:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            published = ROOT / "paper_figures/paper"
            drawn = published / ("figures/figure1.png" if name.endswith(".png") else name)
            (out / name).write_bytes(drawn.read_bytes() if drawn.exists() else b"")

    def environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "EOWM_CACHE_DIR": str(self.folder / "data")}
        for name in ("EOWM_DATA_DIR", "EOWM_CONFIG", "PYTHONPATH"):  # this copy's, nothing else
            environment.pop(name, None)
        return environment

    def run(self, *command: str, timeout: float = 1800) -> subprocess.CompletedProcess:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # Snakemake uses both, and a dry run the other one
            text=True,
            timeout=timeout,
        )

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess:
        # The options that take lists come last: they would swallow a target.
        return self.run("snakemake", *arguments, "--cores", "2", "--configfile", "standin.yaml")

    def make(self, *arguments: str) -> subprocess.CompletedProcess:
        """With the environment that runs the tests: its stamp says that it is set up."""
        stamp = self.folder / "stamp"
        stamp.touch()
        return self.run("make", f"VENV={sys.prefix}", f"STAMP={stamp}", *arguments)

    def eowm(self, *arguments: str) -> subprocess.CompletedProcess:
        return self.run(sys.executable, "-m", "eowm", *arguments)

    def record(self, cell: str, preset: str = "smoke", seed: int = 0) -> Path:
        path = f"paper_figures/{preset}/records/{cell.replace(':', '/')}/seed{seed}.json"
        return self.folder / path

    def checkpoint(self, cell: str, preset: str = "smoke", seed: int = 0) -> Path:
        return self.folder / f"results/{preset}/checkpoints/{cell}/seed{seed}.pt"


def jobs(output: str) -> dict[str, int]:
    """Rule → number of jobs, from the table that a dry run prints."""
    return {m[1]: int(m[2]) for m in re.finditer(r"^(\S+) +(\d+)$", output, re.M)}
