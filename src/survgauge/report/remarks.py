"""What to trust: warnings with their weight, what they mean and what to do."""

from __future__ import annotations

from typing import Any

from ..evaluation.explanations import EXPLANATIONS
from ..evaluation.joined import JoinedWarning
from ..metrics.registry import REGISTRY
from .markup import Markup, tag


def warning_list(warnings: list[JoinedWarning], data: dict[str, Any]) -> Markup:
    """Return warnings as a list, in their order."""
    items = [_item(warning, data) for warning in warnings]
    if not items:
        told_by = "No warning: the follow-up supports every number on this page."
        items = [tag("li", tag("span", "good", class_="badge"), told_by, class_="good")]
    return tag("ul", *items, class_="trust")


def _title(metric: str) -> str:
    return REGISTRY[metric].title if metric in REGISTRY else metric


def _item(warning: JoinedWarning, data: dict[str, Any]) -> Markup:
    code, weight = warning.code, warning.weight
    explained = EXPLANATIONS.get(code)
    places, said = warning.text(_title)
    advice = warning.advice(data["support"])
    return tag(
        "li",
        tag("span", weight, class_="badge"),
        tag("strong", f"{places}: ") if places else None,
        f"{said if places else said[:1].upper() + said[1:]}. ",
        None
        if advice.startswith("nothing") or not advice
        else tag("span", f"What to do: {advice}. ", class_="soft"),
        tag("code", code, class_="soft small",
            title=explained and explained.meaning.replace("`", "")),
        class_=weight,
    )  # fmt: skip
