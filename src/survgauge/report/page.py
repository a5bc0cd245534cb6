"""Pages: HTML made of elements, tables, figures, and one self-contained file without network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from .. import __version__
from .displays import palette

#: More columns than this are set more closely.
_MANY = 9
_VOID = {"meta", "input", "br", "col"}
#: Options that a list shows without a search.
_FEW_OPTIONS = 15
#: What can be done with a figure: the script's key, the button, and what it says to who listens.
_TOOLS = (
    ("svg", "SVG", "Save as SVG"),
    ("png", "PNG", "Save as PNG"),
    ("csv", "CSV", "Save the numbers as CSV"),
    ("table", "Table", "Show the numbers as a table"),
)


# -- elements --------------------------------------------------------------------------------------


class Markup(str):
    """Finished HTML; anything else that is put into an element gets escaped."""


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Make an element; children are escaped unless they are `Markup`, None is left out.

    Attribute names: ``class_`` is class, other underscores are dashes; None leaves one out, True
    makes it bare.

    >>> tag("p", "a < b", tag("b", "!"), class_="small", data_x=1)
    '<p class="small" data-x="1">a &lt; b<b>!</b></p>'
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        words.append(label if value is True else f'{label}="{escape(str(value))}"')
    start = f"<{' '.join(words)}>"
    return Markup(start if name in _VOID else f"{start}{join(*children)}</{name}>")


def join(*children: object) -> Markup:
    """Put elements and texts one after the other.

    >>> join("1 < 2", None, Markup("<br>"))
    '1 &lt; 2<br>'
    """
    return Markup(
        "".join(
            child if isinstance(child, Markup) else escape(str(child))
            for child in children
            if child is not None
        )
    )


def paragraphs(texts: Iterable[str], **attributes: object) -> Markup:
    """Make a paragraph of each text."""
    return join(*(tag("p", text, **attributes) for text in texts))


def breakable(name: str) -> Markup:
    """Name that a line may break after its marks.

    >>> breakable("mae_po")
    'mae_<wbr>po'
    """
    parts = re.split(r"(?<=[_(,=\u00b7/-])", name)
    return join(parts[0], *(join(Markup("<wbr>"), part) for part in parts[1:]))


# -- tables ----------------------------------------------------------------------------------------


def head(
    label: object, kind: str | None = "number", note: str = "", **attributes: object
) -> Markup:
    """Make the head of a column that can be sorted, with a note below its name."""
    below = tag("span", note, class_="interval soft small") if note else None
    button = tag("button", label, type="button")
    return tag("th", button, below, scope="col", class_=kind, **attributes)


def number_cell(
    shown: object, value: object = None, note: str = "", **attributes: object
) -> Markup:
    """Make a cell with a number as it is shown, a note below it, and the value to sort by."""
    below = tag("span", note, class_="interval") if note else None
    look = {"class_": "number", "data_sort": "" if value is None else value}
    return tag("td", shown, below, **{**look, **attributes})


def table_row(name: object, *cells: object, **attributes: object) -> Markup:
    """Make a row with its name; what is no cell yet becomes one."""
    made = (cell if isinstance(cell, Markup) else tag("td", cell) for cell in cells)
    return tag("tr", tag("th", name, scope="row", class_="model"), *made, **attributes)


def table(
    header: Iterable[object],
    rows: list[Markup],
    *,
    label: str,
    words: Iterable[object] = (),
    name: str | None = None,
    kind: str = "",
    search: bool = False,
    above: Markup | None = None,
) -> Markup:
    """Make a table with sortable columns; all but those of `words` are of numbers.

    Heads that are `Markup` are finished. A table of the kind "pinned" keeps its first column in
    sight, with a hint where it goes on sideways. With `search` rows can be looked for. What is
    `above` stands between the label and the table.
    """
    plain = set(words)
    heads = [
        label if isinstance(label, Markup) else head(breakable(str(label)),
                                                     None if label in plain else "number")
        for label in header
    ]  # fmt: skip
    hint, find = None, None
    if "pinned" in kind:
        told = "The table goes on to the right: scroll it sideways."
        hint = tag("p", told, class_="sideways small")
    if search:
        box = tag("input", type="search", data_filter=name, placeholder="model, metric, words")
        count = tag("span", id=f"{name}-count", class_="small soft", aria_live="polite")
        find = tag("div", tag("label", "Search ", box), count, class_="actions filter")
    body = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), id=name,
               class_=f"sortable {kind}".strip(), data_filtered=name is not None)  # fmt: skip
    region = tag("div", body, class_="table", tabindex=0, role="region", aria_label=label)
    return join(find, tag("p", label, class_="soft small"), above, hint, region)


def heat(
    heads: list[Markup],
    lines: list[Markup],
    label: str,
    ends: tuple[str, str],
    first: str = "data",
) -> Markup:
    """Coloured table with the scale of its colours, and what its two ends are."""
    scale = tag(
        "p",
        tag("span", ends[0]),
        tag("span", class_="bar"),
        tag("span", ends[1]),
        class_="scale small soft",
    )
    kind = f"pinned heat{' dense' * (len(heads) > _MANY)}"
    return table([first, *heads], lines, label=label, words=[first], kind=kind, above=scale)


def shaded(
    shown: object, value: float | None, share: float | None, best: bool, **attributes: object
) -> Markup:
    """Cell between the page's two heat colours; text stays readable on all of them."""
    style = None
    if share is not None:
        part = round(45 * max(0.0, min(1.0, share)))
        mixed = f"rgb(var(--heat-high)) {part}%, rgb(var(--heat-low))"
        style = f"background:color-mix(in srgb, {mixed})"
    kind = "cell win" if best else "cell"
    return number_cell(shown, value, "", class_=kind, style=style, **attributes)


