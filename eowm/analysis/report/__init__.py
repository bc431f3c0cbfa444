"""One self-contained page with the results of a preset: no network and no other file needed.

`page.html.j2` is its text, `page.css` and `page.js` its look and behaviour. The stories of the
cells are embedded as JSON; the script shows one in a dialog.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
import pandas as pd

from eowm.analysis import claims, figures, ledger, results, style, tables
from eowm.analysis.report import heatmap, pictures, story, verdict
from eowm.analysis.report.verdict import provenance
from eowm.analysis.statistics import RULE
from eowm.paper import methods
from eowm.settings.config import Config

HERE = Path(__file__).parent

__all__ = ["provenance", "render", "write"]


def write(
    folder: Path, config: Config, preset: str, notebooks: Sequence[Path] | None = None
) -> Path:
    """`<folder>/report/index.html` from `<folder>/records`; links to the notebooks' pages."""
    page = folder / "report" / "index.html"
    if notebooks is None:
        notebooks = sorted((folder / "notebooks").glob("*.html"))
    runs = results.collect(folder / "records", config, preset)
    text = render(
        runs,
        config,
        preset,
        notebooks=[(path.stem, _link(path, page)) for path in notebooks],
        theorems=folder / "tables" / "theorems.csv",
        drawings=pictures.found(folder / "figures"),
        elsewhere=ledger.runs_elsewhere(folder, config, preset),
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return page


def render(
    runs: pd.DataFrame,
    config: Config,
    preset: str,
    notebooks: Sequence[tuple[str, str]] = (),
    theorems: Path | None = None,
    drawings: Sequence[pictures.Picture] = (),
    elsewhere: Mapping[str, pd.DataFrame] = ledger.NOWHERE,
) -> str:
    """The page as text. `notebooks`: name and address; `elsewhere`: `ledger.runs_elsewhere`."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((HERE / "page.html.j2").read_text(encoding="utf-8"))
    evidence = claims.gather(runs, config, theorems)
    summary, evaluated = evidence.summary, claims.evaluate(evidence)
    shown = [name for name in tables.TITLES if name in config.tables]
    return template.render(
        preset=preset,
        sentences=verdict.sentences(runs, summary),
        maps=heatmap.maps(summary, config),
        scale=heatmap.SCALE,
        tables=[tables.layout(summary, config, name) for name in shown],
        metrics=tables.METRICS,
        references=tables.REFERENCES,
        rule=RULE,
        figure=pictures.embedded(figures.figure3(runs, config)),
        drawings=drawings,
        claims=evaluated,
        claim_rule=claims.RULE,
        ledger=[(entry, ledger.measure(runs, config, entry, elsewhere)) for entry in ledger.load()],
        methods=[
            (name, config.methods[name].title if name in config.methods else name.upper(), entry)
            for name, entry in methods().items()
        ],
        notebooks=notebooks,
        provenance=provenance(runs, config, preset),
        runs=list(runs[runs.dataset.notna()].fillna({"commit": "unknown"}).itertuples()),
        stories=story.stories(runs, summary, config, preset),
        scenario_title=style.scenario_title,
        css=(HERE / "page.css").read_text(encoding="utf-8"),
        js=(HERE / "page.js").read_text(encoding="utf-8"),
    )


def _link(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target, page.parent)).as_posix()
