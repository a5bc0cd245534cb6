"""Files with mutated bytes: a result, or exit status 2 with one line; never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from survgauge.cli.main import main

from .engine import MismatchError
from .kinds import kind

TOKENS = (
    b"NaN",
    b"inf",
    b"-1",
    b"1e400",
    b"9" * 40,
    b"",
    b"\x00",
    b"\xff\xfe",
    b'"',
    b",",
    b"\n",
    b"{}",
    b"[]",
    b"null",
    b"true",
    b"time",
    b"0x10",
    b"1_0",
    b" ",
    b"=cmd",
    b"\x1b[31m",
)


def mutated(rng, data):
    """The same bytes with one to four small changes."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(data) + 1)
        length = rng.choice((1, 1, 2, 4, 8, 40))
        which = rng.randrange(6)
        if which == 0:
            data[place:place] = rng.choice(TOKENS)
        elif which == 1:
            data[place : place + length] = rng.choice(TOKENS)
        elif which == 2:
            del data[place : place + length]
        elif which == 3:
            data[place:place] = data[place : place + length]
        elif which == 4 and data:
            data[place % len(data)] ^= 1 << rng.randrange(8)
        elif rng.random() < 0.3:
            del data[place:]
    return bytes(data)


@cache
def originals():
    """Folder of valid files that all commands accept; removed when the process ends."""
    keep = tempfile.TemporaryDirectory(prefix="survgauge-fuzz-")
    folder = Path(keep.name)
    numbers = np.random.default_rng(0)
    n, grid = 12, [1.0, 4.0, 9.0, 30.0]
    time, event = np.ceil(numbers.exponential(8, n)), numbers.random(n) < 0.7
    table = np.column_stack((time, event.astype(int)))
    survival = np.exp(-np.array(grid) / numbers.uniform(4, 12, (n, 1)))

    def save(name, header, rows):
        lines = [header, *(",".join(f"{x:.6g}" for x in np.atleast_1d(row)) for row in rows)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    save("test.csv", "time,event", table)
    save("train.csv", "time,event", table[::-1])
    save("curves.csv", "1,4,9,30", survival)
    save("times.csv", "time", time + 1)
    (folder / "plan.toml").write_text(
        'name = "toy"\ndatasets = [{name = "toy", path = "toy.csv"}]\n'
        'censoring = ["uniform"]\nmodels = ["km", "lr"]\nfolds = 2\nseed = 3\n'
        'metrics = ["mae_po", {name = "mae_po", weighted = false}]\n',
        encoding="utf-8",
    )
    save("toy.csv", "x,time,event", np.column_stack((numbers.normal(size=n), table)))
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        pass
    else:
        columns = {"time": time, "event": event}
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / "test.parquet")
    status, _, words = run(
        "evaluate",
        "--test",
        folder / "test.csv",
        "--train",
        folder / "train.csv",
        "--pred",
        f"a={folder / 'curves.csv'}",
        "--metrics",
        "mae_po,harrell,ibs",
        "--json",
        folder / "ev.json",
    )
    if status != 0:
        raise MismatchError(f"valid files are refused: {words}")
    _make_store(folder)
    return keep, folder


def _make_store(folder):
    """Run a tiny experiment, where its extras are installed."""
    try:
        import pandas  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError:
        return
    with contextlib.chdir(folder) if hasattr(contextlib, "chdir") else contextlib.nullcontext():
        status, _, words = run(
            "bench", folder / "plan.toml", "--store", folder / "store", "--jobs", 1, "--quiet"
        )
    if status != 0:
        raise MismatchError(f"a valid plan is refused: {words}")


def run(*words):
    """(status, output, errors) of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:
            status = stop.code
    return status, out.getvalue(), err.getvalue()


def pick(rng):
    """(name of a file to damage, random numbers of its own)."""
    names = (
        "test.csv",
        "train.csv",
        "curves.csv",
        "times.csv",
        "plan.toml",
        "ev.json",
        "test.parquet",
        "store",
    )
    return rng.choice(names)


@kind(pick)
def damaged_files(name, rng, call):
    _, folder = originals()
    if not (folder / name).exists():
        return
    with tempfile.TemporaryDirectory(prefix="survgauge-fuzz-") as place:
        place = Path(place)
        if name == "store":
            shutil.copytree(folder / "store", place / "store")
            files = sorted(p for p in (place / "store").rglob("*") if p.is_file())
            target = rng.choice(files)
        else:
            for source in folder.iterdir():
                if source.is_file():
                    shutil.copy(source, place)
            target = place / name
        data = mutated(rng, target.read_bytes())
        target.write_bytes(data)
        words = _command(name, place)
        call.counts[f"read {name}"] += 1
        call.last = ("cli.main", tuple(map(str, words)), {"damaged": target.name, "bytes": data})
        before = os.getcwd()
        try:
            os.chdir(place)
            status, out, err = run(*words)
        except Exception as error:
            raise MismatchError(f"{name}: traceback, {type(error).__name__}: {error}") from error
        finally:
            os.chdir(before)
        if status == 2:
            if len(err.strip().splitlines()) != 1:
                raise MismatchError(f"{name}: more than one line on standard error: {err!r:.300}")
        elif status != 0:
            raise MismatchError(f"{name}: exit status {status}: {err!r:.300}")
        elif name == "test.csv" and "--json" in words:
            json.loads(out)


def _command(name, place):
    if name == "plan.toml":
        return ["bench", place / "plan.toml", "--list"]
    if name == "ev.json":
        return ["report", place / "ev.json", "--html", place / "page.html"]
    if name == "store":
        return ["report", place / "store", "--html", place / "page.html"]
    test = name if name.startswith("test") else "test.csv"
    pred = name if name in ("curves.csv", "times.csv") else "curves.csv"
    return [
        "evaluate",
        "--test",
        place / test,
        "--train",
        place / "train.csv",
        "--pred",
        f"a={place / pred}",
        "--metrics",
        "mae_hinge,harrell,mae_po,brier",
        "--json",
        "-",
    ]
