"""Make the reports that pages link to, with the code on those pages.

They go to docs/_generated, which is not committed, and are made again when the package changed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from doctest import DocTestParser, Example
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import survgauge

if TYPE_CHECKING:  # scripts/report_pictures.py runs pages without Sphinx
    from sphinx.application import Sphinx

#: Pages whose code is run, and the name that holds what their report is about.
REPORTS = {"figures": ("ev", "example-report"), "experiment": ("results", "example-experiment")}


@contextmanager
def folder_of(page: Path) -> Iterator[None]:
    """Be in a folder with the files that the page shows, and import from there."""
    sys.path.insert(0, str(page.parents[2] / "tests"))
    from docs_files import write_files

    before = Path.cwd()
    with TemporaryDirectory() as name:
        write_files(page, Path(name))
        sys.path.insert(0, name)
        os.chdir(name)
        try:
            yield
        finally:
            os.chdir(before)
            del sys.path[:2]


def run(page: Path) -> dict[str, Any]:
    """Run the examples of a page and return its names."""
    names: dict[str, Any] = {}
    with folder_of(page):
        for part in DocTestParser().parse(page.read_text(encoding="utf-8"), str(page)):
            if isinstance(part, Example) and part.exc_msg is None:  # errors that a page shows
                exec(part.source, names)
    return names


def up_to_date(made: Path, page: Path) -> bool:
    package = Path(survgauge.__file__).parent
    sources = [page, *package.rglob("*.py"), *package.glob("report/assets/*")]
    return made.exists() and made.stat().st_mtime > max(s.stat().st_mtime for s in sources)


def make(app: Sphinx) -> None:
    folder = Path(app.srcdir, "_generated")
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    for name, (subject, title) in REPORTS.items():
        page = Path(app.srcdir, "howto", f"{name}.md")
        report = folder / "pages" / f"{title}.html"
        if up_to_date(report, page):
            continue
        run(page)[subject].to_html(report)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", make)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
