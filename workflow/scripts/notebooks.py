"""Run a parameterised notebook and export it as a page that can be read without a network."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from eowm import paths
from eowm.errors import UserError, nearest

KERNEL = "python3"
TEMPLATES = paths.ROOT / "workflow" / "nbconvert"


class NotebookError(UserError):
    """A notebook failed, or was given a parameter that it does not have."""


def execute(
    notebook: Path,
    parameters: Mapping[str, Any],
    executed: Path,
    html: Path | None = None,
    *,
    cwd: Path = paths.ROOT,
    log: TextIO | None = None,
) -> None:
    """Run `notebook`; `executed` is its copy with outputs and is kept also when a cell fails.

    `log` gets what the cells print.
    """
    import papermill  # here: it takes a second, and `export` works without it

    _refuse_unknown(notebook, parameters, papermill.inspect_notebook(str(notebook)))
    executed.parent.mkdir(parents=True, exist_ok=True)
    try:
        papermill.execute_notebook(
            str(notebook),
            str(executed),
            parameters={name: _plain(value) for name, value in parameters.items()},
            kernel_name=KERNEL,
            progress_bar=False,
            log_output=True,
            stdout_file=log,
            stderr_file=log,
            cwd=str(cwd),
        )
    except papermill.PapermillExecutionError as error:
        raise NotebookError(
            f"{notebook} failed at In [{error.exec_count}] ({error.ename}: {error.evalue}); "
            f"its copy with all outputs is {executed}."
        ) from None
    if html is not None:
        export(executed, html)


def export(executed: Path, html: Path) -> None:
    """One HTML file with pictures inside and formulas as MathML."""
    exporter = _mathml().OfflineExporter(
        template_name="offline", extra_template_basedirs=[str(TEMPLATES)]
    )
    text, _ = exporter.from_filename(str(executed))
    html.parent.mkdir(parents=True, exist_ok=True)
    html.write_text(text, encoding="utf-8")


def _refuse_unknown(notebook: Path, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """papermill would only warn, and the notebook would run with its default."""
    for name in given:
        if name not in known:
            raise NotebookError(f"{notebook} has no parameter '{name}'{nearest(name, known)}.")


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _mathml() -> Any:
    """The exporter lives beside its template, outside the package."""
    spec = importlib.util.spec_from_file_location("mathml", TEMPLATES / "mathml.py")
    if spec is None or spec.loader is None:
        raise NotebookError(f"{TEMPLATES / 'mathml.py'} cannot be loaded.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
