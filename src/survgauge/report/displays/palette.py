"""How marks look, said once: matplotlib, the page and its print take it from here.

A model has the same colour, dash and marker in every chart. Colour stands for models alone: events,
censored subjects, the baseline, and groups of subjects, causes or methods are shades of grey.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Paint(NamedTuple):
    """A colour on a light page (and on paper), and the same one on a dark page."""

    light: str
    dark: str


#: Six clear hues, then six of their neighbours, darker on light pages and paler on dark ones. All
#: have a contrast of at least 3 with both pages; dashes and markers tell apart what colour-blind
#: readers see alike.
PAINTS = (
    Paint("#0072b2", "#4aa3e8"),
    Paint("#cf4412", "#ff7a4a"),
    Paint("#128a5a", "#33c58a"),
    Paint("#bf3a96", "#f277c2"),
    Paint("#a88400", "#d9b62a"),
    Paint("#7747d6", "#a886ff"),
    Paint("#0b1f8a", "#b9cdff"),
    Paint("#7a1020", "#ffb4b0"),
    Paint("#23480a", "#b6ea8c"),
    Paint("#4f1260", "#e5b8f5"),
    Paint("#8a5a2b", "#c99a6e"),
    Paint("#00595f", "#8fe3e6"),
)
#: Lengths of strokes and gaps in units of 1/96 inch.
DASHES: tuple[tuple[float, ...], ...] = (
    (), (7, 3), (2, 3), (9, 3, 2, 3), (4, 2), (13, 4),
)  # fmt: skip
MARKERS = (
    "dot", "square", "up", "diamond", "down", "plus",
    "cross", "star", "left", "right", "hexagon", "pentagon",
)  # fmt: skip
#: What is no model.
ROLES = {
    "event": Paint("#3f4b59", "#c5cfda"),
    "censored": Paint("#7d8894", "#8b97a4"),
    "baseline": Paint("#6b7480", "#98a4b1"),
    "ink": Paint("#1b2530", "#e8edf2"),
    "soft": Paint("#55606e", "#a5b1be"),
    "pale": Paint("#c3cad3", "#4a5765"),
}
#: Of what comes in kinds and is no model either, such as groups of subjects.
SHADES = (
    Paint("#10171e", "#f4f7fa"),
    Paint("#55606e", "#c5cfda"),
    Paint("#868f99", "#7f8c99"),
    Paint("#3a4653", "#a5b1be"),
)


class Look(NamedTuple):
    """Colour, dash and marker of a role."""

    paint: Paint
    dash: tuple[float, ...]
    marker: str


def shade(k: int) -> str:
    """Return the role of the k-th kind of what is no model."""
    return f"shade{k}"


def look(role: int | str) -> Look:
    """Return the look of the k-th model, or of a role; more of them come with other dashes.

    >>> look(0).marker, look(12).marker, look(12).paint == look(0).paint
    ('dot', 'square', True)
    >>> look("censored").marker, look(shade(1)).marker
    ('diamond', 'square')
    """
    if isinstance(role, str) and not role.startswith("shade"):
        dashed = role in ("baseline", "soft")
        marker = "diamond" if role == "censored" else "dot"
        return Look(ROLES[role], (5.0, 4.0) if dashed else (), marker)
    paints, k = (PAINTS, role) if isinstance(role, int) else (SHADES, int(role[5:]))
    turn = k // len(paints)
    dash, marker = DASHES[(k + turn) % len(DASHES)], MARKERS[(k + turn) % len(MARKERS)]
    return Look(paints[k % len(paints)], dash, marker)


def looks() -> dict[str, Any]:
    """Return how many colours there are, dashes and markers, for the script."""
    dashes = [" ".join(f"{part:g}" for part in dash) for dash in DASHES]
    numbers = {"colours": len(PAINTS), "shades": len(SHADES)}
    return {**numbers, "dashes": dashes, "markers": MARKERS}


def css() -> str:
    """Return the colours as variables of a style sheet: light, dark, and on paper the light ones.

    >>> css().startswith(":root { --s0: #0072b2; ")
    True
    """
    names = {f"s{k}": paint for k, paint in enumerate(PAINTS)}
    names |= {shade(k): paint for k, paint in enumerate(SHADES)} | ROLES
    light, dark = (
        " ".join(f"--{name}: {paint[side]};" for name, paint in names.items()) for side in (0, 1)
    )
    return (
        f':root {{ {light} }}\n:root[data-theme="dark"] {{ {dark} }}\n'
        f'@media print {{ :root, :root[data-theme="dark"] {{ {light} }} }}\n'
    )
