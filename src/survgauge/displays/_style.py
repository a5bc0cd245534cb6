"""How figures look: one palette, names that fit, legends that cover nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import fill
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.text_tables import number, p_text
from ..errors import InputError, MissingExtraError

# Okabe and Ito's colours, told apart by colour-blind readers, without yellow, which white swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
# Colour is never the only cue: neighbours also differ in line and marker.
LINES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (5, 1.4, 1.2, 1.4)), (0, (8, 2)))
#: More bands than this only cover each other.
MOST_BANDS = 6
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
EVENT, CENSORED, GREY, BASELINE = "#0072B2", "#D55E00", "#6B6B6B", "#555555"
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
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("plot()", "plot") from error
    with matplotlib.rc_context(_RC if own else {}):
        yield


def grid(panels: int, columns: int, size: tuple[float, float], *, share: Any = False) -> list[Any]:
    """Axes of a new figure, row by row; places past the last panel stay empty."""
    from matplotlib.figure import Figure

    # Not through pyplot: nothing is left open, and no window system is needed.
    figure = Figure(figsize=size, layout="constrained")
    columns = max(1, min(columns, panels))
    axes = figure.subplots(-(-panels // columns), columns, squeeze=False, sharey=share)
    flat = list(axes.ravel())
    for spare in flat[panels:]:
        spare.remove()
    return flat[:panels]


def stack(ratios: Sequence[float], size: tuple[float, float]) -> list[Any]:
    """Axes of a new figure on top of each other, with a common horizontal axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    made = figure.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=list(ratios))
    return list(made.ravel())


def axes_for(ax: Any, make: Callable[[], list[Any]] | None, panels: int) -> list[Any]:
    """Return the axes given, as many as there are panels, or those of a new figure."""
    if make is not None:
        return make()
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != panels:
        raise InputError(f"ax must be one Axes per panel, {panels} here; got {len(axes)}")
    return axes


