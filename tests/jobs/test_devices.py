"""Places on pretended GPUs: never two runs on one device unless allowed, and a kill frees it."""

import json
import subprocess
import sys
import time
from collections import Counter
from types import SimpleNamespace

import pytest

from eowm.errors import ConfigError
from eowm.jobs import devices
from eowm.training import run as runs

HOLD = """
import json, sys, time
from pathlib import Path
from eowm.jobs import devices
names, each, places, seconds = sys.argv[1].split(), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
devices.LOOK_AGAIN_SECONDS = 0.02
with devices.a_free_one(names, each, places=places) as index:
    start = time.time()
    print("has", index, flush=True)
    time.sleep(float(seconds))
    print(json.dumps([index, start, time.time()]), flush=True)
"""


def hold(names: str, each: int, places, seconds: float) -> subprocess.Popen:
    command = [sys.executable, "-c", HOLD, names, str(each), str(places), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("names", "each"), [("a b", 1), ("a b", 2)])
def test_processes_share_devices_only_as_allowed(tmp_path, names, each) -> None:
    started = [hold(names, each, tmp_path, 0.3) for _ in range(6)]
    spans = [json.loads(process.communicate()[0].splitlines()[1]) for process in started]
    for _, start, _ in spans:
        together = Counter(index for index, begin, end in spans if begin <= start < end)
        assert max(together.values()) <= each
    assert {index for index, *_ in spans} == set(range(len(names.split())))


def test_devices_are_filled_before_any_is_shared(tmp_path) -> None:
    with (
        devices.a_free_one(["a", "b"], 2, places=tmp_path) as first,
        devices.a_free_one(["a", "b"], 2, places=tmp_path) as second,
        devices.a_free_one(["a", "b"], 2, places=tmp_path) as third,
    ):
        assert [first, second, third] == [0, 1, 0]


def test_a_killed_process_gives_its_device_back(tmp_path) -> None:
    process = hold("a", 1, tmp_path, 60)
    assert process.stdout.readline() == "has 0\n"
    process.kill()
    process.wait()
    started = time.monotonic()
    with devices.a_free_one(["a"], places=tmp_path) as index:
        assert index == 0
    assert time.monotonic() - started < 1


def test_a_run_takes_a_free_gpu_by_its_identity(tmp_path, monkeypatch) -> None:
    """Numbers differ between jobs that a scheduler shows different devices; identities do not."""
    cuda = SimpleNamespace(
        is_available=lambda: True, device_count=lambda: 2,
        get_device_properties=lambda index: SimpleNamespace(uuid=f"GPU-{index}"),
    )  # fmt: skip
    monkeypatch.setattr(runs.torch, "cuda", cuda)
    monkeypatch.setattr(devices.a_free_one.__wrapped__, "__defaults__",
                        (1, lambda text: None, tmp_path))  # fmt: skip
    with runs.device_of_run("auto", 1) as first, runs.device_of_run("auto", 1) as second:
        assert (first, second) == ("cuda:0", "cuda:1")
    with runs.device_of_run("cuda:1", 1) as asked_for:
        assert asked_for == "cuda:1"
    assert {path.name for path in tmp_path.iterdir()} == {"GPU-0-0.lock", "GPU-1-0.lock"}


@pytest.mark.parametrize(("name", "words"), [("gpu", "is unknown"), ("cuda:7", "is not here")])
def test_a_device_that_is_not_there_is_one_sentence(name, words) -> None:
    with pytest.raises(ConfigError, match=words), runs.device_of_run(name, 1):
        pass
