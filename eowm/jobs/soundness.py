"""May a record that was made elsewhere count here? Its settings, outcome, data and code say so."""

import re
from collections.abc import Mapping
from pathlib import Path

from eowm.errors import ConfigError, RecordError
from eowm.jobs.status import expected, is_current
from eowm.records.record import Record
from eowm.settings.config import Config
from eowm.settings.effective import changed, written

Checksums = Mapping[str, str]  # dataset → sha256 of its decoded images


def refuse_unsound(record: Record, path: Path, config: Config, checksums: Checksums) -> None:
    """Of a preset that the config has."""
    _refuse_other_settings(record, path, config)
    if not record.complete:
        raise RecordError(f"{path} is of a run that {' '.join(record.status.split())}.")
    _refuse_other_data(record, path, config, checksums)
    _refuse_unknown_code(record, path)


def is_standin(record: Record) -> bool:
    return record.data.source == "standin" or not record.data.comparable


def _refuse_other_settings(record: Record, path: Path, config: Config) -> None:
    cell = record.cell
    try:
        config.cell(cell.name)
    except ConfigError as error:
        raise RecordError(f"{path} is of no cell here: {error}") from None
    if not is_current(config, record):
        other = changed(record.settings, expected(config, record)).items()
        told = ", ".join(
            f"{key} is {written(their)}, not {written(our)}" for key, (their, our) in other
        )
        raise RecordError(f"{path} has other settings: {told}.")
    budget = config.presets[cell.preset].budget
    if cell.budget != budget:
        raise RecordError(
            f"{path} claims the budget '{cell.budget}'; that of preset '{cell.preset}' is "
            f"'{budget}'."
        )


def _refuse_other_data(record: Record, path: Path, config: Config, checksums: Checksums) -> None:
    data, preset = record.data, record.cell.preset
    if data.name != record.settings.dataset:
        raise RecordError(f"{path} was trained on '{data.name}', not {record.settings.dataset}.")
    if is_standin(record):
        if not config.presets[preset].standin:
            raise RecordError(f"{path} is of stand-in data, which preset '{preset}' never uses.")
    elif data.sha256 != checksums[data.name]:
        raise RecordError(
            f"{path} was trained on other images than {data.name}'s: their sha256 is "
            f"{data.sha256[:12]}…, not {checksums[data.name][:12]}…."
        )


def _refuse_unknown_code(record: Record, path: Path) -> None:
    for commit in (part.get("commit") for part in record.environments):
        if isinstance(commit, str) and commit.endswith("+"):
            raise RecordError(f"{path} was made by changed code (commit {commit}).")
        if not (isinstance(commit, str) and re.fullmatch("[0-9a-f]{40}", commit)):
            raise RecordError(f"{path} was made by unknown code (commit {commit!r}).")
