"""Warnings of one kind as one remark, which names the metrics, models and groups it is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .explanations import WEIGHTS, weight_of
from .sentences import listed
from .verdict import headline
from .when import when

#: How many metrics, models or groups are named.
_MOST = 6
_NUMBER = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?")

#: How a metric is called, given its identifier.
Name = Callable[[str], str]


@dataclass(frozen=True)
class Remark:
    """Warnings that say the same, apart from numbers and models; those on all subjects first."""

    code: str
    warnings: tuple[dict[str, Any], ...]

    @property
    def metric(self) -> str | None:
        """The metric of the first warning."""
        metric: str | None = self.warnings[0]["metric"]
        return metric

    def about(self, metrics: Iterable[str]) -> bool:
        """Whether some warning is about the data, or about one of the metrics."""
        known = {None, *metrics}
        return any(warning["metric"] in known for warning in self.warnings)

    def text(self, models: list[str], name: Name = str) -> tuple[str, str]:
        """Return what the warnings are about, and what they say; with numbers of the first one.

        `models` are all models of the evaluation; `name` gives the name of a metric.
        """
        first = self.warnings[0]
        metrics = _distinct(_metric(warning, name) for warning in self.warnings)
        named = _distinct(warning["model"] for warning in self.warnings)
        groups = _distinct(warning["group"] for warning in self.warnings)
        whose = "all models" if 1 < len(named) == len(models) else _some(named)
        where = f"group{'s' * (len(groups) > 1)} {_some(groups)}" if groups else ""
        if groups and first["group"] is None:
            where = f"also in {where}"
        inside = "; ".join(filter(None, (whose, where)))
        places = f"{_some(metrics)} ({inside})" if metrics and inside else _some(metrics) or inside
        return places, self._said(len(metrics) > 1, len(named) > 1, bool(groups), name)

    def _said(self, metrics: bool, models: bool, groups: bool, name: Name) -> str:
        """Return the message of the first warning, and which it is where others have numbers."""
        first = self.warnings[0]
        message = str(first["message"]).rstrip(".")
        others = len({warning["message"] for warning in self.warnings}) - 1
        if not others:
            return message
        whose = [_metric(first, name)] * metrics + [first["model"]] * models
        parts = [" of ".join(filter(None, whose))]
        if groups:
            parts.append("all subjects" if first["group"] is None else f"group {first['group']}")
        example = ", ".join(filter(None, parts))
        if not example:
            return f"{message} ({others} more warning{'s' * (others > 1)} of this kind)"
        return f"for example {example}: {message}"


def joined(data: dict[str, Any]) -> list[Remark]:
    """Join the warnings in the data of `Evaluation.to_dict`, gravest first, then the headline's."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for warning in data["warnings"]:
        key = warning["code"], _shape(warning["message"], data["models"])
        found.setdefault(key, []).append(warning)
    remarks = [
        Remark(code, tuple(sorted(mine, key=lambda warning: warning["group"] is not None)))
        for (code, _), mine in found.items()
    ]
    metric = headline(data)

    def place(remark: Remark) -> tuple[int, bool]:
        mine = any(warning["metric"] == metric for warning in remark.warnings)
        return WEIGHTS.index(weight_of(remark.code)), not mine

    return sorted(remarks, key=place)


def _shape(message: str, models: list[str]) -> str:
    """Return a message without its numbers and models.

    >>> _shape("cox and km differ by 2.5 days", ["cox", "km"])
    '# and # differ by # days'
    """
    for model in sorted(models, key=len, reverse=True):
        message = re.sub(rf"(?<!\w){re.escape(model)}(?!\w)", "#", message)
    return _NUMBER.sub("#", message)


def _metric(warning: dict[str, Any], name: Name) -> str:
    """Name the metric of a warning, with its time; nothing where it is about the data."""
    metric, at = warning["metric"], when({"time": warning.get("time")})
    return f"{name(metric) if metric else ''} {at}".strip()


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
