"""Snakemake `script:`: run a notebook and export it as HTML.

    input:  notebook=…
    output: notebook=…, html=…
    log:    notebook=…, text=…
    params: parameters={…}

The executed copy is a log first: Snakemake deletes the outputs of a rule that failed.
"""

import os
import shutil
import sys
from pathlib import Path

import notebooks
from eowm.errors import UserError

job = snakemake  # noqa: F821  # type: ignore[name-defined]

terminal = os.dup(sys.stderr.fileno())
with open(job.log.text, "w", encoding="utf-8") as log:
    # By descriptor: the kernel is another process, and its warnings belong in the log too.
    os.dup2(log.fileno(), sys.stdout.fileno())
    os.dup2(log.fileno(), sys.stderr.fileno())
    try:
        notebooks.execute(
            Path(job.input.notebook),
            dict(job.params.parameters),
            Path(job.log.notebook),
            Path(job.output.html),
            cwd=Path.cwd(),
            log=log,
        )
    except UserError as error:
        log.write(f"{error}\n")
        os.write(terminal, f"{error}\n".encode())
        sys.exit(1)

shutil.copyfile(job.log.notebook, job.output.notebook)
