"""What a chart shows, described once: `plot()` and the page both draw from the description.

A chart has panels; a panel has two axes and marks (lines, points, bars, rules, spans). A mark says
what it stands for by its role: a whole number is the k-th model and has that one's colour, line and
marker everywhere; a word is one of `palette.ROLES`: events; censored subjects; the baseline that a
prediction is held against (Kaplan-Meier, chance); ink for what was observed; soft and pale for what
stays in the background. Groups of subjects, causes and methods have shades, `palette.shade`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._tools.text import number, relation

#: More bands than this only cover each other.
MOST_BANDS = 2


@dataclass(frozen=True)
class Model:
    """Name of a model (or metric) within a text: shortened where room is short.

    What is labelled by it belongs to it: the page hides a mark, row or panel with its model.
    """

    name: str


#: Text, or parts of it that name models.
Text = str | tuple[str | Model, ...]


def written(text: Text, names: Mapping[str, str] | None = None) -> str:
    """Return the text with models named in full, or by the `names` given.

    >>> written((Model("cox"), ": p = 0.2")), written((Model("cox"), "!"), {"cox": "C"})
    ('cox: p = 0.2', 'C!')
    """
    parts = (text,) if isinstance(text, str) else text
    known = names or {}
    return "".join(p if isinstance(p, str) else known.get(p.name, p.name) for p in parts)


def models_in(text: Text) -> tuple[str, ...]:
    """Return the names of the models that a text names."""
    return () if isinstance(text, str) else tuple(p.name for p in text if isinstance(p, Model))


@dataclass(frozen=True)
class Axis:
    """Label, unit, ends (None: where the data end) and, where they are not numbers, the ticks."""

    label: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    ticks: tuple[tuple[float, str], ...] | None = None

    @property
    def text(self) -> str:
        """Label with its unit."""
        return f"{self.label} ({' '.join(self.unit.split())})" if self.unit else self.label

    @classmethod
    def time(
        cls, unit: str, label: str = "Time", low: float | None = None, high: float | None = None
    ) -> Axis:
        """Return an axis of time, which says so where it has no unit.

        >>> Axis.time("days").text, Axis.time("", "Error").text
        ('Time (days)', 'Error (in units of time)')
        """
        unsaid = "" if "time" in label.lower() else "in units of time"
        return cls(label, unit or unsaid, low, high)


@dataclass(frozen=True, eq=False)
class Line:
    """A line, with the band from `low` to `high` where it has one.

    `step`: constant up to the next point. `marked`: with a marker at every point, or at the values
    of `x` given. `dash`: solid, dashed or dotted; by default that of the role. `name`: what a line
    is called that has no place of its own in the legend.
    """

    x: Any
    y: Any
    role: int | str
    label: Text = ""
    low: Any = None
    high: Any = None
    step: bool = False
    marked: bool | tuple[float, ...] = False
    dash: str = ""
    width: float = 1.4
    name: str = ""

    def dots(self) -> tuple[Any, Any]:
        """Where the markers are.

        >>> Line([0.0, 1.0, 2.0], [5.0, 4.0, 3.0], 0, step=True, marked=(0.5, 2.0)).dots()
        (array([0.5, 2. ]), array([5., 3.]))
        """
        if isinstance(self.marked, bool):
            return self.x, self.y
        x, y = np.asarray(self.x, dtype=np.float64), np.asarray(self.y, dtype=np.float64)
        at = np.asarray(self.marked, dtype=np.float64)
        if self.step:
            return at, y[np.maximum(x.searchsorted(at, "right") - 1, 0)]
        return at, np.interp(at, x, y)


@dataclass(frozen=True, eq=False)
class Points:
    """Points, with intervals from `low` to `high` upwards or from `left` to `right` across.

    `to`: where an arrow from the point ends on the horizontal axis (NaN: no arrow), `to_label` what
    that is. `names`: what each point is called, written into it with `inside`. `marker`: one of
    `palette.MARKERS`, flat or tick; by default that of the role. `alpha`: one for all, or one for
    each point's arrow.
    """

    x: Any
    y: Any
    role: int | str
    label: Text = ""
    low: Any = None
    high: Any = None
    left: Any = None
    right: Any = None
    to: Any = None
    to_label: str = ""
    names: tuple[str, ...] = ()
    inside: bool = False
    hollow: bool = False
    marker: str = ""
    size: float = 4.5
    alpha: Any = 1.0


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars between `edges` from `base` to `top`; `gap` is the share of a bar that stays empty.

    `counts`: what the bars stand for, where that is not their height.
    """

    edges: Any
    base: Any
    top: Any
    role: int | str
    label: Text = ""
    hollow: bool = False
    gap: float = 0.0
    counts: Any = None


@dataclass(frozen=True)
class Rule:
    """A straight line across the panel: at a value of the axis "x" or "y", or the "diagonal"."""

    axis: str
    value: float = 0.0
    label: str = ""
    role: str = "soft"
    dash: str = "dashed"
    width: float = 0.8


@dataclass(frozen=True)
class Span:
    """A shaded part of the axis "x" or "y"."""

    axis: str
    start: float
    end: float
    label: str = ""


