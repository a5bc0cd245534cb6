"""The pages: every one is reachable, links and pictures are in the repository, the API is whole."""

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
    "results/competing_template.md",
    "results/leaderboard_template.md",
    "results/paper_template.md",
    "results/truth_template.md",
)
TOCTREES = {
    ".md": re.compile(r"^```\{toctree\}(.*?)^```", re.DOTALL | re.MULTILINE),
    ".rst": re.compile(r"^\.\. toctree::(.*?)(?:^\S|\Z)", re.DOTALL | re.MULTILINE),
}
#: Where links and pictures lead; a picture may be the text of a link.
LINK = re.compile(r"\]\(([^)\s]+)\)|<(?:a|img)\b[^>]*?(?:href|src)=\"([^\"]+)\"")
CODE = re.compile(r"`[^`\n]+`")
#: Folders that a build makes: what lies there is in no clone.
MADE = {"_build", "_generated", "generated"}
#: Reports that `make docs` makes; pages that link to one say so.
EXAMPLES = re.findall(r'"(example-[\w-]+)"', (DOCS / "_ext/example.py").read_text("utf-8"))
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    found = [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]
    names = ((path, path.relative_to(DOCS).as_posix()) for path in found)
    return sorted(path for path, name in names if not name.startswith((*SKIPPED, "_templates")))


def entries(page: Path) -> set[Path]:
    """Return the pages that the tables of contents of a page name."""
    found: set[Path] = set()
    if page.suffix not in TOCTREES:  # a notebook
        return found
    for block in TOCTREES[page.suffix].findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            entry = line.strip()
            if not entry or entry.startswith(":"):
                continue
            entry = re.sub(r".*<(.+)>$", r"\1", entry)
            for suffix in (".md", ".rst", ".ipynb"):
                found.update(path.resolve() for path in page.parent.glob(entry + suffix))
    return found


def slug(heading: str) -> str:
    """GitHub's anchor of a heading, which Sphinx is told to follow."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    named = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    return {slug(h) for h in re.findall(r"^#+ (.+)$", text, re.MULTILINE)} | set(named)


def addresses(text: str) -> list[str]:
    """Return the relative addresses of links and pictures outside code."""
    found = LINK.findall(CODE.sub("", FENCE.sub("", text)))
    return [a or b for a, b in found if not re.match(r"[a-z]+:", a or b)]


def is_lost(page: Path, address: str) -> bool:
    """Whether a clone has no such file, or the file no such heading."""
    path, _, anchor = address.partition("#")
    target = (page.parent / path).resolve() if path else page
    if target.parent == DOCS and target.stem in EXAMPLES:
        return False
    if not target.exists() or MADE & set(target.relative_to(ROOT).parts):
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


def test_every_page_is_in_a_table_of_contents():
    reached: set[Path] = set()
    todo = {(DOCS / "index.md").resolve()}
    while todo:
        page = todo.pop()
        reached.add(page)
        todo |= entries(page) - reached
    assert [str(p.relative_to(DOCS)) for p in pages() if p.resolve() not in reached] == []


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *pages()], ids=lambda p: str(p.relative_to(ROOT))
)
def test_relative_links_lead_somewhere(page):
    assert [a for a in addresses(page.read_text(encoding="utf-8")) if is_lost(page, a)] == []


@pytest.mark.parametrize(
    "text",
    [
        "[x](gone.md)",
        "![x](images/gone.png)",
        "[![x](images/gone.png)](index.md)",
        '<img src="images/gone.png">',
        '<a href="gone.html">x</a>',
        "[x](#gone)",
        "[x](choose.md#gone)",
        "![x](_generated/metrics.svg)",
    ],
)
def test_what_is_not_in_the_repository_is_found(text):
    assert any(is_lost(DOCS / "index.md", address) for address in addresses(text))


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_reads_in_the_repository_view(page):
    """Directives are source code there; the hidden table of contents is the only one needed."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^(?:`{3,}|:{3,})\{(.+?)\}", text, re.MULTILINE)
    assert set(found) <= {"toctree"}


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_line_of_a_paragraph_begins_a_list_by_accident(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    assert re.findall(r"^[A-Za-z(\"`*].*\n(?:1[.)]|[-+*]) .*$", text, re.MULTILINE) == []


def test_every_public_name_has_a_page():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.rst"))
    listed = set(re.findall(r"^   ([\w.]+)$", text, re.MULTILINE))
    public = {name for name in sg.__all__ if not name.startswith("__")}
    for part in ("datasets", "displays", "experiment", "leaderboard", "models", "preprocessing"):
        public.remove(part)
        names = set(getattr(getattr(sg, part), "__all__", ())) - public
        public |= {f"{part}.{name}" for name in names if not name.isupper()}
    assert sorted(public - listed) == []


def test_every_command_is_on_its_page():
    text = (DOCS / "api" / "command_line.rst").read_text(encoding="utf-8")
    shown = set(re.findall(r"^(\w+)\n-+$", text, re.MULTILINE))
    usage = _parser().format_help()
    assert shown == set(re.findall(r"^    (\w+)(?:  |$)", usage, re.MULTILINE))


def test_numbers_of_things_in_the_readme_are_those_of_the_package():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r'`ev\.plot\("(\w+)"\)`', text))
    others = len(import_module("survgauge.report.displays").DISPLAYS) - len(shown)
    assert f"and {others} other kinds draw" in text
    assert f"# {len(sg.models.available())} models; survgauge models" in text
    assert f"# {len(sg.datasets.available())} datasets; survgauge datasets" in text
