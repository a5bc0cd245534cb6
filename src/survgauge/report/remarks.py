"""What to trust: warnings with their weight, what they mean and what to do."""

from __future__ import annotations

import math
from typing import Any

from ..evaluation.explanations import EXPLANATIONS, WEIGHTS, weight_of
from ..evaluation.verdict import headline
from ..evaluation.when import when
from .markup import Markup, tag


def remarks(data: dict[str, Any]) -> Markup:
    """Warnings, gravest first; one that several models or metrics share is said once."""
    shared: dict[tuple[str, str], dict[str, list[str]]] = {}
    for warning in data["warnings"]:
        places = shared.setdefault((warning["code"], warning["message"]), {})
        place = " ".join(str(warning[k]) for k in ("group", "metric") if warning[k])
        place = f"{place} {when({'time': warning.get('time')})}".strip()
        models = places.setdefault(place, [])
        if warning["model"] and warning["model"] not in models:
            models.append(warning["model"])
    metric = headline(data)
    order = sorted(
        shared.items(),
        key=lambda item: (
            WEIGHTS.index(weight_of(item[0][0])),
            not any(metric in place for place in item[1]),
        ),
    )
    items = [
        _remark(code, message, [n for n in (_where(p, m, data) for p, m in places.items()) if n],
                support=data["support"])
        for (code, message), places in order
    ]  # fmt: skip
    if not items:
        told_by = "No remark: the follow-up supports every number on this page."
        items = [tag("li", tag("span", "good", class_="badge"), told_by, class_="good")]
    return tag("ul", *items, class_="trust")


def _where(place: str, models: list[str], data: dict[str, Any]) -> str:
    whose = "all models" if 1 < len(models) == len(data["models"]) else ", ".join(models)
    return f"{place} of {whose}" if place and whose else place or whose


def _remark(code: str, message: str, names: list[str], support: dict[str, Any]) -> Markup:
    told, weight = EXPLANATIONS.get(code), weight_of(code)
    shown = "; ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    advice = "" if told is None else told.advice.replace("`", "")
    if advice.startswith("give tau") or "give tau" in message:
        advice = f"give tau, for example --tau {_round_down(support['horizon'])}"
    said = message.removesuffix("; give tau").removesuffix(": give tau").rstrip(".")
    return tag(
        "li",
        tag("span", weight, class_="badge"),
        tag("strong", f"{shown}: ") if shown else None,
        said if said.endswith("?") else f"{said}.",
        " ",
        tag("span", f"What to do: {advice}. ", class_="soft")
        if advice and advice not in message
        else None,
        tag("code", code, class_="soft small", title=told and told.meaning.replace("`", "")),
        class_=weight,
    )


def _round_down(value: float) -> str:
    """Two digits, not above the value: a time to suggest.

    >>> _round_down(2296.0), _round_down(0.0437)
    ('2200', '0.043')
    """
    if not value > 0:
        return "T"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.floor(value / step + 1e-9) * step:.6g}"
