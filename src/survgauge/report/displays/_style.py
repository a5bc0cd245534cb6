"""How figures look: one palette, names that fit, legends that cover nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from textwrap import fill
from typing import Any

import numpy as np

from ..._tools.extras import need
from . import palette
from .description import short_name

GREY = palette.ROLES["soft"].light
#: Names of markers, and matplotlib's letters for them.
MARKERS = {
    "dot": "o", "square": "s", "up": "^", "diamond": "D", "down": "v", "plus": "P", "cross": "X",
    "star": "*", "left": "<", "right": ">", "hexagon": "h", "pentagon": "p", "flat": "_",
    "tick": "|",
}  # fmt: skip
DASHES: dict[str, Any] = {"solid": "-", "dashed": (0, (3, 2)), "dotted": (0, (1, 2))}
#: Units of the palette's dashes in widths of a line, as matplotlib counts them.
_DASH_UNIT = 0.55
_RC: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "figure.dpi": 150,
}


@contextmanager
def look(own: bool) -> Iterator[None]:
    """Use our sizes on our own figures; axes that came from outside keep theirs."""
    need("matplotlib.figure", "plot()", "plot")
    matplotlib = need("matplotlib", "plot()", "plot")
    with matplotlib.rc_context(_RC if own else {}):
        yield


@cache
def figure_class() -> Any:
    """Return matplotlib's figure, which our own figures are, saved as journals take them.

    PDF and PostScript files hold TrueType fonts (type 3 is refused by many), SVG files outlines.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    class PrintFigure(Figure):  # type: ignore[misc, unused-ignore]
        def savefig(self, *args: Any, **kwargs: Any) -> None:
            with rc_context({"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "path"}):
                super().savefig(*args, **kwargs)

    return PrintFigure


def colour(role: int | str) -> str:
    """Colour of a role."""
    return palette.look(role).paint.light


def line(role: int | str) -> dict[str, Any]:
    """Keywords of a line of a role."""
    lengths = palette.look(role).dash
    dash = (0, tuple(_DASH_UNIT * length for length in lengths)) if lengths else "-"
    return {"color": colour(role), "linestyle": dash}


def marker(role: int | str) -> str:
    """Marker of a role."""
    return MARKERS[palette.look(role).marker]


def plain(text: object, width: int = 10_000) -> str:
    """Name as matplotlib shows it: one line without formulas, shortened in the middle."""
    line = short_name(text, width)
    # A label that starts with an underscore would be left out of legends.
    return (" " + line if line.startswith("_") else line).replace("$", r"\$")


def short_names(names: Iterable[str], width: int = 22) -> dict[str, str]:
    """Short, but still distinct, names.

    >>> short_names(["deep model, seed 1 of many", "deep model, seed 2 of many"], 12)
    {'deep model, seed 1 of many': 'deep mo…many', 'deep model, seed 2 of many': 'deep mo…many (2)'}
    """
    found: dict[str, str] = {}
    for name in names:
        text = base = plain(name, width)
        k = 2
        while text in found.values():
            text, k = f"{base} ({k})", k + 1
        found[name] = text
    return found


def told_below(
    left_out: dict[str, str], names: dict[str, str], width: int, notes: tuple[str, ...] = ()
) -> str:
    """Say which models are not drawn, one reason per line, those that share it together."""
    shared: dict[str, list[str]] = {}
    for model, reason in left_out.items():
        shared.setdefault(reason, []).append(names.get(model, plain(model, 22)))
    lines = [plain(note) for note in notes]
    lines += [f"{', '.join(models)}: {plain(reason)}" for reason, models in shared.items()]
    return "\n".join(fill(line, max(width, 24), subsequent_indent="  ") for line in lines)


def title(figure: Any, text: str, about: str) -> None:
    """Put title and sample above a figure, which grows by them."""
    width, height = (float(size) for size in figure.get_size_inches())
    room = int(width * 13)
    whole = plain(f"{text} ({about})" if about else text)
    lines = (
        whole if len(whole) <= room else f"{fill(plain(text), room)}\n{fill(about, room)}".rstrip()
    )
    figure.set_size_inches(width, height + 0.16 * (lines.count("\n") + 1))
    figure.suptitle(lines, x=0.012, ha="left", fontsize=8.5, fontweight="bold")


def _columns(lengths: list[int], inches: float) -> int:
    """Most columns of a legend that fit; they are filled one after the other.

    >>> _columns([3, 3, 3, 30], 3.6), _columns([3, 3, 3, 3], 3.6)
    (2, 4)
    """
    for columns in range(len(lengths), 1, -1):
        parts = np.array_split(np.array(lengths), columns)
        even = -(-len(lengths) // -(-len(lengths) // columns)) == columns
        if even and sum(0.52 + 0.06 * int(part.max()) for part in parts) <= inches:
            return columns
    return 1


def legend(
    axes: list[Any],
    own: bool,
    handles: list[Any],
    left_out: dict[str, str] | None = None,
    names: dict[str, str] | None = None,
    notes: tuple[str, ...] = (),
) -> None:
    """Put one legend below all panels of our own figure, or on the axes that were given.

    In our own figure, models that could not be drawn are named above it, and so are notes.
    """
    figure = axes[0].figure
    options: dict[str, Any] = {"handles": handles, "frameon": False}
    if own:
        width, height = (float(size) for size in figure.get_size_inches())
        title = told_below(left_out or {}, names or {}, int(width * 15), notes)
        if not (handles or title):
            return
        if title:
            options |= {"title": title, "title_fontsize": "small"}
        columns = _columns([len(handle.get_label()) for handle in handles], width)
        # The legend grows downwards, not at the panels' cost.
        extra = 0.17 * max(-(-len(handles) // columns) - 1, 0) + 0.14 * title.count("\n")
        figure.set_size_inches(width, height + extra)
        spacing = {"handlelength": 2.6, "columnspacing": 1.4}
        made = figure.legend(loc="outside lower center", **spacing, ncols=columns, **options)
    elif handles:
        made = axes[0].legend(loc="best", fontsize="small", **options)
    else:
        return
    made.get_title().set_color(GREY)
    made.get_title().set_multialignment("left")
