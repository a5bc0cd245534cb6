"""The pages: every one is reachable, links between files lead somewhere, the API list is whole."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import survgauge as sg
from survgauge.cli.main import _parser

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("the pages are not in a source distribution", allow_module_level=True)
SKIPPED = (
    "_build",
    "_generated",
    "api/generated",
    "results/paper_template.md",
    "results/truth_template.md",
)
TOCTREES = {
    ".md": re.compile(r"^```\{toctree\}(.*?)^```", re.DOTALL | re.MULTILINE),
    ".rst": re.compile(r"^\.\. toctree::(.*?)(?:^\S|\Z)", re.DOTALL | re.MULTILINE),
}
LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    found = [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]
    names = ((path, path.relative_to(DOCS).as_posix()) for path in found)
    return sorted(path for path, name in names if not name.startswith((*SKIPPED, "_templates")))


def entries(page: Path) -> set[Path]:
    """Return the pages that the tables of contents of a page name."""
    found: set[Path] = set()
    for block in TOCTREES[page.suffix].findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            entry = line.strip()
            if not entry or entry.startswith(":"):
                continue
            entry = re.sub(r".*<(.+)>$", r"\1", entry)
            for suffix in (".md", ".rst"):
                found.update(path.resolve() for path in page.parent.glob(entry + suffix))
    return found


def slug(heading: str) -> str:
    """GitHub's anchor of a heading, which Sphinx is told to follow."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    named = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    return {slug(h) for h in re.findall(r"^#+ (.+)$", text, re.MULTILINE)} | set(named)


def test_every_page_is_in_a_table_of_contents():
    reached: set[Path] = set()
    todo = {(DOCS / "index.md").resolve()}
    while todo:
        page = todo.pop()
        reached.add(page)
        todo |= entries(page) - reached
    assert [str(p.relative_to(DOCS)) for p in pages() if p.resolve() not in reached] == []


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *pages()], ids=lambda p: str(p.relative_to(ROOT))
)
def test_relative_links_lead_somewhere(page):
    lost = []
    for address in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", address):
            continue
        path, _, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        # Pages of the API and figures exist once the documentation is built.
        if "_generated" in target.parts:
            continue
        if "generated" in target.parts:
            target = None if hasattr(sg, target.stem.split(".")[1]) else target
        anchored = anchor and target and target.suffix == ".md"
        if target and (not target.exists() or (anchored and anchor not in anchors(target))):
            lost.append(address)
    assert lost == []


def test_every_public_name_has_a_page():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.rst"))
    listed = set(re.findall(r"^   ([\w.]+)$", text, re.MULTILINE))
    public = {name for name in sg.__all__ if not name.startswith("__")}
    for part in ("datasets", "displays", "experiment", "models", "preprocessing"):
        public.remove(part)
        names = set(import_module(f"survgauge.{part}").__all__) - public
        public |= {f"{part}.{name}" for name in names if not name.isupper()}
    assert sorted(public - listed) == []


def test_every_command_is_on_its_page():
    text = (DOCS / "api" / "command_line.rst").read_text(encoding="utf-8")
    shown = set(re.findall(r"^(\w+)\n-+$", text, re.MULTILINE))
    usage = _parser().format_help()
    assert shown == set(re.findall(r"^    (\w+)  ", usage, re.MULTILINE))
