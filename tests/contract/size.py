"""How large the package is, and how far one walks through it on a call.

Print lines of code by room, files, public names, and the walks::

    PYTHONPATH=src .venv/bin/python tests/contract/size.py

Lines of code are those without docstrings, comments and blank lines. A walk is made in a process of
its own by the first call there: how many functions of the package run (those that run while a
module is imported, lambdas and comprehensions do not count), in how many files, and how many lines
these files have in all.
"""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import threading
import tokenize
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

PACKAGE = Path(__file__).parents[2] / "src" / "survgauge"
_NO_CODE = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    """Of a room: lines of code, all lines, files."""

    code: int
    lines: int
    files: int


class Walk(NamedTuple):
    """Of a call: functions and files that run, all lines of these files."""

    functions: int
    files: int
    lines: int


def lines_of_code(source: str) -> int:
    """Count lines that are neither docstring nor comment nor blank."""
    strings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            strings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - strings)


def rooms() -> dict[str, Size]:
    """Sizes by room, the largest first; "." is the package's own folder."""
    code: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0] if file.parent != PACKAGE else "."
        source = file.read_text(encoding="utf-8")
        code[room] += lines_of_code(source)
        lines[room] += len(source.splitlines())
        files[room] += 1
    return {room: Size(n, lines[room], files[room]) for room, n in code.most_common()}


def total(sizes: dict[str, Size]) -> Size:
    """Of the whole package."""
    code, lines, files = map(sum, zip(*sizes.values(), strict=True))
    return Size(code, lines, files)


def public_names() -> int:
    """How many names ``import survgauge`` offers."""
    import survgauge

    return len(survgauge.__all__)


def _data(seed: int, n: int) -> tuple[Any, Any]:
    import numpy as np

    import survgauge as sg

    u = np.random.default_rng(seed).random((n, 3))
    time = np.ceil(-10 * np.log(u[:, 0]))
    censored = np.ceil(30 * u[:, 1])
    grid = np.arange(0.0, 61.0, 2.0)
    curves = sg.SurvivalCurves(grid, np.exp(-grid / (5 + 10 * u[:, 2:])))
    return (np.minimum(time, censored), time <= censored), curves


def _calls() -> dict[str, Callable[[], Any]]:
    import survgauge as sg

    (train, _), (test, a) = _data(1, 100), _data(2, 100)
    b = sg.SurvivalCurves(a.times, a.survival[::-1].copy())
    models = {"a": a, "b": b}
    columns = {"time": test[0], "event": test[1], "a": a.survival, "b": b.survival}
    layout = {name: sg.CurveColumns(name, a.times) for name in models}
    names = "mae", "brier_score", "evaluate", "evaluate_stream"
    mae, brier_score, evaluate, evaluate_stream = (getattr(sg, name) for name in names)
    return {
        "mae": lambda: mae(test, a, y_train=train),
        "mae, method": lambda: mae(test, a, y_train=train, method="po"),
        "brier_score": lambda: brier_score(test, a, [5.0, 10.0], y_train=train),
        "evaluate, one metric": lambda: evaluate(models, test, y_train=train, metrics="mae_po"),
        "evaluate": lambda: evaluate(models, test, y_train=train),
        "evaluate_stream": lambda: evaluate_stream([columns], y_train=train, predictions=layout),
    }


WALKS = ("mae", "mae, method", "brier_score", "evaluate, one metric", "evaluate", "evaluate_stream")


def _walk_here(name: str) -> Walk:
    call = _calls()[name]
    seen: set[CodeType] = set()
    imports = 0

    def notice(frame: FrameType, event: str, _: object) -> None:
        nonlocal imports
        code = frame.f_code
        if code.co_name == "<module>":
            imports += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not imports:
            seen.add(code)

    threading.setprofile(notice)
    sys.setprofile(notice)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    root = str(PACKAGE) + os.sep
    ours = {
        (code.co_filename, code.co_firstlineno)
        for code in seen
        if code.co_filename.startswith(root) and not code.co_name.startswith("<")
    }
    files = {file for file, _ in ours}
    return Walk(len(ours), len(files), sum(len(Path(f).read_text().splitlines()) for f in files))


def walk(name: str) -> Walk:
    """Measure one of `WALKS` in a process of its own."""
    path = os.pathsep.join((str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(
        [sys.executable, __file__, name],
        env={**os.environ, "PYTHONPATH": path, "SURVGAUGE_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return Walk(*map(int, done.stdout.split()[-3:]))


def main(arguments: list[str]) -> None:
    if arguments:
        print(*_walk_here(arguments[0]))
        return
    sizes = rooms()
    print(f"{'room':22} {'code':>7} {'lines':>7} {'files':>7}")
    for room, size in {**sizes, "all": total(sizes)}.items():
        print(f"{room:22} {size.code:7} {size.lines:7} {size.files:7}")
    print(f"\npublic names: {public_names()}\n")
    print(f"{'walk':22} {'functions':>9} {'files':>7} {'lines':>7}")
    for name in WALKS:
        found = walk(name)
        print(f"{name:22} {found.functions:9} {found.files:7} {found.lines:7}")


if __name__ == "__main__":
    main(sys.argv[1:])
