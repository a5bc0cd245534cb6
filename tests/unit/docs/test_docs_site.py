"""The check of the built pages finds what is lost and what would be fetched."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "docs" / "check_site.py"
if not SCRIPT.is_file():
    pytest.skip("the pages are not in a source distribution", allow_module_level=True)


@pytest.fixture(scope="module")
def check_site():
    spec = spec_from_file_location("check_site", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def site(folder: Path, body: str, style: str = "") -> Path:
    (folder / "index.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    (folder / "other.html").write_text('<h1 id="here">Other</h1>', encoding="utf-8")
    (folder / "page.css").write_text(style, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<a href="gone.html">x</a>', "no such file: gone.html"),
        ('<a href="other.html#there">x</a>', "no such anchor: other.html#there"),
        ('<a href="#nowhere">x</a>', "no such anchor: #nowhere"),
        ('<a href="../outside.html">x</a>', "no such file: ../outside.html"),
        ('<script src="https://example.org/x.js"></script>', "fetches https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "fetches //example.org/x.css"),
        ('<img src="https://example.org/x.png">', "fetches https://example.org/x.png"),
        ("<style>a { background: url(https://example.org/x) }</style>", "fetches https://exa"),
    ],
)
def test_what_is_lost_or_fetched_is_found(check_site, tmp_path, body, complaint):
    found, _, _ = check_site.problems(site(tmp_path, body))
    assert len(found) == 1
    assert complaint in found[0]
    assert check_site.main([str(tmp_path)]) == 1


def test_style_sheets_are_read(check_site, tmp_path):
    found, _, _ = check_site.problems(site(tmp_path, "", '@import "https://example.org/x.css";'))
    assert found == ["page.css: fetches https://example.org/x.css"]


def test_a_good_site_passes(check_site, tmp_path):
    body = '<p id="top"><a href="other.html#here">x</a> <a href="#top">x</a>'
    body += '<a href="https://example.org/">x</a> <link rel="stylesheet" href="page.css">'
    assert check_site.problems(site(tmp_path, body)) == ([], 3, 1)
    assert check_site.main([str(tmp_path)]) == 0


def test_an_empty_folder_is_not_a_site(check_site, tmp_path):
    assert check_site.main([str(tmp_path)]) == 2
