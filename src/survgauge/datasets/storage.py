"""Where files are looked for, how they are kept, and how archives are read."""

from __future__ import annotations

import hashlib
import os
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from ..errors import InputError

DATA_VARIABLE = "SURVGAUGE_DATA"
CACHE_VARIABLE = "SURVGAUGE_CACHE"
# Far above any table that is read here; stops an archive that unpacks without end.
MAX_MEMBER_BYTES = 500_000_000


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


def check_sha256(content: bytes, expected: str | None, where: str) -> None:
    """Compare a checksum, if there is one to compare with."""
    if expected is None:
        return
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise InputError(
            f"{where} is damaged or not the expected file: "
            f"sha256 expected {expected}, found {found}"
        )


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
