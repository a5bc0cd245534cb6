"""Draws a description with matplotlib: one palette, names that fit, legends that cover nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from textwrap import fill
from typing import Any

import numpy as np

from ..._tools.arrays import positive
from ..._tools.extras import need
from ...errors import InputError
from . import palette
from .description import (
    MOST_BANDS,
    Bars,
    Chart,
    Line,
    Mark,
    NumbersBelow,
    Panel,
    Points,
    Rule,
    Span,
    Text,
    models_in,
    short_name,
    written,
)

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
def own_sizes(own: bool) -> Iterator[None]:
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


def colour_of(role: int | str) -> str:
    """Colour of a role."""
    return palette.look(role).paint.light


def line_of(role: int | str) -> dict[str, Any]:
    """Keywords of a line of a role."""
    lengths = palette.look(role).dash
    dash = (0, tuple(_DASH_UNIT * length for length in lengths)) if lengths else "-"
    return {"color": colour_of(role), "linestyle": dash}


def marker_of(role: int | str) -> str:
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


def put_title(figure: Any, text: str, about: str) -> None:
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


def put_legend(
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


_BANDS_LEFT_OUT = {"bands": f"not drawn for more than {MOST_BANDS} models"}
#: Inches below the panels: one line of the legend.
_FOOT = 0.35
#: Inches that a panel needs beside others.
_NARROW = 2.0
#: Points between two lines of numbers below an axis, and from the axis to the first of them.
_COUNT, _COUNTS_AT = 9.5, 34.0


def draw(chart: Chart, ax: Any = None, about: str = "", width: float | None = None) -> Any:
    """Draw on a new figure or on the axes given, one per panel; returns the figure.

    A new figure has the chart's title and `about` above it, so that it says what it shows alone.
    """
    own = ax is None
    if width is not None:
        if not own:
            raise InputError("width is that of a new figure; the axes given with ax have theirs")
        # Fewer panels beside each other where they would be too narrow to read.
        columns = min(chart.columns, max(1, int(positive(width, "width") / _NARROW)))
        chart = replace(chart, width=width, columns=columns)
    with own_sizes(own):
        axes = _axes(chart) if own else _given(ax, len(chart.panels))
        names = short_names(chart.models, 22 if chart.columns == 1 else 18)
        for k, (place, panel) in enumerate(zip(axes, chart.panels, strict=True)):
            last_row = k + chart.columns >= len(chart.panels)
            _Drawing(place, panel, names).draw(
                below=not own or last_row or chart.shared != "x",
                beside=not own or k % chart.columns == 0 or chart.shared != "y",
            )
        many = any(not p.bandless and len(_bands(p)) > MOST_BANDS for p in chart.panels)
        left_out = dict(chart.left_out) | (_BANDS_LEFT_OUT if many else {})
        put_legend(axes, own, _entries(chart, names), left_out, names, chart.notes)
        if own:
            put_title(axes[0].figure, chart.title, about)
    return axes[0].figure


def _axes(chart: Chart) -> list[Any]:
    """Axes of a new figure, row by row; places past the last panel stay empty."""
    count, columns = len(chart.panels), chart.columns
    heights = [
        max(_height(panel) for panel in chart.panels[k : k + columns])
        for k in range(0, count, columns)
    ]
    # Not through pyplot: nothing is left open, and no window system is needed.
    figure = figure_class()(figsize=(chart.width, sum(heights) + _FOOT), layout="constrained")
    made = figure.subplots(
        len(heights), columns, squeeze=False, height_ratios=heights,
        sharex=chart.shared == "x", sharey=chart.shared == "y",
    )  # fmt: skip
    axes = list(made.ravel())
    for spare in axes[count:]:
        spare.remove()
    return axes[:count]


def _height(panel: Panel) -> float:
    """Inches of a panel with the numbers below it."""
    below = _COUNT * (len(panel.counts.rows) + 1) / 72 if panel.counts else 0.0
    return panel.height + below


def _given(ax: Any, panels: int) -> list[Any]:
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != panels:
        raise InputError(f"ax must be one Axes per panel, {panels} here; got {len(axes)}")
    return axes


def _bands(panel: Panel) -> list[Line]:
    """Lines of models that have a band."""
    return [
        mark
        for mark in panel.marks
        if isinstance(mark, Line) and models_in(mark.label) and _known(mark.low).any()
    ]


def _known(values: Any) -> Any:
    return np.isfinite(np.asarray([] if values is None else values, dtype=np.float64))


def _line(mark: Line | Rule) -> dict[str, Any]:
    look = line_of(mark.role) | {"linewidth": mark.width}
    return look | ({"linestyle": DASHES[mark.dash]} if mark.dash else {})


def _dot(mark: Points | Line) -> dict[str, Any]:
    """Look of points without a line between them."""
    colour = colour_of(mark.role)
    look: dict[str, Any] = {"color": colour, "marker": marker_of(mark.role), "linestyle": ""}
    if isinstance(mark, Line):
        return look
    if mark.marker:
        look["marker"] = MARKERS[mark.marker]
    if mark.marker in ("flat", "tick"):
        look["markeredgewidth"] = 1.6
    face = {"markerfacecolor": "white", "markeredgewidth": 0.8} if mark.hollow else {}
    return look | {"markersize": mark.size} | face


def _bar(mark: Bars) -> dict[str, Any]:
    colour = colour_of(mark.role)
    if mark.hollow:
        return {"facecolor": "white", "edgecolor": colour, "hatch": "//////", "linewidth": 0.5}
    return {"facecolor": colour, "edgecolor": "white", "linewidth": 0.5}


class _Drawing:
    """One panel on its axes."""

    def __init__(self, ax: Any, panel: Panel, names: dict[str, str]) -> None:
        self.ax, self.panel, self.names = ax, panel, names
        self.shaded = not panel.bandless and len(_bands(panel)) <= MOST_BANDS

    def text(self, text: Text) -> str:
        return _text(text, self.names)

    def draw(self, *, below: bool, beside: bool) -> None:
        """Draw marks and axes; labels at the left and below where they are wanted."""
        panel, ax = self.panel, self.ax
        ax.set_axis_on() if panel.marks else ax.set_axis_off()  # a place that stays empty
        for mark in panel.marks:
            _DRAW[type(mark)](self, mark)
        for axis, limits, ticks, room in (
            (panel.x, ax.set_xlim, ax.set_xticks, below),
            (panel.y, ax.set_ylim, ax.set_yticks, beside),
        ):
            if axis.ticks is not None:
                ticks([v for v, _ in axis.ticks], labels=[label for _, label in axis.ticks])
            if axis.low is not None or axis.high is not None:
                limits(axis.low, axis.high)
            if room:
                ax.set(**{"xlabel" if axis is panel.x else "ylabel": _text(axis.text)})
        if panel.rows:
            self.draw_rows()
        if panel.equal:
            ax.set_aspect("equal", adjustable="box")
        if panel.counts:
            self.draw_counts(panel.counts)
        if panel.title:
            ax.set_title(self.text(panel.title), loc="left")

    def draw_rows(self) -> None:
        """Name the rows from top to bottom, with the words beside and inside them."""
        ax, rows = self.ax, self.panel.rows
        ax.set_yticks(range(len(rows)), labels=[self.text(row.label) for row in rows])
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(axis="y", color="#E6E6E6", linewidth=0.6, zorder=0)
        ax.set_axisbelow(True)
        if self.panel.x.low is None:
            ax.margins(x=0.08)
        ruled = any(mark.label for mark in self.panel.marks if isinstance(mark, Rule))
        if self.panel.x.ticks is None and (ruled or ax.lines):
            ax.locator_params(axis="x", nbins=5)
        small = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 6.5}
        for k, row in enumerate(rows):
            if row.beside:
                colour = "black" if row.clear else GREY
                ax.annotate(row.beside, (1.015, k), color=colour, **small)
            if row.inside:
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
                ax.annotate(row.inside, (0.02, k), color=GREY, bbox=box, **small)
        if all(row.inside for row in rows):
            ax.set_xticks([])

    def draw_counts(self, counts: NumbersBelow) -> None:
        """Write numbers below the ticks, a row each, past the label of the axis."""
        ticks = [value for value, _ in self.panel.x.ticks or ()]

        def write(
            text: str, x: float, line: int, across: float = 0, at: str = "data", **look: Any
        ) -> None:
            self.ax.annotate(
                text, (x, 0), (across, -_COUNTS_AT - _COUNT * line), xycoords=(at, "axes fraction"),
                va="baseline", textcoords="offset points", annotation_clip=False, fontsize=7,
                **look,
            )  # fmt: skip

        start = self.ax.get_xlim()[0]
        write(counts.title, start, 0, ha="left")
        for line, (role, name, values) in enumerate(counts.rows, 1):
            look: dict[str, Any] = {"color": colour_of(role)}
            for x, value in zip(ticks, values, strict=True):
                write(f"{value:,.0f}", x, line, ha="center", **look)
            write(_text(name), 0, line, -24, "axes fraction", ha="right", **look)

    def draw_line(self, mark: Line) -> None:
        """Draw a line, and its band unless many bands would hide each other."""
        options, kind = dict[str, Any](), _line(mark)
        if mark.marked is True or _known(mark.y).sum() == 1:
            options |= {"marker": marker_of(mark.role), "markersize": 3.5}
        elif mark.marked:
            self.ax.plot(*mark.dots(), **_dot(mark) | {"markersize": 3.5}, clip_on=False, zorder=3)
        if mark.step:
            options["drawstyle"] = "steps-post"
        if mark.label:
            options["label"] = self.text(mark.label)
        self.ax.plot(mark.x, mark.y, **kind, **options)
        known = _known(mark.low) & _known(mark.high)
        if known.any() and (self.shaded or not models_in(mark.label)):
            self.ax.fill_between(
                mark.x, mark.low, mark.high, where=known, color=kind["color"], alpha=0.13,
                linewidth=0, zorder=1, step="post" if mark.step else None,
            )  # fmt: skip

    def draw_points(self, mark: Points) -> None:
        """Draw points with their intervals and arrows."""
        ax, x, y = self.ax, np.asarray(mark.x, np.float64), np.asarray(mark.y, np.float64)
        if not x.size:  # for the legend alone
            return
        colour = colour_of(mark.role)
        for lines, at, start, end in (
            (ax.vlines, x, mark.low, mark.high),
            (ax.hlines, y, mark.left, mark.right),
        ):
            known = _known(start) & _known(end)
            if known.any():
                bounds = np.asarray(start)[known], np.asarray(end)[known]
                lines(at[known], *bounds, color=colour, linewidth=1.3, zorder=2)
        self.draw_arrows(mark, x, y)
        # Crowded points show how crowded they are.
        alpha = float(np.clip(900 / max(x.size, 1), 0.1, 0.85)) if x.size > 100 else 1.0
        inside = not self.panel.rows and x.size <= 100
        ax.plot(x, y, alpha=alpha, zorder=4, clip_on=not inside, rasterized=x.size > 500,
                **_dot(mark))  # fmt: skip
        for place in zip(x, y, mark.names, strict=True) if mark.inside else ():
            ax.text(*place[:2], _text(place[2]), ha="center", va="center_baseline", zorder=5,
                    fontsize="small", color="black" if mark.hollow else "white")  # fmt: skip

    def draw_arrows(self, mark: Points, x: Any, y: Any) -> None:
        """Draw horizontal arrows from points to where they lead."""
        rows = np.flatnonzero(_known(mark.to))
        if not rows.size:
            return
        start, stop = x[rows], np.asarray(mark.to, np.float64)[rows]
        alpha = np.broadcast_to(mark.alpha, x.shape)[rows]
        self.ax.quiver(
            start, y[rows], stop - start, np.zeros(rows.size), angles="xy", scale_units="xy",
            scale=1, color=colour_of(mark.role), alpha=alpha, width=0.0022, headwidth=5,
            headlength=6, headaxislength=6, zorder=1,
        )  # fmt: skip

    def draw_bars(self, mark: Bars) -> None:
        """Draw bars between their edges."""
        edges = np.asarray(mark.edges, dtype=np.float64)
        width = np.diff(edges)
        base = np.broadcast_to(np.asarray(mark.base, dtype=np.float64), width.shape)
        left = edges[:-1] + width * mark.gap / 2
        height = np.asarray(mark.top) - base
        self.ax.bar(left, height, width * (1 - mark.gap), base, align="edge", **_bar(mark))

    def draw_rule(self, mark: Rule) -> None:
        """Draw a straight line across the panel."""
        kind = _line(mark) | {"zorder": 1}
        if mark.axis == "diagonal":
            self.ax.axline((0, 0), slope=1, **kind)
        elif mark.axis == "x":
            self.ax.axvline(mark.value, **kind)
        else:
            self.ax.axhline(mark.value, **kind)

    def draw_span(self, mark: Span) -> None:
        """Shade a part of an axis."""
        shade = self.ax.axvspan if mark.axis == "x" else self.ax.axhspan
        shade(mark.start, mark.end, color=GREY, alpha=0.12, linewidth=0, zorder=0)


_DRAW: dict[type, Callable[[_Drawing, Any], None]] = {
    Line: _Drawing.draw_line,
    Points: _Drawing.draw_points,
    Bars: _Drawing.draw_bars,
    Rule: _Drawing.draw_rule,
    Span: _Drawing.draw_span,
}


def _text(text: Text, names: dict[str, str] | None = None) -> str:
    """Text without formulas; models by their short names, which hold none."""
    parts = (text,) if isinstance(text, str) else text
    safe = (p.replace("$", r"\$") if isinstance(p, str) else p for p in parts)
    return written(tuple(safe), names)


def _entries(chart: Chart, names: dict[str, str]) -> list[Any]:
    """Legend: every label once, those of models first."""
    found: dict[str, Any] = {}
    marks = [mark for panel in chart.panels for mark in panel.marks]
    for mark in sorted(marks, key=lambda mark: not models_in(mark.label)):
        label = _text(mark.label, names)
        if label and label not in found:
            found[label] = _entry(mark, label)
    return list(found.values())


def _entry(mark: Mark, label: str) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if isinstance(mark, Bars):
        return Patch(label=label, **_bar(mark))
    if isinstance(mark, Span):
        return Patch(label=label, color=GREY, alpha=0.2)
    if isinstance(mark, Points):
        across = {} if mark.left is None else {"linestyle": "-", "linewidth": 1.3}
        return Line2D([], [], label=label, **_dot(mark) | across)
    look = _line(mark)
    if isinstance(mark, Line) and mark.marked:
        look["marker"] = marker_of(mark.role)
    return Line2D([], [], label=label, **look)
