"""One self-contained page with the results of a preset: no network and no other file needed.

`page.html.j2` is its text, `page.css` and `page.js` its look and behaviour. The stories of the
cells are embedded as JSON; the script shows one in a dialog.
"""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
import pandas as pd

from eowm.analysis import agreement, ambiguities, claims, figures, findings, style, tables
from eowm.analysis.report import cells, heatmap, opening, pictures
from eowm.analysis.statistics import RULE
from eowm.settings.config import Config
from eowm.settings.options import docstring_of

HERE = Path(__file__).parent


def write(
    runs: pd.DataFrame,
    config: Config,
    preset: str,
    folder: Path,
    elsewhere: Mapping[str, pd.DataFrame] = ambiguities.NOWHERE,
) -> Path:
    """`<folder>/report/index.html`, with the figures that `folder` has.

    `elsewhere`: the runs of other presets (`collect.beside`).
    """
    page = folder / "report" / "index.html"
    text = render(
        runs,
        config,
        preset,
        theorems=folder / "tables" / "theorems.csv",
        drawings=pictures.found(folder / "figures"),
        elsewhere=elsewhere,
        agreed=agreement.of_preset(config, preset, runs),
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return page


def render(
    runs: pd.DataFrame,
    config: Config,
    preset: str,
    theorems: Path | None = None,
    drawings: Sequence[pictures.Picture] = (),
    elsewhere: Mapping[str, pd.DataFrame] = ambiguities.NOWHERE,
    agreed: pd.DataFrame = agreement.NOTHING,
) -> str:
    """The page as text. `agreed`: this machine's runs beside the published ones."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["family"] = lambda scenario: style.split(scenario)[0]
    template = environment.from_string((HERE / "page.html.j2").read_text(encoding="utf-8"))
    judged = claims.gather(runs, config, theorems)
    summary = judged.summary
    shown = [
        tables.layout(summary, config, name) for name in tables.TITLES if name in config.tables
    ]
    maps = [block for table in shown if table.name == "table2" for block in table.blocks]
    return template.render(
        preset=preset,
        sentences=opening.sentences(runs, summary),
        verdict=findings.verdict(config) if len(agreed) else [],
        agreement=agreement.sentence(agreed),
        agreement_rule=agreement.RULE,
        agreed=list(agreed.itertuples()),
        disagrees=agreement.disagrees(agreed),
        maps=maps,
        spot=heatmap.spot,
        scale=heatmap.SCALE,
        tables=shown,
        metrics=tables.METRICS,
        references=tables.REFERENCES,
        rule=RULE,
        figure=pictures.embedded(figures.figure3(runs, config)),
        drawings=drawings,
        claims=claims.evaluate(judged),
        claim_rule=claims.RULE,
        ambiguities=[
            (entry, ambiguities.measure(runs, config, entry, elsewhere))
            for entry in ambiguities.load()
        ],
        methods=[
            (name, method.title, _blocks(docstring_of(name)))
            for name, method in config.methods.items()
        ],
        provenance=opening.provenance(runs, config, preset),
        runs=list(runs[runs.dataset.notna()].fillna({"commit": "unknown"}).itertuples()),
        stories=cells.stories(runs, summary, config, preset),
        scenario_title=style.scenario_title,
        scenario_lines=style.scenario_lines,
        css=(HERE / "page.css").read_text(encoding="utf-8"),
        js=(HERE / "page.js").read_text(encoding="utf-8"),
    )


def _blocks(docstring: str) -> list[tuple[bool, str]]:
    """The paragraphs of a method's docstring; True: indented, so equations."""
    blocks = docstring.split("\n\n")
    return [(block.startswith("    "), inspect.cleandoc(block)) for block in blocks]
