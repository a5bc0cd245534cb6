"""What a metric said about its support on parts of the subjects, put together."""

from __future__ import annotations

import re
from typing import Any

from ..errors import name_some

#: Key of the support of a time error, where there are such subjects.
PAST_KEY = "share of the result from subjects censored past the reference"
#: Numbers that add up over parts.
_ADDED = frozenset(
    (
        "subjects",
        "events",
        "censored",
        "censored_past_reference",
        "events_past_reference",
        "negative_predictions",
        "subjects_past_horizon",
        "events_past_horizon",
        "lost_events",
        "clipped",
        "infinite_losses",
        "survival_zero",
        "survival_one",
        "past_curves",
        "events_past_tau",
        "anchors",
    )
)
_LARGEST = frozenset(("largest_weight", "largest_surrogate"))
#: A sum over subjects in scores of whole curves; a property of the grid in scores at given times.
_PAST_CURVES = "times_past_curves"
#: Put together from other numbers in the end.
_BY_RULE = frozenset(("tail_share", PAST_KEY, "infinite_for", "past_curve", "mean_weight"))
_NAMED = 5


class SupportSum:
    """Support of all parts together: counts added, largest kept, shares weighted.

    Examples
    --------
    >>> both = SupportSum()
    >>> both.add({"subjects": 4, "largest_weight": 2.0, "tail_share": 0.5, "notes": {"lost": 1}})
    >>> both.add({"subjects": 6, "largest_weight": 1.0, "tail_share": 0.0, "notes": {"lost": 2}})
    >>> both.result()["tail_share"], both.result()["notes"], both.result()["largest_weight"]
    (0.2, {'lost': 3}, 2.0)
    """

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        #: Weight of the subjects whose time was read off a tail, and of all.
        self._tails = (0.0, 0.0)
        self._past = 0.0
        #: Weight of the curves that are read past their ends, and of all.
        self._assumed, self._mass = 0.0, 0.0
        #: Sum of the subjects' weights 1/G, and of their masses.
        self._weights = (0.0, 0.0)
        self._rows: list[int] = []

    def add(self, support: dict[str, Any], start: int = 0, mass: float | None = None) -> None:
        """Add the support of a part of the subjects, from row `start` on, who weigh `mass`."""
        part = SupportSum()
        part._known = dict(support)
        if "mean_weight" in support:
            mass = float(support["subjects"]) if mass is None else mass
            part._weights = support["mean_weight"] * mass, mass
        if support.get("tail_share") is not None:
            weight = float(support["subjects"]) if mass is None else mass
            part._tails = support["tail_share"] * weight, weight
        part._past = support.get(PAST_KEY, 0.0)
        if "past_curve" in support:
            part._mass = float(support["subjects"]) if mass is None else mass
            part._assumed = support["past_curve"] * part._mass
        if "infinite_for" in support:
            listed = str(support["infinite_for"]).split(", ...")[0]
            part._rows = [start + int(number) for number in re.findall(r"\d+", listed)]
        self.merge(part)

    def merge(self, other: SupportSum) -> None:
        """Add the support of another part."""
        for key, value in other._known.items():
            self._known[key] = self._joined(key, value) if key in self._known else value
        self._tails = self._tails[0] + other._tails[0], self._tails[1] + other._tails[1]
        self._past += other._past
        self._assumed, self._mass = self._assumed + other._assumed, self._mass + other._mass
        weights, mass = other._weights
        self._weights = self._weights[0] + weights, self._weights[1] + mass
        self._rows = sorted([*self._rows, *other._rows])[:_NAMED]

    def _joined(self, key: str, value: Any) -> Any:
        known = self._known[key]
        if key == "notes":
            return {k: known.get(k, 0) + value.get(k, 0) for k in {**known, **value}}
        if key in _ADDED or (key == _PAST_CURVES and "identified_until" not in self._known):
            return known + value
        if key in _LARGEST:
            return max((v for v in (known, value) if v is not None), default=None)
        same = known == value or (known != known and value != value)
        # Parts must agree on what no rule adds up: where they do not, nothing is said.
        return known if same or key in _BY_RULE else None

    def result(self, total: float = 0.0) -> dict[str, Any]:
        """Return the support of all, whose weighted losses sum to `total`."""
        found = dict(self._known)
        if found.get("tail_share") is not None:
            tails, weight = self._tails
            found["tail_share"] = tails / weight if weight > 0 else 0.0
        if "past_curve" in found:
            found["past_curve"] = self._assumed / self._mass if self._mass > 0 else 0.0
        if "mean_weight" in found:
            weights, mass = self._weights
            found["mean_weight"] = weights / mass if mass > 0 else 0.0
        if PAST_KEY in found:
            found[PAST_KEY] = self._past / total if total > 0 else 0.0
        if "infinite_for" in found:
            number = int(found["infinite_losses"])
            shown = name_some(self._rows)
            found["infinite_for"] = shown if number <= _NAMED else f"{shown}, ... ({number} in all)"
        return found


def renumbered(support: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Support of some subjects whose numbers are those in the whole test set; None: they are.

    >>> renumbered({"infinite_for": "0, 2, ... (9 in all)"}, [4, 5, 8])
    {'infinite_for': '4, 8, ... (9 in all)'}
    """
    if rows is None or "infinite_for" not in support:
        return support
    listed, more, count = str(support["infinite_for"]).partition(", ...")
    named = ", ".join(str(rows[int(number)]) for number in listed.split(", "))
    return {**support, "infinite_for": named + more + count}
