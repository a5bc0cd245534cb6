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


def table(
    header: list[tuple[object, str | None]],
    rows: list[Markup],
    *,
    caption: str,
    name: str,
    filtered: bool = False,
) -> Markup:
    """Make a table with sortable columns; the header holds (label, class)."""
    heads = [
        tag("th", label)
        if isinstance(label, Markup)
        else tag("th", tag("button", label, type="button"), scope="col", class_=kind)
        for label, kind in header
    ]
    body = tag(
        "table",
        tag("thead", tag("tr", *heads)),
        tag("tbody", *rows),
        class_="sortable",
        id=name,
        data_filtered=filtered,
    )
    place = tag("div", body, class_="table tall", tabindex=0, role="region", aria_label=caption)
    return join(tag("p", caption, class_="soft small"), place)
