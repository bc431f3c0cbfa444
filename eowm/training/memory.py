"""Freed memory stays with the process: a step of the CNNs allocates the same maps as the last one.

Left alone, the C library of Linux gives each map of 30 MB or more back to the system and has the
next one delivered page by page, which is a fifth of a step of SGD. It changes no number.
"""

import ctypes

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h
LARGEST_MAP = 2**30  # bytes; rarer, larger blocks still come from the system and go back to it
LARGEST_INT = 2**31 - 1


def keep_freed() -> bool:
    """For the whole process, from now on; False where the C library has no such setting."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # macOS, musl, Windows
        return False
    kept = mallopt(MMAP_THRESHOLD, LARGEST_MAP) and mallopt(TRIM_THRESHOLD, LARGEST_INT)
    return bool(kept)
