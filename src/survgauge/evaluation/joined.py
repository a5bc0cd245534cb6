"""Warnings of one kind as one, which names the metrics, models and groups that it is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..data.event_words import EventWords
from .explanations import WEIGHTS, advice_for, graded
from .phrases import listed
from .verdict import cases_of, first_metrics, headline
from .warnings import EvaluationWarning
from .when import when

#: How many metrics, models or groups are named.
_MOST = 6
_NUMBER = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?")

#: How a metric is called, given its identifier.
Name = Callable[[str], str]


@dataclass(frozen=True)
class JoinedWarning:
    """Warnings that say the same, apart from numbers and models.

    Attributes
    ----------
    code : str
        What it is, for programs.
    cases : tuple of EvaluationWarning
        Each model, metric, time and group by itself: all subjects first, then what affects most.
    """

    code: str
    cases: tuple[EvaluationWarning, ...]
    #: How many models there are, so that all of them need not be named.
    model_count: int

    @property
    def weight(self) -> str:
        """How grave it is: problem, caution or note, by its code and how much is affected."""
        found = {graded(self.code, case.affected) for case in self.cases}
        return next(weight for weight in WEIGHTS if weight in found)

    @property
    def affected(self) -> float | None:
        """Largest share of subjects, events or the error that is affected, where that is known."""
        return max((c.affected for c in self.cases if c.affected is not None), default=None)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that it is about; none where it is about the data."""
        return tuple(_distinct(case.metric for case in self.cases))

    @property
    def models(self) -> tuple[str, ...]:
        """Models that it is about; none where it is about all alike."""
        return tuple(_distinct(case.model for case in self.cases))

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups that it is about; none where it is about all subjects only."""
        return tuple(_distinct(case.group for case in self.cases))

    @property
    def message(self) -> str:
        """What it says; with the numbers of the first case."""
        return self.text()[1]

    def about(self, metrics: Iterable[str]) -> bool:
        """Whether some case is about the data, or about one of the metrics."""
        known = {None, *metrics}
        return any(case.metric in known for case in self.cases)

    def text(self, name: Name = str) -> tuple[str, str]:
        """Return what it is about, and what it says; `name` gives the name of a metric."""
        first, metrics = self.cases[0], _distinct(_metric(case, name) for case in self.cases)
        models, groups = list(self.models), list(self.groups)
        whose = "all models" if 1 < len(models) == self.model_count else _some(models)
        where = f"group{'s' * (len(groups) > 1)} {_some(groups)}" if groups else ""
        if groups and first.group is None:
            where = f"also in {where}"
        inside = "; ".join(filter(None, (whose, where)))
        places = f"{_some(metrics)} ({inside})" if metrics and inside else _some(metrics) or inside
        return places, self._said(len(metrics) > 1, len(models) > 1, bool(groups), name)

    def _said(self, metrics: bool, models: bool, groups: bool, name: Name) -> str:
        """Return the message of the first case, and which it is where others have numbers."""
        first = self.cases[0]
        message = str(first.message).rstrip(".")
        others = len({case.message for case in self.cases}) - 1
        if not others:
            return message
        whose = [_metric(first, name)] * metrics + [first.model] * models
        parts = [" of ".join(str(part) for part in whose if part)]
        if groups:
            parts.append("all subjects" if first.group is None else f"group {first.group}")
        example = ", ".join(filter(None, parts))
        if not example:
            return f"{message} ({others} more of this kind)"
        return f"for example {example}: {message}"

    def advice(self, support: dict[str, Any]) -> str:
        """Say what to do."""
        return advice_for(self.code, self.cases[0].metric, support)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "code": self.code,
            "weight": self.weight,
            "message": self.message,
            "models": list(self.models),
            "metrics": list(self.metrics),
            "groups": list(self.groups),
            "affected": self.affected,
            "cases": [case.to_dict() for case in self.cases],
        }

    def __str__(self) -> str:
        places, said = self.text()
        return f"[{self.code}] {places + ': ' if places else ''}{said}"


def joined(cases: Iterable[EvaluationWarning], data: dict[str, Any]) -> list[JoinedWarning]:
    """Join warnings of one kind; those to read first come first.

    Notes come last. Before them stand warnings about the data or a metric of the first screen, then
    those about other metrics; the gravest first, and of equal ones that which affects most. `data`
    has models, metrics and support, as `Evaluation.to_dict` has them.
    """
    names = [*data["models"], EventWords.of(data.get("support") or {}).baseline]
    found: dict[tuple[str, str], list[EvaluationWarning]] = {}
    for case in cases:
        found.setdefault((case.code, _shape(case.message, names)), []).append(case)
    first, shown = headline(data), first_metrics(data) if data["metrics"] else []

    def case_place(case: EvaluationWarning) -> tuple[bool, bool, float]:
        return case.group is not None, case.metric not in shown, -_share(case.affected)

    def place(warning: JoinedWarning) -> tuple[bool, bool, int, bool, float]:
        weight, about = warning.weight, warning.about(shown)
        grave = WEIGHTS.index(weight)
        mine = first in warning.metrics
        return weight == WEIGHTS[-1], not about, grave, not mine, -_share(warning.affected)

    count = len(data["models"])
    together = (
        JoinedWarning(code, tuple(sorted(mine, key=case_place)), count)
        for (code, _), mine in found.items()
    )
    return sorted(together, key=place)


def warnings_of(data: dict[str, Any]) -> list[JoinedWarning]:
    """Return the warnings of plain data, which this or an earlier version wrote."""
    return joined(map(EvaluationWarning.of, cases_of(data)), data)


def counted(warnings: list[JoinedWarning]) -> str:
    """Say how many warnings there are, and how grave they are.

    >>> case = EvaluationWarning("few-events", "there are 9 events only")
    >>> counted([JoinedWarning("few-events", (case,), 1)]), counted([])
    ('1 warning (1 caution)', 'no warnings')
    """
    if not warnings:
        return "no warnings"
    weights = [warning.weight for warning in warnings]
    numbers = [(weights.count(weight), weight) for weight in WEIGHTS]
    told = ", ".join(f"{n} {weight}{'s' * (n > 1)}" for n, weight in numbers if n)
    return f"{len(warnings)} warning{'s' * (len(warnings) > 1)} ({told})"


def _share(affected: float | None) -> float:
    """What is affected, for sorting; all of it where nothing says how much.

    Without its last digits, so that rounding does not decide which of two equals comes first.
    """
    return 1.0 if affected is None else round(affected, 9)


def _shape(message: str, models: list[str]) -> str:
    """Return a message without its numbers and models.

    >>> _shape("cox and km differ by 2.5 days", ["cox", "km"])
    '# and # differ by # days'
    """
    for model in sorted(models, key=len, reverse=True):
        message = re.sub(rf"(?<!\w){re.escape(model)}(?!\w)", "#", message)
    return _NUMBER.sub("#", message)


def _metric(case: EvaluationWarning, name: Name) -> str:
    """Name the metric of a warning, with its time; nothing where it is about the data."""
    return f"{name(case.metric) if case.metric else ''} {when({'time': case.time})}".strip()


def _distinct(names: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(name) for name in names if name))


def _some(names: list[str]) -> str:
    """Name up to six.

    >>> _some(["a", "b"]), _some(list("abcdefgh")), _some([])
    ('a and b', 'a, b, c, d, e and 3 more', '')
    """
    if not names:
        return ""
    if len(names) <= _MOST:
        return listed(names)
    return listed([*names[: _MOST - 1], f"{len(names) - _MOST + 1} more"])
