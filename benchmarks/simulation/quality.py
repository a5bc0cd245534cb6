"""Sums over replications, kept as plain data: parts of a run can be added up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Key = tuple[tuple[str, Any], ...]


class Quality:
    """Counts of what intervals covered and tests rejected, by what was simulated."""

    def __init__(self) -> None:
        self.sums: dict[Key, dict[str, float]] = {}

    def _add(self, key: dict[str, Any], **numbers: float) -> None:
        sums = self.sums.setdefault(tuple(key.items()), {})
        for name, number in numbers.items():
            sums[name] = sums.get(name, 0.0) + float(number)

    def interval(
        self,
        key: dict[str, Any],
        row: dict[str, Any],
        limit: float = float("nan"),
        truth: float = float("nan"),
        within: tuple[float, float] = (-np.inf, np.inf),
    ) -> None:
        """Count an interval: `row` has value (or difference), low and high."""
        value = row["value"] if "value" in row else row["difference"]
        low, high = row["low"], row["high"]
        key = {"kind": "interval", **key}
        if not np.isfinite([value, low, high]).all():
            self._add(key, reps=1, undefined=1)
            return
        numbers = {"reps": 1, "value": value, "square": value**2, "width": high - low}
        numbers["outside"] = low < within[0] - 1e-12 or high > within[1] + 1e-12
        numbers["zero"] = high <= low
        for name, target in (("limit", limit), ("truth", truth)):
            if np.isfinite(target):
                numbers |= {name: target, f"in_{name}": low <= target <= high, f"n_{name}": 1}
        self._add(key, **numbers)

    def test(self, key: dict[str, Any], p_value: float) -> None:
        """Count a test at the 5 % level."""
        known = p_value == p_value  # not NaN
        self._add(
            {"kind": "test", **key}, reps=1, undefined=not known, rejected=known and p_value < 0.05
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return keys and sums in one dictionary each."""
        return [{**dict(key), "sums": sums} for key, sums in self.sums.items()]


def added(parts: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Add up the rows of several parts."""
    total = Quality()
    for rows in parts:
        for row in rows:
            key = {name: value for name, value in row.items() if name != "sums"}
            total._add(key, **row["sums"])
    return total.rows()


def summary(row: dict[str, Any]) -> dict[str, Any]:
    """Turn sums into shares in percent; what is not remarkable is left out."""
    found = {name: value for name, value in row.items() if name != "sums"}
    sums = row["sums"]
    reps, undefined = int(sums["reps"]), int(sums.get("undefined", 0))
    found["reps"] = reps - undefined
    if undefined:
        found["undefined"] = undefined
    if found["kind"] == "test":
        return {**found, "rejected": _percent(sums["rejected"], reps - undefined)}
    if reps == undefined:
        return found
    mean = sums["value"] / found["reps"]
    found |= {"value": _short(mean), "width": _short(sums["width"] / found["reps"])}
    for name in ("outside", "zero"):
        if sums.get(name):
            found[name] = _percent(sums[name], found["reps"])
    for name in ("limit", "truth"):
        if sums.get(f"n_{name}"):
            found[name] = _short(sums[name] / sums[f"n_{name}"])
            found[f"covers_{name}"] = _percent(sums[f"in_{name}"], sums[f"n_{name}"])
    return found


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def _percent(count: float, of: float) -> float | None:
    return round(100 * count / of, 1) if of else None
