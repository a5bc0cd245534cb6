"""What to trust: warnings with their weight, what they mean and what to do."""

from __future__ import annotations

from typing import Any

from ..evaluation.explanations import EXPLANATIONS, advice_for, weight_of
from ..evaluation.joined import Remark
from ..metrics.registry import REGISTRY
from .markup import Markup, tag


def remark_list(remarks: list[Remark], data: dict[str, Any]) -> Markup:
    """Return remarks as a list, in their order."""
    items = [_remark(remark, data) for remark in remarks]
    if not items:
        told_by = "No remark: the follow-up supports every number on this page."
        items = [tag("li", tag("span", "good", class_="badge"), told_by, class_="good")]
    return tag("ul", *items, class_="trust")


def _title(metric: str) -> str:
    return REGISTRY[metric].title if metric in REGISTRY else metric


def _remark(remark: Remark, data: dict[str, Any]) -> Markup:
    code, weight = remark.code, weight_of(remark.code)
    explained = EXPLANATIONS.get(code)
    places, said = remark.text(data["models"], _title)
    advice = advice_for(code, remark.metric, data["support"])
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
