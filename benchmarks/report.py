"""The files of a run: results.json, a table made from it (results.md), and a figure."""

import json
import os
import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import torch
from common import Row

from eowm.training import run as runs

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
BEFORE = HERE / "before.json"  # a results.json of an earlier commit, to be seen beside the newest
SUBJECTS = {  # in the order of the table
    "loop": "The training loop",
    "projection": "OWM and EOWM",
    "cnn": "The CIFAR networks",
    "baselines": "EWC, OGD and MIR",
    "growth": "Growth with tasks and width",
    "startup": "The start of a run",
    "dryrun": "The workflow's dry run",
    "quick": "The whole preset `quick`",
}


# --- results.json ---------------------------------------------------------------------------------


def save(
    subject: str, rows: Iterable[Row], peak: float | None = None, path: Path = RESULTS
) -> None:
    """Put a subject's rows in the place of its earlier ones; of another machine nothing is kept."""
    here = machine()
    known = json.loads(path.read_text()) if path.exists() else {}
    if comparable(known.get("machine", {})) != comparable(here):
        known = {"rows": []}
    here |= {"peak_gflops": peak or known.get("machine", {}).get("peak_gflops")}
    stamp = {"subject": subject, "date": date.today().isoformat(), "commit": here.pop("commit")}
    kept = [row for row in known["rows"] if row["subject"] != subject]
    kept += [stamp | row.as_dict() for row in rows]
    kept.sort(key=lambda row: list(SUBJECTS).index(row["subject"]))
    text = json.dumps({"machine": here, "rows": kept}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n")
    path.with_suffix(".md").write_text(markdown(json.loads(text), earlier()))


def earlier() -> dict[str, Any] | None:
    return json.loads(BEFORE.read_text()) if BEFORE.exists() else None


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    told = runs.environment(torch.device("cpu"))
    blas = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": told["device"],
        "cores": told["cores"],
        "memory_gb": round(memory / 2**30),
        "threads": told["threads"],
        "torch": told["torch"],
        "blas": blas[1] if blas else "unknown",
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "python": told["python"],
        "system": told["system"],
        "commit": told["commit"],
    }


def comparable(machine: dict[str, Any]) -> list[Any]:
    return [machine.get(key) for key in ("cpu", "cores", "threads", "torch")]


# --- results.md -----------------------------------------------------------------------------------


def markdown(results: dict[str, Any], before: dict[str, Any] | None = None) -> str:
    of, rows = results["machine"], results["rows"]
    judged = [row for row in rows if row["met"] is not None]
    lines = [
        "<!-- Made from results.json by benchmarks/run.py. -->",
        "# Benchmark results",
        "",
        f"{sum(row['met'] for row in judged)} of {len(judged)} goals are met. In parentheses: "
        "quartiles of the rounds.",
        "",
        f"Machine: {of['cpu']}, {of['cores']} cores, {of['memory_gb']} GB; {of['system']}, Python "
        f"{of['python']}, torch {of['torch']} ({of['blas']}, {of['cpu_capability']}), "
        f"{of['threads']} thread{'s' if of['threads'] > 1 else ''}. A float32 matrix product "
        f"reaches {of['peak_gflops']:.0f} Gflop/s: the physical limit.",
    ]
    for subject, title in SUBJECTS.items():
        mine = [row for row in rows if row["subject"] == subject]
        if mine:
            lines += ["", f"## {title}", "", *table(mine)]
    if before:
        lines += ["", "## Before and after", "", *changes(before, results)]
    return "\n".join(lines) + "\n"


def table(rows: list[dict[str, Any]]) -> list[str]:
    stamps = {(row["date"], (row["commit"] or "unknown")[:7]) for row in rows}
    told = ", ".join(f"{day} at commit `{commit}`" for day, commit in sorted(stamps))
    lines = [f"Measured {told}.", ""]
    lines += ["| figure | against | value | goal | | behind it |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["what"], row["against"], value(row), goal(row), verdict(row), behind(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def changes(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Rows that an improvement of the code moved by a tenth or more, with what is behind them."""
    past = {row["name"]: row for row in before["rows"]}
    commits = sorted({(row["commit"] or "unknown")[:7] for row in before["rows"]})
    lines = [f"Before: commit {', '.join(f'`{commit}`' for commit in commits)}.", ""]
    lines += ["| figure | before | after | before: behind it | after |", "|---|---|---|---|---|"]
    for row in now["rows"]:
        old = past.get(row["name"], {"value": None})
        known = row["unit"] and row["value"] and old["value"]
        if known and abs(row["value"] / old["value"] - 1) >= 0.1:
            cells = [f"`{row['name']}`", value(old), value(row), old["detail"], row["detail"]]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def value(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return "not measured"
    shown = f"{number(row['value'])}{row['unit']}"
    if row["spread"]:
        shown += " ({} to {})".format(*(number(end) for end in row["spread"]))
    return shown.replace("-", "−")


def number(x: float) -> str:
    """Three digits or so, none of them lost near a goal."""
    return f"{x:.{3 if abs(x) < 1 else 2 if abs(x) < 10 else 1 if abs(x) < 100 else 0}f}"


def goal(row: dict[str, Any]) -> str:
    return f"{row['sign']} {round(row['limit'], 2):g}{row['unit']}" if row["sign"] else ""


def verdict(row: dict[str, Any]) -> str:
    return {True: "met", False: "**missed**", None: ""}[row["met"]]


def behind(row: dict[str, Any]) -> str:
    """The absolute figures, and why a goal is missed or a row not measured."""
    missing = row["value"] is None or row["met"] is False
    return ". ".join(
        part[:1].upper() + part[1:]
        for part in (row["detail"], row["reason"] if missing else "")
        if part
    )


# --- comparison -----------------------------------------------------------------------------------


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Name, old value, new value and their ratio, for the rows that both have."""
    before = {row["name"]: row for row in old["rows"]}
    lines = []
    for row in new["rows"]:
        past = before.get(row["name"])
        if past and past["value"] is not None and row["value"] is not None:
            ratio = f"{row['value'] / past['value']:.2f}" if row["unit"] else ""  # not of slopes
            lines.append((row["name"], value(past), value(row), ratio))
    return lines
