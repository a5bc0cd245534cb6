"""Results of a run, looked up by what was simulated, and how shares are written."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
INDEPENDENT = ("30i", "60i", "80i")
KINDS = (*INDEPENDENT, "60d", "80d")
SIZES = (100, 300, 1000)


class Results:
    """Rows of docs/results/coverage.json."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self._found = {self._key(row): row for row in rows}

    @staticmethod
    def _key(row: Row) -> tuple[Any, ...]:
        names = ("kind", "study", "censoring", "n", "train", "metric", "model", "variant")
        return tuple(row.get(name) for name in names)

    def get(self, **key: Any) -> Row | None:
        """Return the only row with these settings; what is not named does not matter."""
        key = {"kind": "interval", **key}
        exact = self._found.get(self._key(key))
        if exact is not None:
            return exact
        found = [r for r in self.rows if all(r.get(k) == v for k, v in key.items())]
        return found[0] if len(found) == 1 else None

    def metrics(self, study: str) -> list[str]:
        """Return the metrics of a study, in their order."""
        rows = (r for r in self.rows if r["study"] == study and r["kind"] == "interval")
        return list(dict.fromkeys(row["metric"] for row in rows))

    def coverages(self, study: str, metric: str, column: str, **key: Any) -> list[Row]:
        """Return the rows of a metric that have a coverage."""
        wanted = {"kind": "interval", "study": study, "metric": metric, **key}
        found = (r for r in self.rows if all(r.get(k) == v for k, v in wanted.items()))
        return [row for row in found if row.get(column) is not None]


def merged(rows: list[Row], new: list[Row], order: list[str]) -> list[Row]:
    """Put rows of some metrics in place of older ones, in the order of the metrics."""

    def setting(row: Row) -> tuple[Any, ...]:
        return tuple(
            row.get(name) for name in ("study", "kind", "censoring", "n", "train", "model")
        )

    def place(row: Row) -> int:
        return order.index(row["metric"]) if row["metric"] in order else len(order)

    again = {(row["metric"], row["study"]) for row in new}
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in [row for row in rows if (row["metric"], row["study"]) not in again] + new:
        groups.setdefault(setting(row), []).append(row)
    touched = {setting(row) for row in new}
    return [
        row
        for key, group in groups.items()
        for row in (sorted(group, key=place) if key in touched else group)
    ]


def error_of(reps: float, share: float = 95.0) -> float:
    """Half the width of a 95 % interval of a simulated share, in points."""
    return 1.96 * (share * (100 - share) / max(reps, 1)) ** 0.5


def marked(share: float | None, low: float, high: float) -> str:
    """Return a share with an arrow where it lies outside."""
    if share is None:
        return "-"
    arrow = "↓" if share < low else "↑" if share > high else ""
    return f"{share:.0f}{arrow}"


def cell(share: float | None) -> str:
    """Return a coverage, marked outside 93 to 97 %."""
    return marked(share, 93.0, 97.0)
