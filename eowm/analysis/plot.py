"""Curves of any cells, record files or folders: a metric against the tasks learnt so far."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from eowm.analysis import figures, results, style
from eowm.analysis.collect import METRICS
from eowm.analysis.results import Chosen
from eowm.errors import ConfigError, RecordError, nearest
from eowm.records.metrics import Matrix, all_metrics
from eowm.settings.config import Config

LEGEND_LETTERS = 60  # that fit beside each other
KINDS = (".png", ".pdf", ".svg")
WITH_DATE = {".pdf": "CreationDate", ".svg": "Date"}  # left out: the same picture, the same file
PANELS_A_ROW, PANEL_HEIGHT = 3, 2.1  # inches
KNOWN = "_task_known"  # metrics of a net that chooses among the classes of an image's own task
SIGNED = ("BWT", "FM")
NAMES = {"AA": "average accuracy", "MRR": "memory retention (MRR)", "FM": "forgetting (FM)",
         "BWT": "backward transfer (BWT)", "plasticity": "first accuracy"}  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """One line of the legend, in one panel."""

    label: str
    chosen: Chosen
    points: pd.DataFrame  # a line per seed and number of tasks

    @property
    def scenario(self) -> str:
        return self.chosen.cell.scenario

    @property
    def row(self) -> str:
        return self.chosen.cell.row


def plot(
    config: Config, words: list[str], out: Path, metric: str = "AA", preset: str | None = None
) -> Path:
    """Draw what the words stand for into a file; its name tells the format."""
    if out.suffix not in KINDS:
        raise ConfigError(f"{out} is no picture: end its name with {', '.join(KINDS)}.")
    if metric not in METRICS:
        raise ConfigError(f"metric '{metric}' is unknown{nearest(metric, METRICS)}.")
    left_out = [word[1:] for word in words if word.startswith("!")]
    wanted = [word for word in words if not word.startswith("!")]
    found = [chosen for word in wanted for chosen in results.choose(config, word, preset)]
    found = [chosen for chosen in found if not any(map(chosen.cell.matches, left_out))]
    curves = curves_of(config, {chosen.name: chosen for chosen in found}, metric)
    figure = draw(config, curves, metric)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with style.context():
            dateless = {key: None for kind, key in WITH_DATE.items() if kind == out.suffix}
            figure.savefig(out, metadata=dateless)
    except OSError as error:
        raise RecordError(f"cannot write {out}: {error.strerror}.") from None
    return out


def so_far(matrix: Matrix, metric: str) -> list[float | None]:
    """After each task, the metric as if that task had been the last."""
    return [
        all_metrics([row and row[:tasks] for row in matrix[:tasks]])[metric]
        for tasks in range(1, len(matrix) + 1)
    ]


def draw(config: Config, curves: list[Curve], metric: str) -> Figure:
    """A panel per scenario, a look per label."""
    looks, lowest = dict(_looks(config, curves)), -1 if metric in SIGNED else 0
    scenarios = list(dict.fromkeys(curve.scenario for curve in curves))
    with style.context():
        figure, panels = _panels(scenarios)
        for scenario, panel in zip(scenarios, panels, strict=True):
            here = [curve for curve in curves if curve.scenario == scenario]
            for curve in sorted(here, key=lambda curve: curve.row == "eowm"):
                _draw_curve(panel, curve, looks[curve.label], lowest, alone=len(here) == 1)
            panel.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
            figures.write_notes(panel, _limits(here))
        figure.supylabel(_axis(metric))
        columns = max(1, min(3, LEGEND_LETTERS // max(map(len, looks))))
        figure.legend(handles=_legend(curves, looks), loc="outside lower center", ncols=columns)
    return figure


def _draw_curve(panel: Axes, curve: Curve, look: style.Look, lowest: float, alone: bool) -> None:
    """A metric that is known at the end only (joint training) is a level line."""
    points = curve.points
    if points.tasks.nunique() == 1:
        tasks = len(curve.chosen.runs.accuracy.iloc[0])
        points = pd.concat([points.assign(tasks=task) for task in (1, tasks)])
        look = replace(look, marker="")
    figures.curve(panel, points, look, curve.row == "eowm" and not alone, lowest)


def curves_of(config: Config, found: dict[str, Chosen], metric: str) -> list[Curve]:
    """Those that have the metric; named as in the tables, where that tells them apart."""
    curves: list[Curve] = []
    for chosen in found.values():
        taken = {curve.label for curve in curves if curve.scenario == chosen.cell.scenario}
        label = next(label for label in _labels(config, chosen) if label not in taken)
        curves.append(Curve(label, chosen, _points(chosen.runs, metric)))
    drawn = [curve for curve in curves if len(curve.points)]
    if not drawn:
        raise RecordError(f"no run of {', '.join(found)} has {metric}.")
    return drawn


def _labels(config: Config, chosen: Chosen) -> Iterator[str]:
    """From short to unmistakable."""
    if chosen.cell.method not in config.methods:
        raise ConfigError(f"{chosen.name}: config.yaml has no method '{chosen.cell.method}'.")
    title = style.title(config, chosen.cell.row)
    if chosen.is_cell or ": " in chosen.name:  # of a folder with several cells
        yield title
        yield f"{title} ({chosen.cell.table})"
    yield f"{title}, {Path(chosen.name).name}"
    yield f"{title}, {chosen.name}"


def _points(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    plain = metric.removesuffix(KNOWN)
    lines = []
    for run in runs.itertuples():
        matrix = run.accuracy if plain == metric else run.task_known
        for tasks, value in enumerate(so_far(matrix or [], plain), start=1):
            if value is not None:
                lines.append((run.seed, tasks, value))
    return pd.DataFrame(lines, columns=["seed", "tasks", "accuracy"])


def _looks(config: Config, curves: list[Curve]) -> Iterator[tuple[str, style.Look]]:
    """A method's own look, or a free one where another curve has it already."""
    taken: list[style.Look] = []
    for label, row in {curve.label: curve.row for curve in curves}.items():
        look = style.look(config, row)
        if look in taken:
            look = style.free_look(len(taken))
        taken.append(look)
        yield label, look


