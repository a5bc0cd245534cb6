"""One self-contained page: style, script, data and text in a single file, no network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from .. import __version__
from ..displays import palette
from .markup import Markup, join, tag


class Section(NamedTuple):
    """A part of a page: id, heading (in the contents up to a colon) and body.

    A folded one opens on demand and says before what question it answers; it is not printed with
    the short edition.
    """

    name: str
    head: str
    body: Markup
    asks: str | None = None

    def html(self) -> Markup:
        """Return the element."""
        title = tag("h2", self.head, id=f"{self.name}-title")
        common = {"id": self.name, "aria_labelledby": f"{self.name}-title"}
        if self.asks is None:
            return tag("section", title, self.body, **common)
        question = tag("span", self.asks, class_="soft asks")
        inner = tag("details", tag("summary", title, question), self.body)
        return tag("section", inner, class_="folded", **common)


def page(
    *,
    title: str,
    subtitle: str,
    sections: list[tuple[str, str, Markup]] | list[Section],
    picker: Markup | None,
    data: dict[str, Any],
    saves: list[tuple[str, str]],
    paper: Markup | None = None,
) -> str:
    """Assemble the page.

    Parameters
    ----------
    sections : list of Section
        In reading order; they make the contents too.
    picker : Markup or None
        Controls that stay in sight, from the first folded section on where there is one.
    data : dict
        What the script reads: figures, record (to download), file (its name).
    saves : list of (key, label)
        Downloads: "json", or a list in the record, saved as CSV.
    paper : Markup, optional
        What only the printed page has, at its end.
    """
    parts = [Section(*part) for part in sections]
    links = [
        tag("li", tag("a", part.head.partition(":")[0], href=f"#{part.name}")) for part in parts
    ]
    contents = tag("nav", tag("ul", *links), class_="contents", aria_label="Contents")
    folds = [part.name for part in parts if part.asks is not None]
    start, controls = (folds[0], join(_FOLDING, picker)) if folds else (parts[0].name, picker)
    body = [join(controls if part.name == start else None, part.html()) for part in parts]
    top = tag(
        "header", tag("div", tag("h1", title), tag("p", subtitle, class_="soft")),
        _actions(saves), class_="top",
    )  # fmt: skip
    foot = tag("footer", f"Made by survgauge {__version__}. This file works offline.")
    main = tag("main", *body, paper, foot, id="main")
    html = _document(title, tag("div", top, contents, main, class_="layout"), data)
    # A lone surrogate, as file names can hold, has no place in a file.
    return html.encode("utf-8", "replace").decode("utf-8")


def _actions(saves: list[tuple[str, str]]) -> Markup:
    return tag(
        "div",
        *(tag("button", label, type="button", data_save=key) for key, label in saves),
        tag("button", "Print", type="button", id="print"),
        tag("button", "Dark page", type="button", id="theme"),
        class_="actions",
    )


#: Above the folded sections: what unfolds them, and what prints them too.
_FOLDING = tag(
    "div",
    tag("button", "Open all sections", type="button", id="unfold"),
    tag("button", "Print with all sections", type="button", id="print-all"),
    class_="actions folding",
)


def _document(title: str, body: Markup, data: dict[str, Any]) -> str:
    script = _asset("charts.js") + _asset("page.js")
    # Only this very script runs, and nothing is fetched, whatever a name contains.
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src '{_hash(script)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(palette.css() + _asset("style.css"))),
    )
    end = join(
        tag("div", id="tip", class_="tip", hidden=True),
        tag("div", id="said", class_="visually-hidden", aria_live="polite"),
        tag("noscript", tag("p", "Charts, sorting and filters need JavaScript.")),
        Markup(f'<script type="application/json" id="data">{_json(data)}</script>'),
        Markup(f"<script>{script}</script>"),
    )
    skip = tag("a", "Skip to the content", href="#main", class_="skip")
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', skip, body, end), lang='en')}\n"


def _json(data: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in."""
    record = {name: packed(value) for name, value in data["record"].items()}
    whole = {**data, "record": record, "light": _light(), "looks": _looks()}
    text = json.dumps(whole, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def packed(value: Any) -> Any:
    """Long tables by column names and rows, and what repeats by its number: a third of the size.

    >>> rows = [{"metric": "mae", "convention": {"area": "step"}, "value": k} for k in range(30)]
    >>> packed(rows)["rows"][29], packed(rows)["levels"]["convention"]
    ([0, 0, 29], [{'area': 'step'}])
    """
    if not (isinstance(value, list) and len(value) > 20 and isinstance(value[0], dict)):
        return value
    columns = list(dict.fromkeys(name for row in value for name in row))
    rows = [[row.get(name) for name in columns] for row in value]
    levels = {}
    for k, name in enumerate(columns):
        keys = [_key(row[k]) for row in rows]
        if any(isinstance(row[k], float) for row in rows) or len(set(keys)) > len(rows) / 4:
            continue
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        levels[name] = [rows[keys.index(key)][k] for key in places]
        for row, key in zip(rows, keys, strict=True):
            row[k] = places[key]
    return {"columns": columns, "levels": levels, "rows": rows}


def _key(value: Any) -> Any:
    """Return what tells a value apart from others: 1 is not True."""
    return json.dumps(value) if isinstance(value, dict | list) else (type(value), value)


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _light() -> dict[str, str]:
    """Colours of the light page, for figures that leave it."""
    rules = (palette.css(), _asset("style.css"))
    blocks = "".join(rule.partition(":root {")[2].partition("}")[0] for rule in rules)
    return dict(re.findall(r"--([\w-]+):\s*([^;]+);", blocks))


def _looks() -> dict[str, Any]:
    """Dashes and markers of the models, for the script."""
    dashes = [" ".join(f"{part:g}" for part in dash) for dash in palette.DASHES]
    return {"colours": len(palette.PAINTS), "dashes": dashes, "markers": palette.MARKERS}


def lone_page(
    section: Section, data: dict[str, Any], charts: list[dict[str, Any]], title: str, subtitle: str
) -> str:
    """Make a page of one section about models, with its table and everything to download."""
    return page(
        title=title,
        subtitle=subtitle,
        sections=[section],
        picker=None,
        data={"file": section.name, "series": data["models"], "record": data, "figures": charts,
              "hidden": []},
        saves=[("table", "Table (CSV)"), ("json", "Everything (JSON)")],
    )  # fmt: skip


def figures(specs: list[dict[str, Any]]) -> Markup:
    """Place charts one after the other."""
    return tag("div", *map(figure, specs), class_="figures")


def figure(spec: dict[str, Any]) -> Markup:
    """Place a chart: title, choice, tools, caption; the script draws it."""
    select = _choice(spec["choices"]) if spec.get("choices") else None
    tools = tag(
        "div",
        *(
            tag(
                "button", label, type="button", data_tool=key, aria_label=f"{what}: {spec['title']}"
            )
            for key, label, what in _TOOLS
        ),
        class_="tools",
    )
    head = tag("div", tag("h3", spec["title"], tag("span", class_="chosen")), select, class_="head")
    plot = tag(
        "div",
        class_="plot",
        tabindex=0,
        role="img",
        aria_label=f"Chart: {spec['title']}. Arrow keys read the values.",
    )
    caption = tag("figcaption", spec["caption"], " ", tag("span", class_="note"))
    foot = tag("div", caption, tools, class_="foot")
    return tag("figure", head, plot, foot, id=spec["id"], class_="wide" if spec["wide"] else None)


#: Options that a list shows without a search.
_FEW_OPTIONS = 15


def _choice(choices: dict[str, Any]) -> Markup:
    """Return a list of options, with a search where they are many."""
    options = [tag("option", label, value=k) for k, label in enumerate(choices["options"])]
    label = choices["label"]
    find = None
    if len(options) > _FEW_OPTIONS:
        find = tag("input", type="search", class_="find", placeholder=f"Search {len(options)}",
                   aria_label=f"Search: {label}")  # fmt: skip
    select = tag("select", *options, class_="choice", aria_label=label)
    return tag("div", tag("span", f"{label} ", class_="small soft"), find, select, class_="pick")


_TOOLS = (
    ("svg", "SVG", "Save as SVG"),
    ("png", "PNG", "Save as PNG"),
    ("csv", "CSV", "Save the numbers as CSV"),
    ("table", "Table", "Show the numbers as a table"),
)