Mark = Line | Points | Bars | Rule | Span


@dataclass(frozen=True)
class Row:
    """A row of a panel whose vertical axis has names: its name, and words beside and inside it."""

    label: Text
    beside: str = ""
    inside: str = ""
    clear: bool = True


@dataclass(frozen=True)
class NumbersBelow:
    """Numbers below the ticks of the horizontal axis, such as subjects at risk.

    A row has a role, a name and a number for each of the axis' `ticks`.
    """

    title: str
    rows: tuple[tuple[int | str, str, tuple[float, ...]], ...]


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture.

    With `rows`, the vertical axis has their names from top to bottom, and the marks' `y` are
    numbers of rows. A panel whose title names a model is a panel of that model. `height` is in
    inches, without `counts`, and `note` is said below where the panel is shown alone. `equal`: a
    unit is as long across as upwards. `bandless`: bands are numbers to read, not drawn.
    """

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    title: Text = ""
    rows: tuple[Row, ...] = ()
    height: float = 2.3
    note: str = ""
    counts: NumbersBelow | None = None
    equal: bool = False
    bandless: bool = False


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure: its panels in rows of `columns`, its words, and what is missing.

    Attributes
    ----------
    title, caption : str
        What it shows, and how to read it.
    panels : tuple of Panel
        Row by row.
    columns : int
        Panels beside each other.
    shared : {"", "x", "y"}
        Which axis all panels have in common.
    width : float
        Inches; a column of a paper is 3.5 (89 mm) wide, two are 7.
    left_out : dict of str to str
        What could not be drawn, and why.
    notes : tuple of str
        What has to be said in the picture itself.
    """

    title: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int = 1
    shared: str = ""
    width: float = 3.5
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def texts(self) -> Iterator[Text]:
        """Yield all texts that may name a model."""
        for panel in self.panels:
            yield panel.title
            yield from (row.label for row in panel.rows)
            yield from (mark.label for mark in panel.marks)

    @property
    def models(self) -> tuple[str, ...]:
        """Models that are named, in order of appearance."""
        return tuple(dict.fromkeys(name for text in self.texts() for name in models_in(text)))


def short_name(name: object, width: int) -> str:
    """Return a name on one line, shortened in the middle: names often differ at their end.

    >>> short_name("a rather long name of a model", 14)
    'a rather…model'
    """
    line = " ".join(str(name).split()) or "(no name)"
    if len(line) > width:
        tail = max((width - 1) * 2 // 5, 1)
        line = line[: width - 1 - tail].rstrip() + "…" + line[-tail:].lstrip()
    return line


def amount(value: float, unit: str = "") -> str:
    """Write a number as people do, whole where it is whole, with its unit.

    >>> amount(456.0), amount(1842.25), amount(12345.0, "days")
    ('456', '1842', '12,345 days')
    >>> amount(1825.0, "days")  # as in tables and sentences
    '1825 days'
    """
    whole = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"
    text = whole if value == round(value) else number(value)
    return f"{text} {' '.join(unit.split())}".strip()


def round_ticks(end: float, most: int) -> tuple[tuple[float, str], ...]:
    """Return at most so many steps of a round size from 0 on, up to `end`, and how to write them.

    >>> round_ticks(2659, 3)
    ((0.0, '0'), (1000.0, '1,000'), (2000.0, '2,000'))
    """
    power = 10.0 ** np.floor(np.log10(end / most))
    step = float(next(m * power for m in (1, 2, 2.5, 5, 10, 20) if m * power * most >= end))
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)) + (step / power == 2.5))
    count = int(end / step + 1e-9)
    return tuple((k * step, f"{k * step:,.{digits}f}") for k in range(count + 1))


def p_relation(p: float) -> str:
    """Write a p-value after the letter p.

    >>> p_relation(0.0004), p_relation(0.25)
    ('< 0.001', '= 0.250')
    """
    return "-" if np.isnan(p) else relation(p)


def with_level(confidence: float | None, what: str) -> str:
    """Say of which level an interval or band is; nothing where there is none.

    >>> with_level(0.95, "band"), with_level(None, "band")
    (' with 95 % band', '')
    """
    return "" if confidence is None else f" with {confidence * 100:g} % {what}"


def largest(*values: Any) -> float:
    """Return the largest finite number of several arrays, 0 where there is none."""
    known = np.concatenate([np.ravel(v) for v in values])
    return float(known[np.isfinite(known)].max(initial=0.0))


def probability_axis(label: str, *values: Any) -> Axis:
    """Return an axis of probabilities that ends above all values drawn."""
    return Axis(label, low=0, high=min(1.03, 1.08 * largest(*values)) or 1.0)


def horizon_marks(horizon: float, end: float) -> tuple[Mark, ...]:
    """Mark where support ends, if that is before the axis ends."""
    if not 0 < horizon < end:
        return ()
    return Rule("x", horizon, dash="solid"), Span("x", horizon, end, "past the supported time")


def positions(names: Iterable[str]) -> dict[str, int]:
    """Return the place of each model: its role in every chart."""
    return {name: k for k, name in enumerate(names)}
