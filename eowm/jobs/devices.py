"""A free GPU for each run on a machine with several: one lock file for each place on a device.

Snakemake counts GPUs but does not say which one a job gets. So a run takes the first place that
nobody holds, by `flock`: the system gives it back when the process ends, however it ends. Inside
a cluster job the scheduler shows one device, and the run takes that.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

PLACES = Path(tempfile.gettempdir()) / "eowm-gpus"  # of this machine, whatever project asks
LOOK_AGAIN_SECONDS = 1.0


@contextmanager
def a_free_one(
    names: Sequence[str],
    runs_each: int = 1,
    tell: Callable[[str], None] = lambda text: None,
    places: Path = PLACES,
) -> Iterator[int]:
    """Hold a place on the least shared of the devices `names`; waits until there is one."""
    if not places.exists():
        places.mkdir(parents=True, exist_ok=True)
        places.chmod(0o1777)  # users of one machine share its devices
    waiting = False
    while (taken := _take(names, runs_each, places)) is None:
        if not waiting:
            tell(f"all {len(names)} GPUs are taken; waiting for one")
        waiting = True
        time.sleep(LOOK_AGAIN_SECONDS)
    index, lock = taken
    try:
        yield index
    finally:
        lock.release()


def _take(names: Sequence[str], runs_each: int, places: Path) -> tuple[int, FileLock] | None:
    for place in range(runs_each):  # every device once before any is shared
        for index, name in enumerate(names):
            lock = FileLock(places / f"{name}-{place}.lock", mode=0o666)
            try:
                lock.acquire(timeout=0)
                return index, lock
            except Timeout:
                continue
    return None
