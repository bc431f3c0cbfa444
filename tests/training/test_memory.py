"""Maps as large as those of the CNNs come from memory that the process already has."""

import subprocess
import sys

import pytest

from eowm.training import memory

FAULTS = """
import resource, sys, torch
from eowm.training import memory
if sys.argv[1] == "kept":
    memory.keep_freed()

first = torch.nn.Conv2d(3, 128, 2)  # of the net for CIFAR-100: its maps have 52 MB
images = torch.rand(100, 3, 33, 33)

def steps(count):
    for _ in range(count):
        first(images).relu().sum().backward()

steps(6)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
steps(10)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    command = [sys.executable, "-c", FAULTS, how]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.skipif(not memory.keep_freed(), reason="another C library than glibc")
def test_freed_maps_are_used_again() -> None:
    assert faults("kept") < faults("given back") / 20


def test_other_c_libraries_are_left_alone(monkeypatch) -> None:
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert memory.keep_freed() is False
