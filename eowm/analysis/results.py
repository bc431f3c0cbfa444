"""Results by the words that users have for them: presets, cells, record files and folders."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from eowm import paths, records
from eowm.analysis import collect
from eowm.analysis.collect import COMPLETE, METRICS
from eowm.analysis.summary import limits
from eowm.errors import ConfigError, RecordError, nearest
from eowm.jobs import holds
from eowm.records.record import Record
from eowm.settings.cells import OTHER, Cell, select
from eowm.settings.config import Config

PUBLISHED = "paper"  # the preset whose records come with the project
SAME = ("…/", ".../")  # in place of table and scenario: those of the other cell


@dataclass(frozen=True)
class Chosen:
    """The complete runs of one cell, one a seed."""

    name: str  # a cell, a record file or a folder, as the user may write it
    runs: pd.DataFrame

    @property
    def cell(self) -> Cell:
        return _cell(self.runs.iloc[0])

    @property
    def is_cell(self) -> bool:
        return self.name == self.cell.name

    @property
    def remarks(self) -> list[str]:
        """What a reader must know about these runs."""
        rounded = ["bfloat16"] if (self.runs.precision == "bfloat16").any() else []
        origins = {collect.HERE: "trained here", collect.PUBLISHED: collect.PUBLISHED}
        return (
            limits(self.runs) + rounded + [origins[x] for x in self.runs.origin.dropna().unique()]
        )

    def values(self, metric: str) -> dict[int, float]:
        """By seed."""
        if metric not in METRICS:
            raise ConfigError(f"metric '{metric}' is unknown{nearest(metric, METRICS)}.")
        found = self.runs[self.runs[metric].notna()]
        if found.empty:
            raise RecordError(f"no run of {self.name} has {metric}.")
        return {int(seed): float(x) for seed, x in zip(found.seed, found[metric], strict=True)}


# --- Tables of runs ---------------------------------------------------------------------------


def load(config: Config, source: str | Path | None = None) -> pd.DataFrame:
    """The runs of a preset (else the published ones), of a folder of records, or a runs.json."""
    if source is None:
        return collect.load(config, PUBLISHED, paths.ROOT)
    if str(source) in config.presets:
        return collect.load(config, str(source))
    place = Path(source)
    if place.is_dir():
        return collect.of_files(config, _files(place))
    if place.is_file():
        return collect.read(place)
    known = nearest(str(source), config.presets)
    raise ConfigError(f"'{source}' is no preset{known}, no folder of records and no runs.json.")


def choose(config: Config, word: str | Path, preset: str | None = None) -> list[Chosen]:
    """What a cell, a selection of cells, a record file or a folder of records stands for."""
    if is_path(config, word):
        place = Path(word)
        runs = collect.of_files(config, _files(place) if place.is_dir() else [place])
        if (runs.status != COMPLETE).all():
            raise RecordError(f"{place} holds no complete run ({runs.status.iloc[0]}).")
        return list(_by_cell(str(word), runs[runs.status == COMPLETE]))
    runs = load(config, preset and _known(config, preset))
    done = runs[runs.status == COMPLETE]
    names = {_cell(run).name for _, run in done.iterrows() if _cell(run).matches(str(word))}
    if not names:
        _refuse(config, str(word), done, preset or PUBLISHED)
    return [Chosen(name, of_cell) for name, of_cell in _groups(done) if name in names]


def choose_one(config: Config, word: str | Path, preset: str | None = None) -> Chosen:
    found = choose(config, word, preset)
    if len(found) > 1:
        names = ", ".join(chosen.cell.name for chosen in found[:3])
        raise ConfigError(f"'{word}' holds runs of {len(found)} cells ({names} …): name one.")
    return found[0]


def spell_out(word: str | Path, beside: Cell) -> str | Path:
    """`…/owm` is OWM in the table and scenario of another cell."""
    for short in SAME:
        if str(word).startswith(short):
            return f"{beside.table}/{beside.scenario}/{str(word).removeprefix(short)}"
    return word


def is_path(config: Config, word: str | Path) -> bool:
    """A file or folder, not a cell: what begins as a cell's name is one."""
    if isinstance(word, Path) or word.endswith(".json"):
        return True
    return word.split("/")[0] not in (*config.tables, OTHER) and Path(word).exists()


