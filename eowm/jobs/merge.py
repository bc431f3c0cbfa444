"""Records from another machine: which of them this project takes, and why not the others.

A record is known by its content; the folders above `table/scenario/method` mean nothing. Nothing
here is ever overwritten.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal, get_args

from eowm import paths, records
from eowm.errors import RecordError, nearest
from eowm.jobs import holds
from eowm.jobs.soundness import Checksums, is_standin, refuse_unsound
from eowm.records.consistency import refuse_contradiction
from eowm.records.record import Record
from eowm.settings.config import Config

Outcome = Literal["taken", "already here", "left"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Found:
    """A record in the other folder, and its place here."""

    path: Path
    content: bytes
    record: Record

    @property
    def place(self) -> Path:
        cell = self.record.cell
        return paths.OUT / paths.record(cell.preset, cell.name, cell.seed)


@dataclass(frozen=True)
class Verdict:
    """What becomes of a file, or of several."""

    outcome: Outcome
    sentence: str
    files: int = 1
    fault: bool = False  # somebody has to look at it
    found: Found | None = None


def judge(config: Config, preset: str, folder: Path, checksums: Checksums) -> list[Verdict]:
    """A verdict on every `seed*.json` below a folder; writes nothing."""
    files, verdicts = _search(folder)
    runs: dict[Path, list[Found]] = {}
    elsewhere: Counter[str] = Counter()
    for path in files:
        try:
            found = Found(path, *records.read_bytes(path))
            if found.record.cell.preset != preset:
                elsewhere[found.record.cell.preset] += 1
            else:
                _check(found, config, checksums)
                runs.setdefault(found.place, []).append(found)
        except RecordError as error:
            verdicts.append(_left(str(error)))
    verdicts += [_of_preset(name, count, config) for name, count in elsewhere.items()]
    for same_run in runs.values():
        verdicts += _settle(same_run)
    return sorted(verdicts, key=lambda verdict: (OUTCOMES.index(verdict.outcome), verdict.sentence))


def take(verdicts: list[Verdict]) -> None:
    """Byte for byte."""
    for verdict in verdicts:
        if verdict.outcome == "taken" and verdict.found:
            records.write_bytes(verdict.found.content, verdict.found.place)


def summary(verdicts: list[Verdict]) -> str:
    files: Counter[Outcome] = Counter()
    for verdict in verdicts:
        files[verdict.outcome] += verdict.files
    return ", ".join(f"{outcome} {files[outcome]}" for outcome in OUTCOMES)


# --- The other folder -------------------------------------------------------------------------


def _search(folder: Path) -> tuple[list[Path], list[Verdict]]:
    """Files named as records are, and what cannot be searched. Hidden folders are not."""
    if not folder.is_dir():
        beside = [path.name for path in folder.parent.glob("*") if path.is_dir()]
        raise RecordError(f"{folder} is not a folder{nearest(folder.name, beside)}.")
    files: list[Path] = []
    verdicts: list[Verdict] = []

    def unreadable(error: OSError) -> None:
        verdicts.append(_left(f"{error.filename} cannot be read: {error.strerror}."))

    for here, inside, names in os.walk(folder, onerror=unreadable, followlinks=True):
        loops = [name for name in inside if _is_loop(Path(here, name))]
        inside[:] = [name for name in inside if name not in loops and name[0] != "."]
        verdicts += [_left(f"{Path(here, name)} is a link to a folder above it.") for name in loops]
        for path in (Path(here, name) for name in names if fnmatch(name, "seed*.json")):
            if not re.fullmatch(r"seed\d+\.json", path.name):  # `eowm train --set` makes such
                verdicts.append(Verdict("left", f"{path} is not named seed<N>.json."))
            elif path.exists() and not path.is_file():
                verdicts.append(_left(f"{path} is not a file."))
            else:
                files.append(path)
    if not files and not verdicts:
        raise RecordError(f"{folder} has no seed<N>.json in it or below.")
    return sorted(files), verdicts


def _is_loop(folder: Path) -> bool:
    return folder.is_symlink() and folder.parent.resolve().is_relative_to(folder.resolve())


def _check(found: Found, config: Config, checksums: Checksums) -> None:
    _refuse_misplaced(found)
    refuse_contradiction(found.record, found.path)
    if not _is_here(found):
        refuse_unsound(found.record, found.path, config, checksums)


def _refuse_misplaced(found: Found) -> None:
    cell = found.record.cell
    place = paths.place(cell.name, cell.seed)
    if Path(os.path.abspath(found.path)).parts[-len(place.parts) :] != place.parts:
        raise RecordError(
            f"{found.path} is the record of {cell.name}, seed {cell.seed}: it belongs in {place}."
        )


def _of_preset(name: str, count: int, config: Config) -> Verdict:
    known = f"`--preset {name}` imports them" if name in config.presets else "which is unknown here"
    return Verdict("left", f"{count} records of preset {name!r}: {known}.", count)


# --- This project -----------------------------------------------------------------------------


def _settle(same_run: list[Found]) -> Iterator[Verdict]:
    """Files of one run: the first speaks for all, if they agree."""
    first, *others = same_run
    for other in others:
        if not _same_numbers(first.record, other.record):
            names = " and ".join(str(found.path) for found in same_run)
            yield _left(f"{names} are of one run and differ.", len(same_run))
            return
    verdict = _against_here(first)
    yield verdict
    for other in others:
        yield Verdict(
            "left" if verdict.fault else "already here",
            f"{other.path} (as {first.path})",
            fault=verdict.fault,
        )


def _against_here(found: Found) -> Verdict:
    if _is_here(found):
        return Verdict("already here", str(found.path))
    if holds.is_running(found.place):
        return _left(f"{found.path}: {holds.holder(found.place)} is training this run here.")
    if not os.path.lexists(found.place):
        return Verdict("taken", f"{found.path}: {_numbers(found.record)}", found=found)
    try:
        here = records.read(found.place)
    except RecordError as error:
        return _left(f"{found.path}: a record is here, but {error}")
    if _same_numbers(found.record, here):
        return Verdict("already here", f"{found.path} (same numbers)")
    theirs, ours = _numbers(found.record), _numbers(here)
    return _left(f"{found.path} differs from the record here: {theirs} there, {ours} here.")


def _is_here(found: Found) -> bool:
    """Byte for byte."""
    try:
        return found.place.read_bytes() == found.content
    except OSError:
        return False


def _same_numbers(first: Record, second: Record) -> bool:
    return (first.settings_hash, first.accuracy) == (second.settings_hash, second.accuracy)


def _numbers(record: Record) -> str:
    """`AA 0.5131`, with what tables mark."""
    average = record.metrics.get("AA")
    marks = {
        "bfloat16": record.settings.precision == "bfloat16",
        "stand-in data": is_standin(record),
    }
    shown = "no AA" if average is None else f"AA {average:.4f}"
    return ", ".join([shown, *(mark for mark, holds_here in marks.items() if holds_here)])


def _left(sentence: str, files: int = 1) -> Verdict:
    return Verdict("left", sentence, files, fault=True)
