"""Errors that a user can cause: one sentence that names the thing and the way out.

The command line prints the sentence without a traceback and exits with code 2.
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
    """A run cannot be held: its folder cannot be written, or another process holds it."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`" (did you mean 'owm'?)"`, or an empty string where nothing is near."""
    match = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{match[0]}'?)" if match else ""
