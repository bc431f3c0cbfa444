"""The heat map of our numbers minus the paper's: what a cell shows, and its colour."""

import math

from eowm.analysis.tables import Entry

FULL = 0.2  # a difference of this size or more has the full colour
ABOVE, BELOW = (0x56, 0xB4, 0xE9), (0xE6, 0x9F, 0x00)  # Okabe and Ito's sky blue and orange
PLAIN = "#f1f1ef"  # cells without a difference to the paper


def spot(entry: Entry) -> tuple[str, str, str]:
    """The difference, or our number, or why there is none; in small print the verdict's sign and
    marks; the colour."""
    line, colour = entry.line, PLAIN
    if entry.sign:
        difference = line.mean - line.paper
        colour = shade(difference)
        shown, below = f"{difference:+.3f}".replace("-", "−"), f"{entry.sign} {line.mean:.3f}"
    else:
        shown = f"{line.mean:.3f}" if line.n else entry.ours
        below = "" if line.n or not entry.paper else f"paper {line.paper:.3f}"
    marks = ",".join(line.marks.replace("m", "") if line.n else "")
    return shown, " ".join(filter(None, (below, marks))), colour


def shade(difference: float) -> str:
    """White at no difference; the root makes small differences visible."""
    full = ABOVE if difference > 0 else BELOW
    share = math.sqrt(min(abs(difference) / FULL, 1.0))
    return "#" + "".join(f"{round(255 + share * (end - 255)):02x}" for end in full)


SCALE = tuple((value, shade(value)) for value in (-FULL, -0.05, -0.01, 0.0, 0.01, 0.05, FULL))
