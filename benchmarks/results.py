"""All numbers of a run, and the file they are kept in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from targets import Cell, Cells


@dataclass(frozen=True)
class WorkResult:
    """Cells of one work, the load of the machine and the commit when they were measured."""

    cells: Cells
    load: str = ""
    commit: str = ""


@dataclass
class Results:
    """Machine, imports and works of a run."""

    machine: dict[str, str] = field(default_factory=dict)
    imported: list[str] = field(default_factory=list)
    works: dict[str, WorkResult] = field(default_factory=dict)

    def gaps(self) -> Iterator[str]:
        """Name every cell without a measured time."""
        for name, result in self.works.items():
            for (who, n), cell in result.cells.items():
                if cell.extrapolated:
                    yield f"{name}, {who}, {n:,}: too slow, extrapolated from smaller sizes"
                elif cell.seconds is None:
                    yield f"{name}, {who}, {n:,}: {cell.why_not}"

    def write(self, path: Path) -> None:
        """Write everything as JSON, one line a cell."""
        works = []
        for name, result in self.works.items():
            cells = [_line(who, n, cell) for (who, n), cell in result.cells.items()]
            about = {"work": name, "load": result.load, "commit": result.commit}
            head = json.dumps(about).removesuffix("}") + ', "cells": [\n'
            works.append(head + ",\n".join(cells) + "\n]}")
        parts = {"machine": self.machine, "imported": self.imported}
        lines = [
            f"{json.dumps(key)}: {json.dumps(value, indent=1)}" for key, value in parts.items()
        ]
        body = ",\n".join([*lines, '"works": [\n' + ",\n".join(works) + "\n]"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{\n" + body + "\n}\n")

    @classmethod
    def read(cls, path: Path) -> Results:
        """Return what `write` wrote."""
        found = json.loads(path.read_text())
        works = {}
        for record in found["works"]:
            cells = {(row.pop("who"), row.pop("n")): Cell(**row) for row in record["cells"]}
            works[record["work"]] = WorkResult(cells, record["load"], record.get("commit", ""))
        return cls(found["machine"], found["imported"], works)


def _line(who: str, n: int, cell: Cell) -> str:
    known: dict[str, Any] = {key: value for key, value in asdict(cell).items() if value}
    shown = {key: _short(value) for key, value in known.items()}
    return "  " + json.dumps({"who": who, "n": n, **shown})


def _short(value: Any) -> Any:
    """Ten digits: more than a time has, enough to compare values."""
    return float(f"{value:.10g}") if isinstance(value, float) else value
