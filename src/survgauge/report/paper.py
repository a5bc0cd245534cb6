"""The short edition of an evaluation on paper: the figures that follow verdict, table and trust."""

from __future__ import annotations

from typing import Any

from .markup import Markup, tag
from .reporting import provenance

#: Charts on paper, each the first that there is: how wide it is in pixels, and which.
_PLACES = (
    (680, ("differences-chart", "metrics-chart")),
    (330, ("mean-curves", "error-status")),
    (330, ("brier-chart", "auc-chart")),
)


def print_edition(data: dict[str, Any], figures: dict[str, list[dict[str, Any]]]) -> Markup | None:
    """Return what only paper has: two or three figures, and where the numbers come from."""
    known = {spec["id"]: spec for found in figures.values() for spec in found}
    if figures.get("groups"):  # printed in their section
        known = {name: spec for name, spec in known.items() if name not in _PLACES[0][1]}
    drawn = []
    for width, names in _PLACES:
        spec = next((known[name] for name in names if name in known), None)
        if spec is not None:
            drawn.append(_figure(spec, width))
    return tag(
        "section", tag("div", *drawn, class_="sheet"), provenance(data),
        class_="paper", id="paper", aria_label="Figures on paper",
    )  # fmt: skip


def _figure(spec: dict[str, Any], width: int) -> Markup:
    """Place a chart; a small one has its main panel only, and the caption's first sentence."""
    small = width < 400
    chosen = f": {spec['choices']['options'][0]}" if spec.get("choices") else ""
    caption = f"{spec['caption'].partition('. ')[0].rstrip('.')}." if small else spec["caption"]
    return tag(
        "figure",
        tag("h3", f"{spec['title']}{chosen}"),
        tag("div", data_paper=spec["id"], data_width=width),
        tag("figcaption", f"{caption} {spec['specs'][0]['note']}".rstrip()),
        class_="half" if small else None,
    )
