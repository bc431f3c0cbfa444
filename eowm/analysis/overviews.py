"""Two overviews as figures: what the paper's ambiguities do to the numbers, and its claims.

Both draw a table that others computed: `ambiguities.to_frame` and `claims.to_frame`.
"""

import itertools
import textwrap
from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from eowm.analysis import style
from eowm.analysis.figures import CAPTION_LINE, caption, empty
from eowm.settings.config import Config

# --- ambiguities: differences with their intervals ----------------------------------------------

LINE, TOPIC = 0.17, 0.20  # inches: a comparison, and the heading above its group
STEP = 0.05  # inches between the scenarios of a comparison
LABELS, PANEL, GAP = 2.50, 2.02, 0.22  # inches: the column of names, a panel, between panels
LINEAR = 0.01  # differences are drawn linearly up to here, then by their order of magnitude
# Scenarios differ by shape and fill: colours belong to methods.
SHAPES = [
    (shape, ("black", "white")[(place + turn) % 2])
    for turn in (0, 1)
    for place, shape in enumerate("osD^v")
]


def sensitivity_figure(differences: pd.DataFrame, config: Config) -> Figure:
    """`ambiguities.to_frame`; `variant` and `default` are cells (`table/scenario/row`).

    A line compares two rows, with a marker for each scenario and the 95 % t-interval of the paired
    difference. A reduced budget makes another scenario of it.
    """
    with style.context():
        if differences.empty:
            return empty("no comparison")
        lines = compared(differences, config)
        drawn = lines[lines.n > 0].scenario.unique()
        shapes = dict(zip(drawn, itertools.cycle(SHAPES), strict=False))
        letters = {note: chr(97 + i) for i, note in enumerate(_notes(lines))}
        places, height = _places(lines)
        meaning = "; ".join(f"[{letter}] {note}" for note, letter in letters.items())
        limits = textwrap.wrap(meaning, 120, break_on_hyphens=False)
        bottom = 0.50 + 0.16 * -(-len(shapes) // 3) + CAPTION_LINE * len(limits)
        total = height + bottom + 0.22
        page = Figure(figsize=(style.TEXT_WIDTH, total))
        for place, metric in enumerate(lines.metric.unique()):
            left = (LABELS + place * (PANEL + GAP)) / style.TEXT_WIDTH
            panel = page.add_axes((left, bottom / total, PANEL / style.TEXT_WIDTH, height / total))
            _forest(panel, lines[lines.metric == metric], places, shapes, height)
            panel.set_title(f"difference in {metric}", loc="left")
            if not place:
                _names(panel, lines, places, letters)
        page.legend(
            handles=[_handle(name, shapes[name]) for name in shapes], ncols=3,
            loc="lower center", bbox_to_anchor=(0.5, (0.05 + CAPTION_LINE * len(limits)) / total),
        )  # fmt: skip
        caption(page, limits)
    return page


def compared(differences: pd.DataFrame, config: Config) -> pd.DataFrame:
    """With the scenario and its limits, and a name for the pair of rows."""
    scenarios, names = [], []
    for line in differences.itertuples():
        variant, default = _row(line.variant), _row(line.default)
        title = _title(config, variant)
        # What is said of a method needs no second name if it is the method as it stands, and
        # neither does another reading of the same row.
        of_method = default in config.methods and default == variant[: len(default)]
        plain = of_method or variant.partition(", ")[0] == default
        names.append(title if plain else f"{title} − {_title(config, default)}")
        scenario = style.scenario_title(line.variant.split("/")[1])
        scenarios.append(", ".join(filter(None, (scenario, line.limits))))
    return differences.assign(scenario=scenarios, name=names)


def _row(cell: str) -> str:
    return cell.split("/")[2]


def _title(config: Config, row: str) -> str:
    """What follows a comma is another reading of the same records."""
    row, comma, reading = row.partition(", ")
    return style.title(config, row) + comma + reading


def _notes(lines: pd.DataFrame) -> list[str]:
    return [note for note in lines.note.unique() if note]


def _places(lines: pd.DataFrame) -> tuple[dict[tuple[str, str], float], float]:
    """Inches from the top: topics by (topic, ''), comparisons by (topic, name)."""
    places, down = {}, 0.05
    for topic, group in lines.groupby("topic", sort=False):
        places[str(topic), ""] = down + TOPIC / 2
        down += TOPIC
        for name, compared in group.groupby("name", sort=False):
            room = max(LINE, 0.07 + STEP * compared.scenario.nunique())
            places[str(topic), str(name)] = down + room / 2
            down += room
    return places, down + 0.05


def _forest(
    panel: Axes, lines: pd.DataFrame, places: dict, shapes: dict[str, tuple], height: float
) -> None:
    panel.axvline(0, color="#777777", linewidth=0.7, zorder=1)
    for (topic, name), down in places.items():
        here = lines[(lines.topic == topic) & (lines.name == name)] if name else lines[:0]
        if name and not here.n.any():
            panel.text(0, down, "no pair" if len(here) else "", ha="center", va="center",
                       fontsize=style.NOTE_SIZE, style="italic", color=style.NOTE_COLOUR,
                       bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
        shown = here[here.n > 0]
        for place, line in enumerate(shown.itertuples()):
            y = down + STEP * (place - (len(shown) - 1) / 2)
            if not pd.isna(line.low):
                panel.plot([line.low, line.high], [y, y], color="#555555", linewidth=0.8, zorder=2)
            panel.plot(line.difference, y, **_shape(shapes[line.scenario]), zorder=3)
    panel.set_xscale("symlog", linthresh=LINEAR, linscale=1.0)
    most = lines[lines.n > 0][["difference", "low", "high"]].abs().max().max()
    reach = 1.3 * (2 * LINEAR if pd.isna(most) else min(1.0, max(2 * LINEAR, most)))
    panel.set(xlim=(-reach, reach), ylim=(height, 0), yticks=[])
    ticks = [tick for tick in (0.01, 0.1, 1.0) if tick <= reach]
    values = [*(-tick for tick in reversed(ticks)), 0, *ticks]
    panel.set_xticks(values, [f"{value:+g}" if value else "0" for value in values])
    panel.minorticks_off()
    panel.set_xlabel(f"linear within ±{LINEAR:g}, then logarithmic", fontsize=style.NOTE_SIZE)
    panel.spines["left"].set_visible(False)


def _names(panel: Axes, lines: pd.DataFrame, places: dict, letters: dict[str, str]) -> None:
    left = -LABELS / PANEL + 0.02
    for (topic, name), down in places.items():
        here = lines[(lines.topic == topic) & (lines.name == name)]
        marks = "".join(f" [{letters[note]}]" for note in _notes(here)) if name else ""
        text = textwrap.shorten(f"{name or topic}", 50, placeholder=" …") + marks
        panel.text(
            left + (0.04 if name else 0), down, text, ha="left", va="center", clip_on=False,
            transform=panel.get_yaxis_transform(), weight="normal" if name else "bold",
            fontsize=style.NOTE_SIZE,
        )  # fmt: skip


def _shape(shape: tuple[str, str]) -> dict:
    return {"marker": shape[0], "markersize": 3.6, "markerfacecolor": shape[1],
            "markeredgecolor": "black", "markeredgewidth": 0.7, "linestyle": "none"}  # fmt: skip


def _handle(scenario: str, shape: tuple[str, str]) -> Line2D:
    return Line2D([], [], **_shape(shape), label=scenario)


# --- claims: the verdicts -----------------------------------------------------------------------

# Sign and colour: a verdict is never told by its colour alone, and no method has these.
VERDICTS = {
    "holds": ("✓", "#117733"),
    "fails": ("✗", "#AA3377"),
    "undecided": ("?", "#777777"),
}
ROW, BAR = 0.118, 0.22  # inches: a line of text, the bar of counts
COLUMNS = ((0.12, 0), (0.28, 0), (1.82, 60), (4.98, 37))  # inches and characters: sign … reason


def claims_figure(claims: pd.DataFrame) -> Figure:
    """`claims.to_frame`: columns id, statement, status, why; holds first, undecided last."""
    with style.context():
        if claims.empty:
            return empty("no claim")
        entries = list(_entries(claims))
        heights = [ROW * max(len(entry[2]), len(entry[3])) + 0.06 for entry in entries]
        height = BAR + 0.36 + sum(heights)
        page = Figure(figsize=(style.TEXT_WIDTH, height))
        sheet = page.add_axes((0, 0, 1, 1))
        sheet.set(xlim=(0, style.TEXT_WIDTH), ylim=(height, 0))
        sheet.set_axis_off()
        _bar(sheet, claims.status.value_counts())
        down = BAR + 0.28
        for (status, name, statement, why), taken in zip(entries, heights, strict=True):
            sign, colour = VERDICTS[status]
            sheet.text(COLUMNS[0][0], down, sign, color=colour, va="center", weight="bold")
            sheet.text(COLUMNS[1][0], down, name, va="center", fontsize=style.NOTE_SIZE)
            for column, lines, ink in ((2, statement, "black"), (3, why, "#555555")):
                for place, line in enumerate(lines):
                    sheet.text(
                        COLUMNS[column][0], down + place * ROW, line, va="center", color=ink,
                        fontsize=style.NOTE_SIZE,
                    )  # fmt: skip
            down += taken
    return page


def _entries(claims: pd.DataFrame) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Verdict, id, and the lines of statement and reason."""
    for status in VERDICTS:
        for claim in claims[claims.status == status].itertuples():
            statement = textwrap.wrap(claim.statement, COLUMNS[2][1])
            why = textwrap.wrap(claim.why, COLUMNS[3][1], max_lines=3, placeholder=" …")
            yield status, claim.id, statement, why


def _bar(sheet: Axes, counts: pd.Series) -> None:
    """One bar, cut by verdict: `✓ holds: 12`."""
    left, width = 0.12, style.TEXT_WIDTH - 0.24
    for status, (sign, colour) in VERDICTS.items():
        count = int(counts.get(status, 0))
        if count:
            part = width * count / counts.sum()
            sheet.add_patch(Rectangle((left, 0.06), part, BAR, color=colour, linewidth=0))
            text = f"{sign} {status}: {count}" if part > 1 else f"{sign} {count}"
            sheet.text(left + part / 2, 0.06 + BAR / 2, text, ha="center", va="center",
                       color="white", weight="bold")  # fmt: skip
            left += part
