"""The settings that a run uses, by the names that `--set` has for them."""

from collections.abc import Iterator, Mapping
from typing import Any

from eowm.settings.run import RunSettings

OTHERS = ("dataset", "stream", "tasks", "precision", "method_version", "core_version")


def effective(settings: RunSettings) -> dict[str, Any]:
    """`epochs`, `alpha.fc1`, `limits.train_images` … to values."""
    limits = {f"limits.{key}": value for key, value in dict(settings.limits).items()}
    parts = (dict(settings.net), dict(settings.training), settings.options, limits)
    flat = {key: value for part in parts for key, value in _flat(part)}
    return flat | {key: getattr(settings, key) for key in OTHERS}


def changed(settings: RunSettings, planned: RunSettings) -> dict[str, tuple[Any, Any]]:
    """Setting → its value, and the value it replaces."""
    ours, theirs = effective(settings), effective(planned)
    keys = dict.fromkeys((*ours, *theirs))
    return {k: (ours.get(k), theirs.get(k)) for k in keys if ours.get(k) != theirs.get(k)}


def written(value: Any) -> str:
    """As one would write it after `--set key=`."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(written, value)) + "]"
    return "null" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            yield key, list(value) if isinstance(value, tuple) else value
