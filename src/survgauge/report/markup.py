"""HTML by construction: what is not an element is text, and text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = {"meta", "input", "br", "col"}


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


def cards(facts: Iterable[tuple[str, object, str | None]], kind: str) -> Markup:
    """Show facts, each a name with a value and a note."""
    shown = [
        tag("div", tag("dt", name), tag("dd", value, tag("small", note) if note else None))
        for name, value, note in facts
    ]
    return tag("dl", *shown, class_=kind)


def head(label: str, kind: str | None = None) -> Markup:
    """Make the head of a column that can be sorted; a column of numbers is of a kind of its own."""
    return tag("th", tag("button", label, type="button"), scope="col", class_=kind)


def number_cell(shown: object, value: object) -> Markup:
    """Make a cell with a number as it is shown, and the value to sort by."""
    return tag("td", shown, class_="number", data_sort="" if value is None else value)


def grid(
    heads: Iterable[Markup], rows: Iterable[Markup], *, label: str, place: str, **attributes: object
) -> Markup:
    """Make a table in a `place` of its own, which scrolls where it is wide or tall."""
    body = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), **attributes)
    return tag("div", body, class_=place, tabindex=0, role="region", aria_label=label)


def filters(name: str, *controls: Markup, placeholder: str | None = None) -> Markup:
    """Make a search of a table, what else it can be filtered by, and room to count its rows."""
    search = tag("input", type="search", data_filter=name, placeholder=placeholder)
    count = tag("span", id=f"{name}-count", class_="small soft", aria_live="polite")
    return tag("div", tag("label", "Search ", search), *controls, count, class_="actions filter")


def table(
    header: Iterable[str],
    rows: list[Markup],
    *,
    caption: str,
    name: str,
    words: Iterable[str],
    filtered: bool = False,
) -> Markup:
    """Make a table with sortable columns; all but those of `words` are of numbers."""
    heads = [head(label, None if label in words else "number") for label in header]
    look = {"class_": "sortable", "id": name, "data_filtered": filtered}
    made = grid(heads, rows, label=caption, place="table tall", **look)
    return join(tag("p", caption, class_="soft small"), made)
