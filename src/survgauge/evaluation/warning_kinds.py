"""Every kind of warning in one table: weight, sentence and advice; and warnings about one cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np

from .._tools.text import percent, plain
from .phrases import listed


@dataclass(frozen=True)
class Kind:
    """How much a warning weighs (note, caution, problem), what it says, what to do.

    A sentence is a template for the numbers of a case; where there are several, the number "form"
    says which. Besides Python's formats there are `%` (percent), `list` (a, b and c) and `n WORD`
    (1 word, 2 words). Backticks in advice stand around arguments.
    """

    weight: str
    sentence: str | dict[str, str]
    advice: str

    def message(self, numbers: dict[str, Any]) -> str:
        """Put the numbers of a case into the sentence.

        >>> KINDS["few-clusters"].message({"clusters": 4})
        'there are only 4 clusters, so standard errors are rough and intervals are wide'
        """
        text = self.sentence if isinstance(self.sentence, str) else self.sentence[numbers["form"]]
        return _Formats().format(text, **numbers)


class _Formats(Formatter):
    """Python's formats, and those of `Kind`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "%":
            return percent(value)
        if format_spec == "list":
            return listed(list(value))
        if format_spec.startswith("n "):
            return f"{value} {format_spec[2:]}{'s' * (value != 1)}"
        return str(super().format_field(value, format_spec))


#: Why the data support no later times.
REASONS = {
    "thin-risk-set": "too few test subjects are at risk",
    "g-below-floor": "almost all subjects are censored (G is below its limit)",
    "hidden-subjects": "too many event-free subjects are almost surely censored given the features",
    "past-follow-up": "no subject is followed",
}
_TABLE = json.loads(Path(__file__).with_name("warning_kinds.json").read_text(encoding="utf-8"))
#: By code, as in ``warning_kinds.json``: data first, then the support, single numbers at the end.
#: The code of another kind in place of a sentence stands for its sentence.
KINDS: dict[str, Kind] = {
    code: Kind(**kind | ({"sentence": _TABLE[said]["sentence"]} if said in _TABLE else {}))
    for code, kind in _TABLE.items()
    for said in [str(kind["sentence"])]
}


@dataclass(frozen=True)
class EvaluationWarning:
    """A warning about one cell: a code and numbers for programs, a message for people."""

    code: str
    message: str
    model: str | None = None
    metric: str | None = None
    group: Any = None
    #: Time of interest, where the metric has one.
    time: float | None = None
    #: Share of subjects, events or the error that is affected, where that is known.
    affected: float | None = None
    #: What the message was made of; nothing where an earlier version wrote it.
    numbers: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> EvaluationWarning:
        """Read plain data, in which an earlier version may have written less."""
        given: dict[str, Any] = {field.name: data.get(field.name) for field in fields(cls)}
        return cls(**given | {"numbers": given["numbers"] or {}})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "group": None if self.group is None else str(self.group)}

    def __str__(self) -> str:
        group = None if self.group is None else f"group {self.group}"
        time = None if self.time is None else f"at {self.time:g}"
        where = " ".join(part for part in (group, self.model, self.metric, time) if part)
        return f"[{self.code}] {where + ': ' if where else ''}{self.message}"


def warned(
    code: str,
    model: str | None = None,
    metric: str | None = None,
    group: Any = None,
    time: float | None = None,
    affected: float | None = None,
    **numbers: Any,
) -> EvaluationWarning:
    """Return the warning of a code about a cell; its kind makes a sentence of the numbers.

    >>> warned("negative-times", "cox", "mae_po", count=3).message
    '3 of the predicted times are below zero'
    """
    found = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in numbers.items()
    }
    message = KINDS[code].message(found)
    return EvaluationWarning(code, message, model, metric, group, time, affected, plain(found))