def _panels(scenarios: list[str]) -> tuple[Figure, list[Axes]]:
    columns = min(len(scenarios), PANELS_A_ROW)
    rows = -(-len(scenarios) // columns)
    width = style.COLUMN_WIDTH + 1 if columns == 1 else style.TEXT_WIDTH
    figure = Figure(figsize=(width, rows * PANEL_HEIGHT + 0.9), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for scenario, panel in zip(scenarios, panels, strict=False):
        panel.set_title(style.scenario_title(scenario), loc="left")
        panel.set_xlabel("tasks learnt")
    for empty in panels[len(scenarios) :]:
        empty.remove()
    return figure, panels[: len(scenarios)]


def _axis(metric: str) -> str:
    plain = metric.removesuffix(KNOWN)
    return f"{NAMES[plain]} of the tasks learnt" + ("" if plain == metric else ", task known")


def _legend(curves: list[Curve], looks: dict[str, style.Look]) -> list[Line2D | Patch]:
    handles: list[Line2D | Patch] = []
    for label, look in looks.items():
        marker = look.marker if look.filled else ""
        handles.append(Line2D([], [], color=look.colour, linestyle=look.line, marker=marker,
                              label=label))  # fmt: skip
    if any(len(curve.chosen.runs) > 1 for curve in curves):
        handles.append(Patch(color="#777777", alpha=0.3, label="95 % t-interval"))
    return handles


def _limits(curves: list[Curve]) -> list[str]:
    """What a reader must know about them."""
    limited = {curve.label: ", ".join(curve.chosen.remarks) for curve in curves}
    return [f"{label}: {why}" for label, why in limited.items() if why]
