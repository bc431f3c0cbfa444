"""All benchmarks: results.json, results.md and a figure.

python benchmarks/run.py                          # what `make bench` does
python benchmarks/run.py --only loop --only cnn   # these subjects; the other rows stay
python benchmarks/run.py --compare old.json       # measures nothing: new / old, row by row
"""

import argparse
import json
from pathlib import Path

import baselines
import cnn
import dryrun
import growth
import loop
import plot
import projection
import report
import startup
import torch
from common import Effort, interleaved, median, peak, product
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from eowm.settings.config import load_config

SUBJECTS = {
    "loop": loop.rows,
    "projection": projection.rows,
    "cnn": cnn.rows,
    "baselines": baselines.rows,
    "growth": growth.rows,
    "startup": startup.rows,
    "dryrun": dryrun.rows,
}


def main() -> None:
    arguments = parse()
    if arguments.compare:
        compare(arguments.compare)
        return
    torch.set_num_threads(arguments.threads)
    measure(arguments.only or list(SUBJECTS), Effort(arguments.threads, arguments.repeats))
    plot.draw(json.loads(report.RESULTS.read_text()), report.HERE)
    print("written: benchmarks/results.json, .md, .png and .pdf")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=list(SUBJECTS), help="one subject")
    threads = load_config().jobs.threads
    parser.add_argument("--threads", type=int, default=threads, help="as a run of the workflow has")
    parser.add_argument("--repeats", type=int, default=5, help="rounds; figures are their medians")
    parser.add_argument("--compare", type=Path, metavar="OLD", help="another results.json")
    return parser.parse_args()


def measure(subjects: list[str], effort: Effort) -> None:
    """A subject's rows are saved when it is done, so that a stop loses little."""
    console = Console()
    columns = (TextColumn("{task.description:10}"), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn())  # fmt: skip
    gflops = peak(median(interleaved({"product": product()}, effort.repeats), "product")) / 1e9
    with Progress(*columns, console=console) as bar:
        item = bar.add_task("", total=len(subjects))
        for subject in subjects:
            bar.update(item, description=subject)
            rows = []
            for row in SUBJECTS[subject](effort):
                rows.append(row)
                shown = row.as_dict()
                goal = f"{report.goal(shown)} {report.verdict(shown).strip('*')}"
                console.print(
                    f"{row.name:45} {report.value(shown):28} {goal}",
                    highlight=False,
                    soft_wrap=True,
                )
            report.save(subject, rows, gflops)
            bar.advance(item)


def compare(old: Path) -> None:
    table = Table("row", "old", "new", "new / old", box=None)
    results = [json.loads(path.read_text()) for path in (old, report.RESULTS)]
    for line in report.compare(*results):
        table.add_row(*line)
    Console(width=None if Console().is_terminal else 140).print(table)


if __name__ == "__main__":
    main()
