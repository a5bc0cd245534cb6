"""What to trust: warnings with their weight, what they mean and what to do."""

from __future__ import annotations

from typing import Any

from ..evaluation.explanations import EXPLANATIONS, WEIGHTS, advice_for, weight_of
from ..evaluation.verdict import headline
from ..evaluation.when import when
from ..metrics.registry import REGISTRY
from .markup import Markup, tag

#: How many places that share a warning are named.
_MOST = 4


def remarks(data: dict[str, Any]) -> Markup:
    """Warnings, gravest first; one that several models or metrics share is said once."""
    shared: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for warning in data["warnings"]:
        shared.setdefault((warning["code"], warning["message"]), []).append(warning)
    metric = headline(data)
    order = sorted(
        shared.items(),
        key=lambda item: (
            WEIGHTS.index(weight_of(item[0][0])),
            not any(warning["metric"] == metric for warning in item[1]),
        ),
    )
    items = [_remark(code, message, found, data) for (code, message), found in order]
    if not items:
        told_by = "No remark: the follow-up supports every number on this page."
        items = [tag("li", tag("span", "good", class_="badge"), told_by, class_="good")]
    return tag("ul", *items, class_="trust")


def _places(warnings: list[dict[str, Any]], data: dict[str, Any]) -> str:
    """Name the groups, metrics and models that a warning is about."""
    places: dict[str, list[str]] = {}
    for warning in warnings:
        known = REGISTRY.get(warning["metric"] or "")
        title = warning["metric"] if known is None else known.title
        parts = [warning["group"], title, when({"time": warning.get("time")})]
        place = " ".join(str(part) for part in parts if part)
        models = places.setdefault(place, [])
        if warning["model"] and warning["model"] not in models:
            models.append(warning["model"])
    named = []
    for place, models in places.items():
        whose = "all models" if 1 < len(models) == len(data["models"]) else ", ".join(models)
        named.append(f"{place} ({whose})" if place and whose else place or whose)
    named = [name for name in named if name]
    more = len(named) - _MOST
    return "; ".join(named[:_MOST]) + (f" and {more} more" if more > 0 else "")


def _remark(
    code: str, message: str, warnings: list[dict[str, Any]], data: dict[str, Any]
) -> Markup:
    told, weight, shown = EXPLANATIONS.get(code), weight_of(code), _places(warnings, data)
    advice = advice_for(code, warnings[0]["metric"], data["support"])
    said = message.rstrip(".")
    return tag(
        "li",
        tag("span", weight, class_="badge"),
        tag("strong", f"{shown}: ") if shown else None,
        f"{said if shown else said[:1].upper() + said[1:]}. ",
        None
        if advice.startswith("nothing") or not advice
        else tag("span", f"What to do: {advice}. ", class_="soft"),
        tag("code", code, class_="soft small", title=told and told.meaning.replace("`", "")),
        class_=weight,
    )
