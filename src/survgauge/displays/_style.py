"""How figures look: one palette, names that fit, legends that cover nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import InputError, MissingExtraError

# Okabe and Ito's colours, told apart by colour-blind readers, without yellow, which white swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
# Colour is never the only cue: neighbours also differ in line and marker.
LINES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (5, 1.4, 1.2, 1.4)), (0, (8, 2)))
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
    line = " ".join(str(text).split())
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


def time_label(unit: str, what: str = "time") -> str:
    """Label of an axis of time.

    >>> time_label("days"), time_label("", "error")
    ('time (days)', 'error (in units of time)')
    """
    if unit:
        return f"{what} ({plain(unit)})"
    return what if what == "time" else f"{what} (in units of time)"


def note_handles(left_out: dict[str, str], names: dict[str, str]) -> list[Any]:
    """Entries of a legend for models that are not drawn, with the reason."""
    from matplotlib.lines import Line2D

    notes = [(names.get(m, plain(m, 22)), plain(reason, 44)) for m, reason in left_out.items()]
    return [Line2D([], [], linestyle="", label=f"{name}: {why}") for name, why in notes]


def legend(axes: list[Any], own: bool, handles: list[Any] | None = None, **options: Any) -> None:
    """Put one legend below all panels of our own figure, or inside the axes that were given."""
    if handles is None:
        handles = axes[0].get_legend_handles_labels()[0]
    if not handles:
        return
    if not own:
        axes[0].legend(handles=handles, frameon=False, **options)
        return
    figure = axes[0].figure
    inches = float(figure.get_size_inches()[0])
    longest = max(len(handle.get_label()) for handle in handles)
    columns = max(1, min(len(handles), int(inches / (0.42 + 0.064 * longest))))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=2.6,
        columnspacing=1.2,
        **options,
    )
