"""Errors that a user can cause: one sentence that names the problem and its solution.

The command line prints it without a traceback and exits with code 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """Base class of every error whose message is written for the user."""


class ConfigError(UserError):
    """A setting is unknown, has the wrong type, or an impossible value."""


class DataError(UserError):
    """A dataset is missing, damaged, or not allowed here."""


class RecordError(UserError):
    """A record file is damaged, or not what its name says."""


class CheckpointError(UserError):
    """A checkpoint cannot be used."""


class HoldError(UserError):
    """A run cannot be locked, because its folder cannot be written."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`" (did you mean 'owm'?)"`, or an empty string if nothing is similar."""
    match = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{match[0]}'?)" if match else ""
