"""Table 2 as a heat map of our number minus the paper's, a button a cell."""

import math
from dataclasses import dataclass

import pandas as pd

from eowm.analysis import style, tables
from eowm.analysis.statistics import NOT_COMPARABLE
from eowm.settings.config import Config

FULL = 0.2  # a difference of this size or more has the full colour
ABOVE, BELOW = (0x56, 0xB4, 0xE9), (0xE6, 0x9F, 0x00)  # Okabe and Ito's sky blue and orange
PLAIN = "#f1f1ef"  # cells without a difference to the paper


@dataclass(frozen=True)
class Spot:
    cell: str
    scenario: str
    family: str
    shown: str  # in the cell: the difference, or our number, or why there is none
    below: str  # in small print: marks, or the sign of the verdict
    colour: str
    verdict: str
    ran: bool
    label: str  # for a screen reader


@dataclass(frozen=True)
class Row:
    title: str
    reference: bool
    spots: tuple[Spot, ...]


@dataclass(frozen=True)
class Map:
    metric: str
    columns: tuple[tuple[str, str, str], ...]  # title, tasks, family
    rows: tuple[Row, ...]


def maps(summary: pd.DataFrame, config: Config, table: str = "table2") -> list[Map]:
    """One for each metric of the paper."""
    if table not in config.tables:
        return []
    grid, content = config.tables[table], tables.layout(summary, config, table)
    columns = tuple(
        (name, tasks, style.split(scenario)[0])
        for scenario, (name, tasks) in zip(grid.scenarios, content.columns, strict=True)
    )
    shown = summary[(summary.table == table) & summary.in_grid]
    lines = {(line.metric, line.row, line.scenario): line for line in shown.itertuples()}
    found = []
    for block in content.blocks:
        rows = []
        for row, line in zip((*grid.methods, *grid.references), block.lines, strict=True):
            spots = (
                _spot(lines[block.metric, row, scenario], entry, line.title)
                for scenario, entry in zip(grid.scenarios, line.entries, strict=True)
            )
            rows.append(Row(line.title, line.reference, tuple(spots)))
        found.append(Map(block.metric, columns, tuple(rows)))
    return found


def _spot(line, entry: tables.Entry, title: str) -> Spot:
    difference = line.mean - line.paper
    judged = bool(entry.sign)
    if judged:
        shown, below = f"{difference:+.3f}".replace("-", "−"), f"{entry.sign} {line.mean:.3f}"
    else:
        shown = f"{line.mean:.3f}" if line.n else entry.ours
        below = "" if line.n or not entry.paper else f"paper {line.paper:.3f}"
    marks = ",".join(entry.marks.replace("m", "") if line.n else "")
    limits = f" ({line.note})" if line.note else ""
    parts = [f"{title}, {style.scenario_title(line.scenario)}, {line.metric}: {entry.ours}{limits}"]
    if entry.paper:
        parts.append(f"paper {entry.paper}, {entry.verdict or NOT_COMPARABLE}")
    return Spot(
        cell=entry.cell,
        scenario=line.scenario,
        family=style.split(line.scenario)[0],
        shown=shown,
        below=" ".join(filter(None, (below, marks))),
        colour=shade(difference) if judged else PLAIN,
        verdict=entry.verdict or "no number in the paper",
        ran=bool(line.n),
        label="; ".join(parts),
    )


def shade(difference: float) -> str:
    """White at no difference; the root makes small differences visible."""
    full = ABOVE if difference > 0 else BELOW
    share = math.sqrt(min(abs(difference) / FULL, 1.0))
    return "#" + "".join(f"{round(255 + share * (end - 255)):02x}" for end in full)


SCALE = tuple((value, shade(value)) for value in (-FULL, -0.05, -0.01, 0.0, 0.01, 0.05, FULL))
