"""The notebooks of the documentation run, and print what they show."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("sksurv")
pytest.importorskip("lifelines")

DOCS = Path(__file__).parents[2] / "docs"
if not DOCS.is_dir():
    pytest.skip("the pages are not in a source distribution", allow_module_level=True)


def module():
    path = DOCS / "scripts" / "notebooks.py"
    spec = importlib.util.spec_from_file_location("notebooks", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("path", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore:Kernel is running over TCP")
def test_a_notebook_prints_what_it_shows(path):
    notebooks = module()
    shown = nbformat.read(path, as_version=4)
    again = notebooks.executed(path)
    assert [cell.source for cell in again.cells] == [cell.source for cell in shown.cells]
    assert notebooks.texts(again) == notebooks.texts(shown)
    pictures = ["image/png" in o.get("data", ()) for c in again.cells for o in c.get("outputs", ())]
    drawn = ["image/png" in o.get("data", ()) for c in shown.cells for o in c.get("outputs", ())]
    assert pictures == drawn


def test_there_are_three_notebooks_with_outputs():
    names = {path.stem for path in (DOCS / "notebooks").glob("*.ipynb")}
    assert names == {"compare_models", "competing_risks", "tune_a_model"}
    for path in (DOCS / "notebooks").glob("*.ipynb"):
        assert module().texts(nbformat.read(path, as_version=4))
