"""Every metric has a page that says what it is, with a picture; the pages say true things."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import survgauge as sg

DOCS = Path(__file__).parents[3] / "docs"
if not (DOCS / "metrics").is_dir():
    pytest.skip("no docs beside these tests", allow_module_level=True)

PAGES = sorted((DOCS / "metrics").glob("*.md"))
OTHERS = [
    DOCS / name
    for name in ("choose.md", "explanation/theory.md", "explanation/comparison.md", "metrics.md")
]


@pytest.fixture(scope="module")
def table():
    path = DOCS / "scripts" / "metrics_table.py"
    spec = importlib.util.spec_from_file_location("metrics_table", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path):
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("metric", sg.available_metrics(), ids=lambda m: m["name"])
def test_every_metric_has_a_page_that_the_index_leads_to(metric, table):
    home = table.page_of(metric["name"])
    assert (DOCS / "metrics" / f"{home}.md").exists()
    assert f"[`{metric['name']}`]({table.link_to(metric['name'])})" in read(table.PAGE)


def test_the_index_leads_to_every_page_and_the_tree_holds_them(table):
    index = read(table.PAGE)
    for path in PAGES:
        assert re.search(rf"\(metrics/{re.escape(path.name)}[#)]", index)
        assert f"\n{path.stem} <metrics/{path.stem}>\n" in index


@pytest.mark.parametrize("metric", sg.available_metrics(), ids=lambda m: m["name"])
def test_facts_on_a_page_are_those_of_the_registry(metric, table):
    home, anchor = table.SECTIONS.get(metric["name"], (metric["name"], ""))
    if table.page_of(metric["name"]) == home:
        text = read(DOCS / "metrics" / f"{home}.md")
        # Those of several metrics that share a section are written by hand.
        shared = list(table.SECTIONS.values()).count((home, anchor)) > 1
        assert shared or table.facts(metric) in text.splitlines()
        headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
        assert not anchor or anchor in [h.lower().replace(" ", "-") for h in headings]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_a_page_has_question_picture_use_example_pitfalls_and_formula_in_this_order(path):
    text = read(path)
    lines = [line for line in text.splitlines() if line]
    assert lines[0].startswith("# ")
    assert lines[1].endswith((".", "?"))
    pictures = re.findall(r"!\[([^]]+)\]\(\.\./images/metrics/(\S+?\.svg)\)", text)
    assert pictures, "no picture"
    parts = ("## When to use it", "## Example", ">>> ", "## Pitfalls", "## Formula")
    places = [text.find(f"\n{part}") for part in parts]
    assert places == sorted(places)
    assert places[0] > 0


def test_pictures_exist_are_small_and_used():
    files = {path.name: path for path in (DOCS / "images" / "metrics").glob("*")}
    text = "".join(read(path) for path in (*PAGES, *OTHERS))
    used = set(re.findall(r"images/metrics/([\w.]+)\)", text))
    assert used == set(files)
    assert max(path.stat().st_size for path in files.values()) < 60_000


def test_pictures_can_be_drawn_and_no_other_lies_about(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(DOCS / "scripts"))
    import matplotlib as mpl

    with mpl.rc_context():
        from pictures import PICTURES, save

        assert {f"{name}.svg" for name in PICTURES} == {
            path.name for path in (DOCS / "images" / "metrics").glob("*")
        }
        save(PICTURES["mae_po"](), tmp_path / "first.svg")
        save(PICTURES["mae_po"](), tmp_path / "second.svg")
    first = (tmp_path / "first.svg").read_bytes()
    assert b"<svg" in first
    assert first == (tmp_path / "second.svg").read_bytes()


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=lambda p: p.stem)
def test_links_between_pages_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:\s]+)?(?:#[\w-]+)?\)", read(path)):
        if target:
            assert (path.parent / target).exists(), target


def test_figures_that_pages_name_exist():
    from survgauge.report.displays import DISPLAYS

    named = {kind for path in PAGES for kind in re.findall(r"ev\.plot\(\"(\w+)\"\)", read(path))}
    assert len(named) > 5
    assert named <= set(DISPLAYS)


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=lambda p: p.stem)
def test_fractions_are_spelled_out(path):
    r"""The MathML converter reads \tfrac12 as twelve over what follows."""
    assert not re.search(r"\\[td]?frac\d\d", read(path))
