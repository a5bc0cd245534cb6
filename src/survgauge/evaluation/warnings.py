"""Warnings of an evaluation: each case by itself, and cases of one kind joined into one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..metrics.registry import REGISTRY
from .phrases import listed, when
from .verdict import cases_of, first_metrics, headline
from .warning_kinds import KINDS, EvaluationWarning

#: How much warnings weigh, gravest first.
WEIGHTS = ("problem", "caution", "note")
#: Shares from which on a caution is a problem, and below which a problem is a caution.
_MUCH, _LITTLE = 0.5, 0.05
#: How many metrics, models or groups are named.
_MOST = 6
#: Codes about the weights of the last subjects, which a `tau` near the horizon leaves as they are.
_BY_THE_LAST = ("mean-weight", "large-weight")
#: What to do about weights under delayed entry.
_ENTERED_EARLY = (
    "pass an earlier `time` and `tau`, or a `landmark` from which the follow-up reaches them"
)

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
        return _distinct(case.metric for case in self.cases)

    @property
    def models(self) -> tuple[str, ...]:
        """Models that it is about; none where it is about all alike."""
        return _distinct(case.model for case in self.cases)

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups that it is about; none where it is about all subjects only."""
        return _distinct(case.group for case in self.cases)

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
        first, models, groups = self.cases[0], self.models, self.groups
        metrics = _distinct(_metric(case, name) for case in self.cases)
        whose = "all models" if 1 < len(models) == self.model_count else _some(models)
        where = f"group{'s' * (len(groups) > 1)} {_some(groups)}" if groups else ""
        where = f"also in {where}" if groups and first.group is None else where
        inside = "; ".join(filter(None, (whose, where)))
        places = f"{_some(metrics)} ({inside})" if metrics and inside else _some(metrics) or inside
        said = str(first.message).rstrip(".")
        others = len({case.message for case in self.cases}) - 1
        if not others:
            return places, said
        # The numbers are those of the first case: which is it?
        mine = [_metric(first, name)] * (len(metrics) > 1) + [first.model] * (len(models) > 1)
        parts = [" of ".join(str(part) for part in mine if part)]
        if groups:
            parts.append("all subjects" if first.group is None else f"group {first.group}")
        example = ", ".join(filter(None, parts))
        if not example:
            return places, f"{said} ({others} more of this kind)"
        return places, f"for example {example}: {said}"

    def advice(self, support: dict[str, Any], options: Mapping[str, str] | None = None) -> str:
        """Say what to do; `options` are other names of arguments, as a shell has them."""
        text = marked_advice(self.code, self.cases[0].metric, support)
        named = re.sub(r"`([^`]+)`", lambda m: (options or {}).get(m[1], m[1]), text)
        return named.replace("`", "")

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

    Of one kind are those with the same code and words, whatever their numbers. Where an error said
    why, or an earlier version wrote the message, all of a metric are of one kind, and so are those
    of metrics about which the same is said.

    Notes come last. Before them stand warnings about the data or a metric of the first screen, then
    those about other metrics; the gravest first, and of equal ones that which affects most. `data`
    has models, metrics and support, as `Evaluation.to_dict` has them.
    """
    cases = list(cases)
    said: dict[tuple[str, str | None], set[str]] = {}
    for case in cases:
        said.setdefault((case.code, case.metric), set()).add(case.message)
    found: dict[Any, list[EvaluationWarning]] = {}
    for case in cases:
        words = {name: v for name, v in case.numbers.items() if isinstance(v, str)}
        same: Any = tuple(words.items())
        if set(case.numbers) <= {"why"}:
            same = frozenset(said[case.code, case.metric])
        found.setdefault((case.code, same), []).append(case)
    first, shown = headline(data), first_metrics(data) if data["metrics"] else []

    def case_place(case: EvaluationWarning) -> tuple[bool, bool, float]:
        return case.group is not None, case.metric not in shown, -_share(case.affected)

    def place(warning: JoinedWarning) -> tuple[bool, bool, int, bool, float]:
        weight, about = warning.weight, warning.about(shown)
        grave = WEIGHTS.index(weight)
        mine = first in warning.metrics
        return weight == WEIGHTS[-1], not about, grave, not mine, -_share(warning.affected)

    together = (
        JoinedWarning(code, tuple(sorted(mine, key=case_place)), len(data["models"]))
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
    return f"{len(warnings)} warning{'s' * (len(warnings) > 1)} ({by_weight(warnings)})"


def by_weight(warnings: list[JoinedWarning]) -> str:
    """Count the problems, cautions and notes among warnings."""
    weights = [warning.weight for warning in warnings]
    numbers = [(weights.count(weight), weight) for weight in WEIGHTS]
    return ", ".join(f"{n} {weight}{'s' * (n > 1)}" for n, weight in numbers if n)


def graded(code: str, affected: float | None = None) -> str:
    """Say how much a warning weighs, given the share of what it is about that is affected.

    A caution about half of the subjects or more is a problem, and a problem with less than a
    twentieth is a caution. A code of a newer version is a caution.

    >>> graded("tail-times", 0.2), graded("tail-times", 0.6), graded("past-curve", 0.02)
    ('caution', 'problem', 'caution')
    """
    usual = KINDS[code].weight if code in KINDS else "caution"
    if affected is None or usual == "note":
        return usual
    if usual == "problem":
        return usual if affected >= _LITTLE else "caution"
    return "problem" if affected >= _MUCH else usual


def marked_advice(code: str, metric: str | None, support: dict[str, Any]) -> str:
    """Say what to do about a warning, with arguments between backticks; nothing done already.

    Where the horizon of the metric ends already, an earlier `tau` is advised, not just any. So
    it is for scores whose last subjects are what is wrong.

    >>> marked_advice("distribution-tail", "mae_po", {"tau": None, "horizon": 2177.3})
    'set `tau` (for example 2100)'
    >>> marked_advice("distribution-tail", "mae_within", {"tau": None, "horizon": 2177.3})
    'set an earlier `tau` than 2177.3'
    """
    if code not in KINDS:
        return ""
    known = REGISTRY.get(metric or "")
    tau, horizon = support.get("tau"), support["horizon"] or 0.0
    score = known is not None and known.family != "time" and code in _BY_THE_LAST
    stop = horizon if score or (known is not None and known.within_horizon) else None
    stop = stop if tau is None else tau
    example = ""
    if horizon > 0:  # two digits, not above it
        step = 10.0 ** (math.floor(math.log10(horizon)) - 1)
        example = f" (for example {math.floor(horizon / step + 1e-9) * step:.6g})"
    better = f"set `tau`{example}" if stop is None else f"set an earlier `tau` than {stop:.6g}"
    if code == "mean-weight" and support.get("delayed_entry"):
        return _ENTERED_EARLY
    return KINDS[code].advice.replace("set `tau`", better)


def _share(affected: float | None) -> float:
    """What is affected, for sorting; all of it where nothing says how much.

    Without its last digits, so that rounding does not decide which of two equals comes first.
    """
    return 1.0 if affected is None else round(affected, 9)


def _metric(case: EvaluationWarning, name: Name) -> str:
    """Name the metric of a warning, with its time; nothing where it is about the data."""
    return f"{name(case.metric) if case.metric else ''} {when({'time': case.time})}".strip()


def _distinct(names: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(name) for name in names if name))


def _some(names: tuple[str, ...]) -> str:
    """Name up to six.

    >>> _some(("a", "b")), _some(tuple("abcdefgh")), _some(())
    ('a and b', 'a, b, c, d, e and 3 more', '')
    """
    if not names:
        return ""
    if len(names) <= _MOST:
        return listed(list(names))
    return listed([*names[: _MOST - 1], f"{len(names) - _MOST + 1} more"])