def facts(found: dict[str, object]) -> Markup:
    """Show facts in two columns; those that are None are left out."""
    rows = [table_row(name, tag("td", value)) for name, value in found.items() if value is not None]
    return tag("div", tag("table", tag("tbody", *rows), class_="facts"), class_="table")


# -- figures ---------------------------------------------------------------------------------------


def figures(specs: list[dict[str, Any]]) -> Markup:
    """Place charts one after the other."""
    return tag("div", *map(figure, specs), class_="figures")


def figure(spec: dict[str, Any]) -> Markup:
    """Place a chart: title, choice, tools, caption; the script draws it."""
    title, select = spec["title"], _choice(spec["choices"]) if spec.get("choices") else None
    buttons = (
        tag("button", label, type="button", data_tool=key, aria_label=f"{what}: {title}")
        for key, label, what in _TOOLS
    )
    top = tag("div", tag("h3", title, tag("span", class_="chosen")), select, class_="head")
    read = f"Chart: {title}. Arrow keys read the values."
    plot = tag("div", class_="plot", tabindex=0, role="img", aria_label=read)
    caption = tag("figcaption", spec["caption"], " ", tag("span", class_="note"))
    foot = tag("div", caption, tag("div", *buttons, class_="tools"), class_="foot")
    return tag("figure", top, plot, foot, id=spec["id"], class_="wide" if spec["wide"] else None)


def _choice(choices: dict[str, Any]) -> Markup:
    """Return a list of options, with a search where they are many."""
    options = [tag("option", label, value=k) for k, label in enumerate(choices["options"])]
    label, find = choices["label"], None
    if len(options) > _FEW_OPTIONS:
        find = tag("input", type="search", class_="find", placeholder=f"Search {len(options)}",
                   aria_label=f"Search: {label}")  # fmt: skip
    select = tag("select", *options, class_="choice", aria_label=label)
    return tag("div", tag("span", f"{label} ", class_="small soft"), find, select, class_="pick")


# -- the page --------------------------------------------------------------------------------------


class Section(NamedTuple):
    """A part of a page: id, heading (in the contents up to a colon), body, what it answers.

    A folded one opens on demand; it is printed if it is open then.
    """

    name: str
    head: str
    body: Markup
    asks: str = ""
    folded: bool = False

    def html(self) -> Markup:
        """Return the element."""
        title = tag("h2", self.head, id=f"{self.name}-title")
        asks = tag("span", self.asks, class_="soft asks") if self.asks else None
        common = {"id": self.name, "aria_labelledby": f"{self.name}-title"}
        if not self.folded:
            return tag("section", tag("div", title, asks), self.body, **common)
        inner = tag("details", tag("summary", title, asks), self.body)
        return tag("section", inner, class_="folded", **common)


