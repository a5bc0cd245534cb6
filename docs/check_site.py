"""Check the built pages: links and anchors lead somewhere, and nothing is fetched from a network.

    python docs/check_site.py docs/_build/html

Links to other sites are counted, not visited.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes whose value a browser fetches when it opens the page.
FETCHED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "object": ("data",),
    "use": ("href",),
}
LINK_RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "modulepreload"}
REMOTE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
CSS_FETCH = re.compile(r"(?:url\(|@import)\s*['\"]?\s*((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


class Page(HTMLParser):
    """Where a page leads, what it fetches, and which anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.styles: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        self._in_style = tag == "style"
        if "style" in values:
            self.styles.append(values["style"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and "href" in values:
            fetched = LINK_RELATIONS & set(values.get("rel", "").split())
            (self.fetched if fetched else self.links).append(values["href"])
        for name in FETCHED.get(tag, ()):
            if name in values:
                parts = values[name].split(",") if name == "srcset" else [values[name]]
                self.fetched.extend(part.split()[0] for part in parts if part.strip())

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.styles.append(data)


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def problems(root: Path) -> tuple[list[str], int, int]:
    """Return what is wrong, and how many links were checked and left alone."""
    root = root.resolve()
    files = (path for path in sorted(root.rglob("*.html")) if root / "_static" not in path.parents)
    pages = {path: read(path) for path in files}  # the theme keeps templates in _static
    found: list[str] = []
    checked = outside = 0
    for path, page in pages.items():
        here = path.relative_to(root)
        remote = [address for address in page.fetched if REMOTE.match(address)]
        remote += [hit for style in page.styles for hit in CSS_FETCH.findall(style)]
        found += [f"{here}: fetches {address}" for address in remote]
        for address in (*page.links, *page.fetched):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                outside += 1
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if root not in target.parents or not target.is_file():
                found.append(f"{here}: no such file: {address}")
            elif parts.fragment and target in pages:
                anchor = unquote(parts.fragment)
                if anchor not in pages[target].anchors and not anchor.startswith(":~:"):
                    found.append(f"{here}: no such anchor: {address}")
    for sheet in sorted(root.rglob("*.css")):
        hits = CSS_FETCH.findall(sheet.read_text(encoding="utf-8"))
        found += [f"{sheet.relative_to(root)}: fetches {address}" for address in hits]
    return found, checked, outside


def main(arguments: list[str]) -> int:
    root = Path(arguments[0])
    if not (root / "index.html").is_file():
        print(f"{root} has no index.html: build the pages first (make docs)", file=sys.stderr)
        return 2
    found, checked, outside = problems(root)
    print("\n".join(found) if found else f"{checked} links lead somewhere, nothing is fetched.")
    print(f"{outside} links to other sites were not visited.")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