def plain(text: object, width: int = 10_000) -> str:
    """Name as matplotlib shows it: one line, no formulas, shortened in the middle.

    >>> plain("a rather long name of a model", 14)
    'a rather…model'
    """
    line = " ".join(str(text).split()) or "(no name)"
    if len(line) > width:
        tail = max((width - 1) * 2 // 5, 1)
        line = line[: width - 1 - tail].rstrip() + "…" + line[-tail:].lstrip()
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


class Models:
    """Colour, line, marker and short name of each model, the same in all displays."""

    def __init__(self, models: Sequence[str], width: int = 22) -> None:
        self.names = short_names(models, width)
        self._position = {name: k for k, name in enumerate(models)}

    def colour(self, name: str) -> str:
        """Colour of a model; repeats after seven, with another line."""
        return COLOURS[self._position[name] % len(COLOURS)]

    def line(self, name: str) -> dict[str, Any]:
        """Keywords of a line."""
        k = self._position[name]
        return {"color": self.colour(name), "linestyle": LINES[k % len(LINES)]}

    def marker(self, name: str) -> dict[str, Any]:
        """Keywords of a marker."""
        return {"color": self.colour(name), "marker": MARKERS[self._position[name] % len(MARKERS)]}

    def shade(
        self, ax: Any, x: Any, low: dict[str, Floats], high: dict[str, Floats]
    ) -> dict[str, str]:
        """Draw the models' bands, unless they would hide each other; returns what to say then."""
        if len(low) > MOST_BANDS:
            shown = any(np.isfinite(part).any() for part in low.values())
            return {"bands": f"not drawn for more than {MOST_BANDS} models"} if shown else {}
        for model in low:
            grid = x[model] if isinstance(x, dict) else x
            shade(ax, grid, low[model], high[model], self.colour(model))
        return {}


def time_label(unit: str, what: str = "time") -> str:
    """Label of an axis of time.

    >>> time_label("days"), time_label("", "error")
    ('time (days)', 'error (in units of time)')
    """
    if unit:
        return f"{what} ({plain(unit)})"
    return what if "time" in what else f"{what} (in units of time)"


def amount(value: float) -> str:
    """Number as people write it: whole where it is whole.

    >>> amount(456.0), amount(1842.25), amount(12345.0)
    ('456', '1842', '12,345')
    """
    return f"{value:,.0f}" if value == round(value) else number(value)


def p_relation(p: float) -> str:
    """p-value after the letter p.

    >>> p_relation(0.0004), p_relation(0.25)
    ('< 0.001', '= 0.250')
    """
    text = p_text(p)
    return text if text == "-" else f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def notes(left_out: dict[str, str], names: dict[str, str], width: int) -> str:
    """Say which models are not drawn, one reason a line, those that share it together."""
    shared: dict[str, list[str]] = {}
    for model, reason in left_out.items():
        shared.setdefault(reason, []).append(names.get(model, plain(model, 22)))
    lines = [f"{', '.join(models)}: {plain(reason)}" for reason, models in shared.items()]
    return "\n".join(fill(line, max(width, 24), subsequent_indent="  ") for line in lines)


_SPACING: dict[str, Any] = {"handlelength": 2.6, "columnspacing": 1.4}


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
) -> None:
    """Put one legend below all panels: of our own figure, or below the last of the given axes.

    A figure without a layout would cut it off there, so then it goes inside. Models that could not
    be drawn are named above it, with the reason.
    """
    figure, last = axes[0].figure, axes[-1]
    inches = float(figure.get_size_inches()[0])
    below = own or figure.get_layout_engine() is not None
    wide = inches if own else 1.25 * inches * last.get_position().width
    title = notes(left_out or {}, names or {}, int(wide * 15)) if below else ""
    if not (handles or title):
        return
    options: dict[str, Any] = {"handles": handles, "frameon": False}
    if title:
        options |= {"title": title, "title_fontsize": "small"}
    columns = _columns([len(handle.get_label()) for handle in handles], wide) if below else 1
    if own:
        # The legend grows downwards, not at the panels' cost.
        extra = 0.17 * max(-(-len(handles) // columns) - 1, 0) + 0.14 * title.count("\n")
        figure.set_size_inches(inches, float(figure.get_size_inches()[1]) + extra)
        made = figure.legend(loc="outside lower center", **_SPACING, ncols=columns, **options)
    elif below:
        # In units of the font: past the numbers and the label of the axis.
        gap = 4.4 + 1.3 * (last.get_xlabel().count("\n"))
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": gap}
        made = last.legend(**place, **_SPACING, ncols=columns, fontsize="small", **options)
    else:
        made = axes[0].legend(loc="best", fontsize="small", **options)
    made.get_title().set_color(GREY)
    made.get_title().set_multialignment("left")


def shade(ax: Any, x: Floats, low: Floats, high: Floats, colour: str, **options: Any) -> None:
    """Draw a band, where there is one."""
    known = np.isfinite(low) & np.isfinite(high)
    if known.any():
        options = {"alpha": 0.13, "linewidth": 0, "zorder": 1, **options}
        ax.fill_between(x, low, high, where=known, color=colour, **options)


def whiskers(ax: Any, value: float, low: float, high: float, at: float, **options: Any) -> None:
    """Draw a point with its interval (where there is one) on the row `at`."""
    marker = options.pop("marker", "o")
    face = options.pop("face", options.get("color"))
    if np.isfinite(low) and np.isfinite(high):
        ax.plot([low, high], [at, at], linewidth=1.3, zorder=2, color=options.get("color"))
    ax.plot([value], [at], linestyle="", marker=marker, markerfacecolor=face, zorder=3, **options)


def names_on_rows(ax: Any, names: Sequence[str]) -> None:
    """Name the rows of an axis from top to bottom."""
    ax.set_yticks(range(len(names)), labels=list(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def diagonal(ax: Any, end: float = 1.0) -> None:
    """Draw the line on which predictions are right."""
    ax.plot([0, end], [0, end], color=GREY, linewidth=0.8, linestyle=(0, (3, 2)), zorder=0)


def handle(label: str, **options: Any) -> Any:
    """Entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **options)


def bar_handle(label: str, **options: Any) -> Any:
    """Entry of a legend for bars and bands."""
    from matplotlib.patches import Patch

    return Patch(label=label, **options)
