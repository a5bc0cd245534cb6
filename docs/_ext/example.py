"""Draw the figures and the report of guides/figures.md with the code that the page shows.

They go to docs/_generated, which is not committed, and are drawn again when the package changed.
"""

from __future__ import annotations

from doctest import DocTestParser, Example
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import survgauge
from survgauge.displays import DISPLAYS


def evaluation_of(page: Path) -> Any:
    """Run the page's examples and return its `ev`."""
    names: dict[str, Any] = {}
    for part in DocTestParser().parse(page.read_text(encoding="utf-8"), str(page)):
        if isinstance(part, Example) and "to_html" not in part.source:
            exec(part.source, names)
    return names["ev"]


def up_to_date(made: Path, page: Path) -> bool:
    package = Path(survgauge.__file__).parent
    sources = [page, *package.rglob("*.py"), *package.glob("report/assets/*")]
    return made.exists() and made.stat().st_mtime > max(s.stat().st_mtime for s in sources)


def draw(app: Sphinx) -> None:
    page = Path(app.srcdir, "guides", "figures.md")
    folder = Path(app.srcdir, "_generated")
    report = folder / "pages" / "example-report.html"
    if up_to_date(report, page):
        return
    report.parent.mkdir(parents=True, exist_ok=True)
    ev = evaluation_of(page)
    for kind in DISPLAYS:
        figure = ev.plot(kind)
        figure.savefig(folder / f"{kind}.svg", metadata={"Date": None})
    ev.to_html(report)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