def page(
    *,
    title: str,
    subtitle: object,
    sections: Iterable[Section],
    data: dict[str, Any],
    saves: list[tuple[str, str]],
    picker: Markup | None = None,
    picker_at: int = 0,
) -> str:
    """Assemble the page.

    Parameters
    ----------
    sections : iterable of Section
        In reading order; they make the contents too.
    data : dict
        What the script reads: figures, record (to download), file (its name).
    saves : list of (key, label)
        Downloads: "json", or a list in the record, saved as CSV.
    picker : Markup, optional
        Controls that stay in sight from the section at the place `picker_at` on.
    """
    parts = list(sections)
    links = (tag("li", tag("a", p.head.partition(":")[0], href=f"#{p.name}")) for p in parts)
    contents = tag("nav", tag("ul", *links), class_="contents", aria_label="Contents")
    body = [part.html() for part in parts]
    if picker is not None:
        body.insert(min(picker_at, len(body)), picker)
    fold = any(part.folded for part in parts)
    actions = tag(
        "div",
        *(tag("button", label, type="button", data_save=key) for key, label in saves),
        tag("button", "Open all sections", type="button", id="unfold") if fold else None,
        tag("button", "Print", type="button", id="print"),
        tag("button", "Dark page", type="button", id="theme"),
        class_="actions",
    )
    heading = tag("div", tag("h1", title), tag("p", subtitle, class_="soft"))
    top = tag("header", heading, actions, class_="top")
    foot = tag("footer", f"Made by survgauge {__version__}. This file works offline.")
    main = tag("main", *body, foot, id="main")
    html = _document(title, tag("div", top, contents, main, class_="layout"), data)
    # A lone surrogate, as file names can hold, has no place in a file.
    return html.encode("utf-8", "replace").decode("utf-8")


def picker(label: str, names: Iterable[tuple[str, int, dict[str, Any]]], *more: object) -> Markup:
    """Make buttons that show and hide series everywhere, and more controls that stay in sight.

    Each of the `names` has its number among the series and further attributes.
    """
    chips = [
        tag("button", tag("span", name), type="button", class_="chip", aria_pressed="true",
            data_series=series, title=name, **attributes)
        for name, series, attributes in names
    ]  # fmt: skip
    everything = tag("button", "All", type="button", id="all-series")
    count = tag("span", class_="series-count small soft", aria_live="polite")
    told = tag("span", label, class_="name")
    return tag("div", told, *chips, everything, *more, count, class_="picker", role="group",
               aria_label=f"{label} shown")  # fmt: skip


def _document(title: str, body: Markup, data: dict[str, Any]) -> str:
    script = asset("charts.js") + asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Only this very script runs, and nothing is fetched, whatever a name contains.
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    top = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(palette.css() + asset("style.css"))),
    )
    end = join(
        tag("div", id="tip", class_="tip", hidden=True),
        tag("div", id="said", class_="visually-hidden", aria_live="polite"),
        tag("noscript", tag("p", "Charts, sorting and filters need JavaScript.")),
        Markup(f'<script type="application/json" id="data">{_json(data)}</script>'),
        Markup(f"<script>{script}</script>"),
    )
    skip = tag("a", "Skip to the content", href="#main", class_="skip")
    return f"<!DOCTYPE html>\n{tag('html', top, tag('body', skip, body, end), lang='en')}\n"


def _json(data: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in."""
    rules = (palette.css(), re.sub(r"/\*.*?\*/", "", asset("style.css")))
    blocks = "".join(rule.partition(":root {")[2].partition("}")[0] for rule in rules)
    # Colours of the light page, for figures that leave it.
    light = dict(re.findall(r"--([\w-]+):\s*([^;]+);", blocks))
    whole = {"hidden": [], **data, "light": light, "looks": palette.looks()}
    text = json.dumps(whole, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def asset(name: str) -> str:
    """Return the text of a file that comes with the package."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
