"""The figure of results.json: every goal, the growth with tasks, and the ladder of the CNN."""

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import report
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from eowm.analysis import style
from eowm.settings.config import load_config

COLOURS = {"met": "#0072B2", "missed": "#D55E00"}
SHORT = {  # the rows of panel (a), by the beginning of their names
    "loop-bare": "loop vs bare tensors",
    "loop-avalanche": "loop vs Avalanche",
    "loop-avalanche-tensors": "loop vs Avalanche, tensors",
    "owm-step": "OWM step vs SGD",
    "owm-overhead": "OWM overhead vs published",
    "eowm-step": "EOWM step vs SGD",
    "eowm-overhead": "EOWM overhead vs published",
    "cnn-peak": "SGD step, share of peak",
    "ewc-fisher": "Fisher vs one at a time",
    "ogd-projection": "OGD projection vs vectors",
    "ogd-step": "OGD step vs SGD",
    "mir-scores": "MIR scores vs copied net",
    "dry-run": "dry run of the paper's grid",
    "quick-wall": "`quick`: wall vs training",
}
NETWORKS = {"mlp": "MLP", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}


def draw(results: dict[str, Any], folder: Path) -> None:
    """Nothing where a subject that has a panel is not measured yet."""
    if not {"cnn", "growth"} <= {row["subject"] for row in results["rows"]}:
        return
    with style.context():
        page = Figure(figsize=(style.TEXT_WIDTH, 6.3), layout="constrained")
        upper, lower = page.subfigures(2, 1, height_ratios=[1.6, 1])  # margins of their own
        goals(upper.subplots(), results["rows"])
        left, right = lower.subplots(1, 2, width_ratios=[1.2, 1])
        growth(left, results["rows"])
        ladder(right, results["rows"])
        page.savefig(folder / "results.png", metadata={"Software": None})
        page.savefig(folder / "results.pdf", metadata={"CreationDate": None})


def goals(panel: Axes, rows: list[dict[str, Any]]) -> None:
    """How far each ratio is from its goal, on the good side or on the other."""
    judged = [row for row in rows if row["met"] is not None and row["unit"]]
    table = pd.DataFrame(
        {
            "row": [short(row["name"]) for row in judged],
            "margin": [margin(row, row["value"]) for row in judged],
            "goal": ["met" if row["met"] else "missed" for row in judged],
        }
    )
    sns.scatterplot(
        table, x="margin", y="row", hue="goal", style="goal", s=30, ax=panel, zorder=3,
        hue_order=list(COLOURS), style_order=list(COLOURS), palette=COLOURS, markers=["o", "X"],
    )  # fmt: skip
    for place, row in enumerate(judged):
        colour = COLOURS["met" if row["met"] else "missed"]
        ends = [margin(row, end) for end in row["spread"] or []]
        panel.plot(ends, [place] * len(ends), color=colour, linewidth=2.5, alpha=0.35, zorder=2)
        panel.text(1.01, place, f"{report.value(row | {'spread': None})}, goal {report.goal(row)}",
                   transform=panel.get_yaxis_transform(), va="center", color=colour,
                   size=style.NOTE_SIZE)  # fmt: skip
    panel.axvline(1, color="#333333", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_xticks([0.1, 0.25, 0.5, 1, 2, 4, 8], ["1/10", "1/4", "1/2", "goal", "2", "4", "8"])
    panel.set_xticks([], minor=True)
    panel.set(xlabel="times better than its goal (bars: quartiles of the rounds)", ylabel="")
    panel.legend(loc="lower left", title=None)
    panel.set_title("(a) what has a goal", loc="left")


def margin(row: dict[str, Any], value: float) -> float:
    return row["limit"] / value if row["sign"] == "≤" else value / row["limit"]


def short(name: str) -> str:
    start = max((key for key in SHORT if name.startswith(key)), key=len)
    network = NETWORKS.get(name.removeprefix(start).strip("-"), "")
    return f"{SHORT[start]}, {network}" if network else SHORT[start]


def growth(panel: Axes, rows: list[dict[str, Any]]) -> None:
    """Step time over the number of tasks, as a multiple of the first point."""
    config = load_config()
    points = [
        {"method": row["name"].removeprefix("tasks-"), "tasks": int(count), "time": seconds,
         "first": next(iter(row["series"].values()))}
        for row in rows if row["name"].startswith("tasks-")
        for count, seconds in row["series"].items()
    ]  # fmt: skip
    table = pd.DataFrame(points)
    table["relative"] = table.time / table["first"]
    names = list(table.method.unique())
    sns.lineplot(
        table, x="tasks", y="relative", hue="method", style="method", ax=panel, legend=False,
        palette={name: style.LOOKS[name][0] for name in names}, dashes=False,
        markers={name: style.LOOKS[name][1] for name in names}, markeredgewidth=0.3, markersize=5,
    )  # fmt: skip
    panel.set(xscale="log", yscale="log", xlabel="tasks learnt before")
    panel.set_ylabel(f"time of a step ÷ that after {table.tasks.min()}")
    ticks = sorted(table.tasks.unique())
    panel.set_xticks(ticks, [str(tick) for tick in ticks])
    panel.set_yticks([1, 2, 4], ["1", "2", "4"])
    panel.set_ylim(0.8, 12)  # room for the legend
    panel.set_xticks([], minor=True)
    panel.set_yticks([], minor=True)
    handles = [
        Line2D([], [], color=style.LOOKS[name][0], marker=style.LOOKS[name][1], markersize=3.5,
               label=style.title(config, name)) for name in names
    ]  # fmt: skip
    panel.legend(handles=handles, ncols=3, loc="upper left", fontsize=style.NOTE_SIZE,
                 handlelength=1.4, labelspacing=0.25, columnspacing=0.9)  # fmt: skip
    panel.set_title("(b) growth with tasks, Shuffled MNIST", loc="left")


def ladder(panel: Axes, rows: list[dict[str, Any]]) -> None:
    """Share of the machine's peak, change by change."""
    points = []
    for key in ("cifar10", "cifar100"):
        share = next(row["value"] for row in rows if row["name"] == f"cnn-peak-{key}")
        points.append({"network": NETWORKS[key], "step": "the project's", "share": share})
        start = f"tried on the CNN of {NETWORKS[key]}: "
        points += [
            {"network": NETWORKS[key], "step": row["what"].removeprefix(start),
             "share": share / row["value"]}
            for row in rows
            if row["name"].startswith(f"cnn-tried-{key}-") and not row["name"].endswith("threads")
        ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seaborn's own use of a deprecated argument
        sns.barplot(pd.DataFrame(points), x="share", y="step", hue="network", ax=panel,
                    palette=["#56B4E9", "#332288"], width=0.75)  # fmt: skip
    labels = [label.get_text() for label in panel.get_yticklabels()]
    panel.set_yticks(panel.get_yticks(), [labels[0], labels[1], *(f"+ {x}" for x in labels[2:])])
    panel.axvline(0.4, color="#333333", linewidth=0.8)
    panel.set(xlabel="share of the peak (goal: 0.4)", ylabel="")
    panel.set_xlim(0, 1)
    panel.legend(loc="upper right", title=None, fontsize=style.NOTE_SIZE)
    panel.set_title("(c) SGD on the CNNs: what was tried", loc="left")
