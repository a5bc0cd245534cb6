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


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def sections(text):
    """Return the sections of a page by their anchors; the whole page has the anchor ""."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return {"": text} | {slug(h): body for h, body in zip(parts[1::2], parts[2::2], strict=True)}


def described(page, section):
    """What a page says in a section."""
    return sections(read(DOCS / "metrics" / f"{page}.md"))[section]


@pytest.mark.parametrize("metric", sg.available_metrics(), ids=lambda m: m["name"])
def test_every_metric_has_a_section_that_the_index_leads_to(metric, table):
    place = table.place_of(metric["name"])
    assert described(*place)
    assert f"[`{metric['name']}`]({table.link(*place)})" in read(table.PAGE)


def test_the_index_leads_to_every_page_and_the_tree_holds_them(table):
    index = read(table.PAGE)
    for path in PAGES:
        assert re.search(rf"\(metrics/{re.escape(path.name)}[#)]", index)
        assert f"\nmetrics/{path.stem}\n" in index


@pytest.mark.parametrize("metric", sg.available_metrics(), ids=lambda m: m["name"])
def test_facts_on_a_page_are_those_of_the_registry(metric, table):
    name = metric["name"]
    page, section = table.place_of(name)
    if name in table.SHARED:
        assert f"`{name}`" in described(page, section)
    elif section != table.BESIDE["losses"][1] and name in (page, *table.SECTIONS):
        assert table.facts(metric) in described(page, section).splitlines()


PLACES = [
    pytest.param(path, anchor, id=f"{path.stem}-{anchor or 'page'}")
    for path in PAGES
    for anchor, text in sections(read(path)).items()
    if re.search(rf"^##{'#' if anchor else ''} When to use it$", text, re.MULTILINE)
]


@pytest.mark.parametrize(("path", "anchor"), PLACES)
def test_a_metric_has_question_picture_use_example_pitfalls_and_formula_in_this_order(path, anchor):
    text = sections(read(path))[anchor]
    lines = [line for line in text.splitlines() if line and not line.startswith("# ")]
    assert lines[0].endswith((".", "?"))
    pictures = re.findall(r"!\[([^]]+)\]\(\.\./images/metrics/(\S+?\.svg)\)", text)
    assert pictures, "no picture"
    level = "###" if anchor else "##"
    names = ("When to use it", "Example", ">>> ", "Pitfalls", "Formula")
    parts = [name if name == ">>> " else f"{level} {name}" for name in names]
    places = [text.find(f"\n{part}") for part in parts]
    assert places == sorted(places)
    assert places[0] > 0


def test_every_metric_is_in_one_of_these_places(table):
    tried = {(place.values[0].stem, place.values[1]) for place in PLACES}
    homes = {table.place_of(metric["name"]) for metric in sg.available_metrics()}
    beside = {tuple(place) for *place, _ in table.BESIDE.values()}
    assert homes | beside <= tried


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