# --- One record -------------------------------------------------------------------------------


def read(
    config: Config, word: str | Path, seed: int = 0, preset: str | None = None
) -> tuple[Record, Path]:
    """The record of a cell or in a file, and where it lies."""
    place = Path(word) if is_path(config, word) else record_file(config, str(word), seed, preset)
    if place.is_dir():
        raise RecordError(f"{place} is a folder: name one record file in it.")
    return records.read(place), place


def record_file(config: Config, word: str, seed: int, preset: str | None) -> Path:
    """Of a cell that has run with this seed."""
    name, root = _known(config, preset or PUBLISHED), paths.OUT if preset else paths.ROOT
    cells = select(config, name, word, outside=True)
    if len(cells) != 1:
        raise ConfigError(f"'{word}' matches {len(cells)} cells; name one.")
    file = paths.record(name, cells[0].name, seed)
    if (rest := config.presets[name].rest) and not (root / file).parent.exists():
        file, root = paths.record(rest, cells[0].name, seed), paths.ROOT
    if not (root / file).exists():
        at_hand = ", ".join(sorted(f.stem for f in (root / file).parent.glob("seed*.json")))
        raise RecordError(
            f"{file} does not exist ({_state(root / file)}); "
            f"at hand: {at_hand or 'no seed of this cell'}."
        )
    return root / file


def tried(preset: str, cell: str) -> list[Path]:
    """Records of runs with `--set`."""
    return sorted((paths.OUT / paths.tried(preset, cell, 0, "x")).parent.glob("seed*.json"))


# ----------------------------------------------------------------------------------------------


def _state(file: Path) -> str:
    if holds.is_running(file):
        return "running"
    why = holds.failure(file)
    return f"failed: {why}" if why else "not run"


def _known(config: Config, preset: str) -> str:
    if preset not in config.presets:
        raise ConfigError(f"preset '{preset}' is unknown{nearest(preset, config.presets)}.")
    return preset


def _files(folder: Path) -> list[Path]:
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise RecordError(f"{folder} holds no record (*.json).")
    return files


def _cell(run: pd.Series) -> Cell:
    return Cell(run.table, run.scenario, run.method, run.variant)


def _groups(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for name, of_cell in runs.groupby("cell", sort=False):
        yield str(name), of_cell


def _by_cell(word: str, runs: pd.DataFrame) -> Iterator[Chosen]:
    """Runs from files: each cell has one run a seed, all with the same settings."""
    groups = list(_groups(runs))
    for cell, of_cell in groups:
        twice = of_cell[of_cell.seed.duplicated(keep=False)]
        if len(twice):
            seeds = ", ".join(map(str, sorted(set(twice.seed))))
            places = ", ".join(twice.path)
            raise RecordError(f"{word} has seed {seeds} of {cell} twice: {places}; name one file.")
        if len({_shared_settings(run) for _, run in of_cell.iterrows()}) > 1:
            places = ", ".join(of_cell.path)
            raise RecordError(f"{word} has {cell} with different settings: {places}; name one.")
        yield Chosen(word if len(groups) == 1 else f"{word}: {cell}", of_cell)


def _shared_settings(run: pd.Series) -> str:
    """Of all seeds; a cell accepts either precision."""
    own = ("seed", "precision")
    return json.dumps({key: x for key, x in run.settings.items() if key not in own}, sort_keys=True)


def _refuse(config: Config, word: str, done: pd.DataFrame, preset: str) -> None:
    """Name the misspelt part; of a cell that has not run, say what has run near it."""
    known = list(done.cell.unique())
    if "*" in word or word.count("/") != 2:
        where = f"no run of preset '{preset}' matches '{word}'{nearest(word, known)}"
        raise ConfigError(f"{where}: write table/scenario/method[:variant], or name a file.")
    cell = config.cell(word)
    beside = done[(done.table == cell.table) & (done.scenario == cell.scenario)].row.unique()
    of_table = done[done.table == cell.table].scenario.unique()
    there = (
        f"{cell.table}/{cell.scenario} has {', '.join(beside)}"
        if len(beside)
        else f"{cell.table} has {', '.join(of_table) or 'no run at all'}"
    )
    near = "" if cell in config.cells(preset) else nearest(word, known)
    raise RecordError(f"{cell.name} has no complete run with preset '{preset}'{near}; {there}.")
