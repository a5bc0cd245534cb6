"""Results of a run, looked up and pooled by what was simulated, and how shares are written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from .plan import HAZARDS
from .scenario import Scenario
from .truth import estimates_truth

Row = dict[str, Any]
#: Coverage and size that are promised, in %.
COVERAGE, SIZE = (93.0, 97.0), (3.0, 7.0)
#: Hundreds of shares are judged: an arrow needs a deviation that chance makes once in a hundred.
SURE = 2.58 / 1.96
MODELS = ("right", "late", "wrong")
#: What a scenario is unless a table asks for something else.
_USUAL = {
    "study": "intervals", "hazard": HAZARDS, "features": False, "causes": 1, "entry": False,
    "clusters": 0, "weights": False, "model": MODELS, "variant": None,
}  # fmt: skip
#: Rows are looked up by these.
_INDEXED = ("study", "kind", "hazard", "model", "features", "causes", "variant")


class Results:
    """Rows of docs/results/coverage_table.json, each with its scenario."""

    def __init__(self, cells: dict[str, Any]) -> None:
        self.rows: list[Row] = []
        self._index: dict[tuple[Any, ...], list[Row]] = {}
        for cell in cells.values():
            where = {**cell["scenario"], "study": cell["study"], "draws": cell["reps"]}
            where["column"] = Scenario(**cell["scenario"]).column
            for row in cell["rows"]:
                kind = "test" if "rejected" in row else "interval"
                self.add({**where, "kind": kind, "reps": cell["reps"], **row})

    def add(self, row: Row) -> None:
        """Add a row."""
        self.rows.append(row)
        self._index.setdefault(tuple(row.get(name) for name in _INDEXED), []).append(row)

    def select(self, kind: str = "interval", **wanted: Any) -> list[Row]:
        """Return rows; a tuple stands for any of its values, and what is not named is as usual."""
        asked = {**_USUAL, **wanted, "kind": kind}
        places = [v if isinstance(v, tuple) else (v,) for v in (asked[k] for k in _INDEXED)]
        rest = [(k, v if isinstance(v, tuple) else (v,)) for k, v in asked.items()]
        rest = [(k, v) for k, v in rest if k not in _INDEXED]
        found = []
        for place in product(*places):
            rows = self._index.get(place, ())
            found += [row for row in rows if all(row.get(k) in v for k, v in rest)]
        return found

    def metrics(self, kind: str = "interval", **wanted: Any) -> list[str]:
        """Return the metrics of these rows, in their order."""
        return list(dict.fromkeys(row["metric"] for row in self.select(kind, **wanted)))


def covers(row: Row) -> float | None:
    """Return how often an interval holds what it is about: the true value, or else its limit."""
    if row["metric"] in ("coverage",) or estimates_truth(row["metric"]):
        return row.get("covers_truth")
    return row.get("covers_limit")


def share(row: Row) -> float | None:
    """Return the coverage of an interval, or how often a test rejects."""
    return row.get("rejected") if row["kind"] == "test" else covers(row)


def pooled(rows: Iterable[Row], name: str | None = None) -> tuple[float, int] | None:
    """Return the mean share of rows and how many samples it rests on."""
    known = [(row.get(name) if name else share(row), row) for row in rows]
    found = [(value, row) for value, row in known if value is not None]
    if not found:
        return None
    total = sum(row["reps"] for _, row in found)
    samples = {tuple(row[k] for k in (*Scenario.__dataclass_fields__, "study")): row["draws"]
               for _, row in found}  # fmt: skip
    return sum(value * row["reps"] for value, row in found) / total, sum(samples.values())


def error_of(samples: float, rate: float = 95.0) -> float:
    """Half the width of a 95 % interval of a simulated share, in points."""
    return 1.96 * (rate * (100 - rate) / max(samples, 1)) ** 0.5


def outside(found: tuple[float, int], promise: tuple[float, float]) -> str:
    """Return an arrow where a share lies outside what is promised, and not by chance."""
    value, samples = found
    middle = 95.0 if promise[1] > 50 else 5.0
    beyond = abs(value - middle) > SURE * error_of(samples, middle)
    return ("↓" if value < promise[0] else "↑" if value > promise[1] else "") if beyond else ""


def cell(rows: Iterable[Row], promise: tuple[float, float] | None = COVERAGE) -> str:
    """Write the share of some rows, with an arrow where it is not as promised."""
    found = pooled(rows)
    if found is None:
        return "–"
    return f"{found[0]:.0f}{outside(found, promise) if promise else ''}"


def span(rows: Iterable[Row]) -> str:
    """Write the range of the shares of rows."""
    known = sorted(round(value) for value in map(share, rows) if value is not None)
    if not known:
        return "not simulated"
    return f"{known[0]} %" if known[0] == known[-1] else f"{known[0]} to {known[-1]} %"
