"""One self-contained page: style, script, data and text in a single file, no network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from .. import __version__
from .markup import Markup, join, tag


def page(
    *,
    title: str,
    subtitle: str,
    sections: list[tuple[str, str, Markup]],
    picker: Markup | None,
    data: dict[str, Any],
    saves: list[tuple[str, str]],
) -> str:
    """Assemble the page.

    Parameters
    ----------
    sections : list of (id, heading, body)
        In reading order; they make the contents too (up to a colon).
    picker : Markup or None
        Controls that stay in sight.
    data : dict
        What the script reads: figures, record (to download), file (its name).
    saves : list of (key, label)
        Downloads: "json", or a list in the record, saved as CSV.
    """
    contents = tag(
        "nav",
        tag(
            "ul",
            *(
                tag("li", tag("a", head.partition(":")[0], href=f"#{name}"))
                for name, head, _ in sections
            ),
        ),
        class_="contents",
        aria_label="Contents",
    )
    actions = tag(
        "div",
        *(tag("button", label, type="button", data_save=key) for key, label in saves),
        tag("button", "Print", type="button", id="print"),
        tag("button", "Dark page", type="button", id="theme"),
        class_="actions",
    )
    body = [
        tag("section", tag("h2", head, id=f"{name}-title"), part, id=name,
            aria_labelledby=f"{name}-title")
        for name, head, part in sections
    ]  # fmt: skip
    top = tag(
        "header", tag("div", tag("h1", title), tag("p", subtitle, class_="soft")), actions,
        class_="top",
    )  # fmt: skip
    foot = tag("footer", f"Made by survgauge {__version__}. This file works offline.")
    main = tag("main", picker, *body, foot, id="main")
    html = _document(title, tag("div", top, contents, main, class_="layout"), data)
    # A lone surrogate, as file names can hold, has no place in a file.
    return html.encode("utf-8", "replace").decode("utf-8")


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
        tag("style", Markup(_asset("style.css"))),
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
    whole = {**data, "light": _light()}
    text = json.dumps(whole, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _light() -> dict[str, str]:
    """Colours of the light page, for figures that leave it."""
    block = _asset("style.css").partition(":root {")[2].partition("}")[0]
    return dict(re.findall(r"--([\w-]+):\s*([^;]+);", block))


def figure(spec: dict[str, Any], *, wide: bool = False) -> Markup:
    """Place a chart: title, choice, tools, caption; the script draws it."""
    choices = spec.get("choices")
    select = None
    if choices:
        options = [tag("option", label, value=k) for k, label in enumerate(choices["options"])]
        select = tag(
            "label",
            tag("span", f"{choices['label']} ", class_="small soft"),
            tag("select", *options, class_="choice"),
        )
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
    return tag("figure", head, plot, foot, id=spec["id"], class_="wide" if wide else None)


_TOOLS = (
    ("svg", "SVG", "Save as SVG"),
    ("png", "PNG", "Save as PNG"),
    ("csv", "CSV", "Save the numbers as CSV"),
    ("table", "Table", "Show the numbers as a table"),
)
