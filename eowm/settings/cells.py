"""Cells and their names (`table2/cifar10-5/owm:matched`), selections of cells, lists of seeds."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from eowm.errors import ConfigError, nearest

if TYPE_CHECKING:
    from eowm.settings.config import Config

OTHER = "other"  # in place of a table: runs that no table shows
MOST_SEEDS = 1000


@dataclass(frozen=True, order=True)
class Cell:
    """One cell of a table; it has one record per seed."""

    table: str
    scenario: str
    method: str
    variant: str | None = None

    @property
    def row(self) -> str:
        return f"{self.method}:{self.variant}" if self.variant else self.method

    @property
    def name(self) -> str:
        return f"{self.table}/{self.scenario}/{self.row}"

    @property
    def rule(self) -> str:
        """Its target in the DAG: Snakemake allows neither `/` nor `:` in the name of a rule."""
        return self.name.replace("/", "_").replace(":", "_")

    def matches(self, pattern: str) -> bool:
        """Part by part; parts left out at the end match anything: `table2` is `table2/*/*`."""
        patterns, parts = pattern.split("/"), (self.table, self.scenario, self.row)
        return len(patterns) <= len(parts) and all(map(fnmatchcase, parts, patterns))

    def is_in(self, selection: str) -> bool:
        """Does a selection name this cell? `!` leaves out: `table2 !table2/*/pgma`."""
        wanted, left_out = _words(selection)
        return any(map(self.matches, wanted)) and not any(map(self.matches, left_out))


def select(
    config: "Config", preset: str, patterns: str | Iterable[str], outside: bool = False
) -> list[Cell]:
    """The cells of a preset's grid that match, in its order; none: those that the preset trains.

    `table2/cifar10-5/*` is a column, `table2/*/owm` a row; spaces separate patterns, `!` leaves
    cells out. A run that no table shows is spelt out: `other/shuffled-mnist-3/pgma`. With
    `outside`, so is any cell that is not in the grid.
    """
    text = patterns if isinstance(patterns, str) else " ".join(patterns)
    wanted, left_out = _words(text if text.strip() else config.presets[preset].cells)
    found: set[Cell] = set()
    grid = list(config.cells(preset))
    for word in [*wanted, *left_out]:
        if word.startswith(f"{OTHER}/"):
            matched = [config.cell(word)]
        else:
            matched = [cell for cell in grid if cell.matches(word)]
        if not matched and outside and "*" not in word:
            matched = [config.cell(word)]
        if not matched:
            _refuse(config, preset, word)
        found.update(matched)
    found = {cell for cell in found if not any(map(cell.matches, left_out))}
    if not found:
        raise ConfigError(f"'{text}' leaves out every cell that it names.")
    return [cell for cell in grid if cell in found] + sorted(found.difference(grid))


def _words(selection: str) -> tuple[list[str], list[str]]:
    """Patterns of the cells that are meant, and of those that are left out."""
    words = selection.split()
    left_out = [word[1:] for word in words if word.startswith("!")]
    return [word for word in words if not word.startswith("!")] or ["*"], left_out


def parse_seeds(text: str) -> tuple[int, ...]:
    """`"0-4,7"` or `"0 1 2"`, each seed once."""
    seeds: dict[int, None] = {}
    for word in text.replace(",", " ").split():
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", word, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < first + MOST_SEEDS:
            raise ConfigError(
                f"'{word}' is not a seed or a range: write whole numbers, as 0-4,7; a range has at "
                f"most {MOST_SEEDS}."
            )
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return tuple(seeds)


def _refuse(config: "Config", preset: str, word: str) -> None:
    """Name the misspelt part; what is spelt well may still be outside the preset's tables."""
    if word.count("/") == 2 and "*" not in word:
        config.cell(word)
    names = [cell.name for cell in config.cells(preset)]
    raise ConfigError(
        f"no cell of preset '{preset}' matches '{word}'{nearest(word, names)}; "
        "`eowm cells --names` lists them."
    )
