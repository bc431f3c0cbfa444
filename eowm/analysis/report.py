"""One self-contained page with the results of a preset: no script, no network, no other file."""

import base64
import io
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import jinja2
import pandas as pd
from matplotlib.figure import Figure

from eowm.analysis import figures, results, style, tables
from eowm.config import Config

TEMPLATE = Path(__file__).parent / "report.html.j2"
DRAWN_WITH = ("eowm", "pandas", "scipy", "matplotlib")


def write(
    folder: Path, config: Config, preset: str, notebooks: Sequence[Path] | None = None
) -> Path:
    """`<folder>/report/index.html` from `<folder>/records`; links to the notebooks' pages."""
    page = folder / "report" / "index.html"
    if notebooks is None:
        notebooks = sorted((folder / "notebooks").glob("*.html"))
    runs = results.collect(folder / "records", config, preset)
    text = render(runs, config, preset, [(path.stem, _link(path, page)) for path in notebooks])
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return page


def render(
    runs: pd.DataFrame, config: Config, preset: str, notebooks: Sequence[tuple[str, str]] = ()
) -> str:
    """The page as text. `notebooks`: name and address of each."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    summary = results.summarise(runs, config)
    return template.render(
        preset=preset,
        state=_state(runs),
        verdict=_verdict(runs),
        tables=[
            tables.layout(summary, config, name) for name in tables.TITLES if name in config.tables
        ],
        metrics=tables.METRICS,
        references=tables.REFERENCES,
        figure=_embedded(figures.figure3(runs, config)),
        notebooks=notebooks,
        provenance=provenance(runs, config, preset),
    )


def provenance(runs: pd.DataFrame, config: Config, preset: str) -> dict[str, str]:
    """Where the numbers come from, by name."""
    recorded = runs[runs.status != results.NOT_RUN]
    sources = recorded.groupby("dataset").data_source.unique()
    return {
        "Preset": f"{preset}: {config.presets[preset].description}",
        "Records": f"{len(recorded)} ({_state(runs)})",
        "Data": "; ".join(f"{name}: {', '.join(sorted(by))}" for name, by in sources.items()),
        "Code of the runs": _distinct(recorded["commit"]),
        "Trained with": f"Python {_distinct(recorded.python)}, torch {_distinct(recorded.torch)}",
        "Trained on": _distinct(recorded.device),
        "Training time": _duration(recorded.train_seconds.sum()),
        "Drawn with": ", ".join(f"{name} {version(name)}" for name in DRAWN_WITH),
    }


def _state(runs: pd.DataFrame) -> str:
    complete = int((runs.status == results.COMPLETE).sum())
    missing = int((runs.status == results.NOT_RUN).sum())
    failed = len(runs) - complete - missing
    return f"{complete} of {len(runs)} runs complete, {failed} failed, {missing} not run"


def _verdict(runs: pd.DataFrame) -> str:
    """May these numbers be compared with the paper's at all?"""
    complete = runs[runs.status == results.COMPLETE]
    comparable = int(complete.comparable.sum())
    if complete.empty:
        return "There is no result yet."
    if comparable == len(complete):
        return "All results were made on the real data with the paper's budget."
    reasons = {
        "reduced budget": (complete.budget == "reduced").any(),
        "stand-in data": complete.standin.any(),
        "stale settings": complete.stale.any(),
    }
    why = ", ".join(name for name, holds in reasons.items() if holds)
    some = f"{comparable} of the {len(complete)}" if comparable else f"None of the {len(complete)}"
    return f"{some} results may be compared with the paper's ({why})."


def _duration(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def _distinct(values: pd.Series) -> str:
    return ", ".join(sorted({str(value) for value in values.dropna()})) or "unknown"


def _embedded(figure: Figure) -> str:
    """SVG as a data address: sharp at every zoom, and its ids cannot clash with the page's."""
    buffer = io.BytesIO()
    with style.context():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def _link(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target, page.parent)).as_posix()
