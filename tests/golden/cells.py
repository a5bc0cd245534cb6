"""From answers to cells, and from cells to a file of one line each."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import survgauge as sg

from .functions import calls, numbers
from .questions import questions

FILE = Path(__file__).with_name("golden.json")
RELATIVE, ABSOLUTE = 1e-10, 1e-12
ROW = ("value", "stderr", "low", "high", "skill")
DIFFERENCE = ("difference", "low", "high", "p_value")
#: Name of a line: its columns, each a number, a list of numbers, or a list of words.
Lines = dict[str, dict[str, Any]]


def _metric(row: dict[str, Any]) -> str:
    time, group = row.get("time"), row.get("group")
    name = row["metric"] + ("" if time is None else f"@{time:.12g}")
    return name if group is None else f"{name}[{group}]"


def answered(name: str, evaluation: Any) -> Lines:
    """Lines of one question."""
    lines: Lines = {}
    for row in evaluation.rows():
        lines[f"{name}/{_metric(row)}/{row['model']}"] = {key: row[key] for key in ROW}
    for row in evaluation.comparisons():
        pair = f"{row['model_a']}-{row['model_b']}"
        lines[f"{name}/{_metric(row)}/{pair}"] = {key: row[key] for key in DIFFERENCE}
    for row in evaluation.baseline_comparisons():
        pair = f"{row['model']}-baseline"
        lines[f"{name}/{_metric(row)}/{pair}"] = {key: row[key] for key in DIFFERENCE}
    lines[f"{name}/warnings"] = {"codes": sorted({w.code for w in evaluation.warnings})}
    return lines


def refused(call: Any, names: list[str]) -> list[str]:
    """Metrics that do not support the question."""
    found = []
    for name in names:
        try:
            call([name], confidence=None, **getattr(call, "quick", {}))
        except sg.SurvgaugeError:
            found.append(name)
    return found


def ask(was: Lines | None = None) -> Lines:
    """All lines; of a file's lines only its metrics, without those that a question refused."""
    lines: Lines = {}
    names = [metric["name"] for metric in sg.available_metrics()]
    if was is not None:
        names = [name for name in names if name in metrics_of(was)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for question, call in questions().items():
            end = f"{question}/refused"
            skip = refused(call, names) if was is None else was[end]["metrics"]
            lines.update(answered(question, call([name for name in names if name not in skip])))
            lines[end] = {"metrics": sorted(skip)}
        for label, function in calls().items():
            lines[f"functions/{label}"] = numbers(function())
    return lines


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if value is None or math.isnan(value):
        return None
    return float(value)


def write(lines: Lines, file: Path = FILE) -> None:
    """Write one line for each metric and model, sorted; the usual columns without their names."""
    text = []
    for name in sorted(lines):
        line: Any = _plain_line(lines[name])
        if tuple(line) in (ROW, DIFFERENCE):
            line = list(line.values())
        text.append(f"{json.dumps(name)}:{json.dumps(line, separators=(',', ':'))}")
    file.write_text("{\n" + ",\n".join(text) + "\n}\n", encoding="utf-8")


def _plain_line(line: dict[str, Any]) -> dict[str, Any]:
    return {key: _plain(value) for key, value in line.items()}


def read(file: Path = FILE) -> Lines:
    """Read what `write` wrote."""
    columns = {len(names): names for names in (ROW, DIFFERENCE)}
    return {
        name: dict(zip(columns[len(line)], line, strict=True)) if isinstance(line, list) else line
        for name, line in json.loads(file.read_text(encoding="utf-8")).items()
    }


def same(was: Any, now: Any) -> bool:
    """Whether two columns agree to 1e-10."""
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(same, was, now))
    if isinstance(was, float) and isinstance(now, float):
        return math.isclose(was, now, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(was == now)


def differences(was: Lines, now: Lines) -> dict[str, str]:
    """Cells that differ, are missing, or were not there, with what they were and are."""
    now = {name: _plain_line(line) for name, line in now.items()}
    found = {}
    for name in sorted(was.keys() | now.keys()):
        old, new = was.get(name, {}), now.get(name, {})
        for key in sorted(old.keys() | new.keys()):
            before, after = old.get(key, "nothing"), new.get(key, "nothing")
            if not same(before, after):
                found[f"{name}/{key}"] = f"was {before}, is {after}"
    return found


def metrics_of(lines: Lines) -> set[str]:
    """Names of the metrics that were asked for."""
    return {name.split("/")[1].split("@")[0].split("[")[0] for name in lines}


def with_new(was: Lines, now: Lines) -> Lines:
    """The lines of a file, and those of questions, metrics and calls that it does not have."""
    lines, known = now | was, metrics_of(was)
    for name in now.keys() & was.keys():
        if name.endswith("/refused"):
            new = [metric for metric in now[name]["metrics"] if metric not in known]
            lines[name] = {"metrics": sorted([*was[name]["metrics"], *new])}
    return lines
