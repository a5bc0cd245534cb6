"""What `Study.write` leaves behind."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from study_parts import evaluation, features

import survgauge as sg
from survgauge.report.study.result import fill_folder

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    study = evaluation(groups=True).study(
        reference="cox_ph", X_test=features(slice(120, None)), X_train=features(slice(0, 120))
    )
    return study, study.write(tmp_path_factory.mktemp("s") / "study", title="A & B")


def test_files_are_those_on_disk(written):
    _, found = written
    assert set(found.files) == {path.name for path in found.folder.iterdir()}
    wanted = {f"table{k}.{form}" for k in (1, 2) for form in ("md", "tex", "html")}
    wanted |= {"methods.md", "methods.tex", "references.bib", "tripod.md", "paper.tex"}
    wanted |= {"report.html", "results.json"}
    wanted |= {f"{name}.{form}" for name in ("calibration", "decision_curve", "risk_groups",
                                               "subgroups", "differences")
               for form in ("pdf", "svg", "png")}  # fmt: skip
    assert wanted <= set(found.files)


def test_numbers_are_plain_data_with_their_origin(written):
    study, found = written
    data = json.loads((found.folder / "results.json").read_text())
    assert data["study"]["table2"]["rows"] == [list(row) for row in study.table_two.rows]
    assert data["study"]["reference"] == "cox_ph"
    assert data["provenance"]["version"] == sg.__version__
    assert data["metrics"][0]["metric"] in {s.metric.name for s in study.evaluation.scores}


def test_the_page_has_the_sections_of_a_study(written):
    _, found = written
    page = (found.folder / "report.html").read_text()
    for name in ("table-1", "table-2", "methods", "tripod"):
        assert f'<section id="{name}"' in page or f'id="{name}"' in page
    assert "Statistical methods" not in page
    assert "A &amp; B" in page


def test_word_documents_open(written):
    docx = pytest.importorskip("docx")
    study, found = written
    for name, table in (("table1", study.table_one), ("table2", study.table_two)):
        document = docx.Document(io.BytesIO((found.folder / f"{name}.docx").read_bytes()))
        first = [row.cells[0].text for row in document.tables[0].rows]
        assert first == [table.header[0], *(row[0] for row in table.rows)]


def test_the_paper_compiles(written, tmp_path):
    if shutil.which("pdflatex") is None or shutil.which("bibtex") is None:
        pytest.skip("needs pdflatex and bibtex")
    _, found = written
    shutil.copytree(found.folder, tmp_path / "p")
    run = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper"]
    for command in (run, ["bibtex", "paper"], run, run):
        done = subprocess.run(
            command, cwd=tmp_path / "p", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:]
    log = (tmp_path / "p" / "paper.log").read_text(errors="replace")
    assert "undefined" not in log


def test_a_folder_with_files_is_left_alone(written):
    study, found = written
    (found.folder / "notes.txt").write_text("mine")
    with pytest.raises(sg.InputError, match="has files already"):
        study.write(found.folder)
    study.write(found.folder, overwrite=True)
    assert (found.folder / "notes.txt").read_text() == "mine"
    (found.folder / "notes.txt").unlink()


def test_nothing_is_left_of_a_folder_that_failed(tmp_path):
    def fill(place):
        (place / "a.txt").write_text("a")
        raise OSError("disk full")

    with pytest.raises(sg.InputError, match="disk full"):
        fill_folder(tmp_path / "out", fill)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(sg.InputError, match="not a folder"):
        fill_folder(tmp_path / "file", fill)
    with pytest.raises(sg.InputError, match="does not exist"):
        fill_folder(tmp_path / "no" / "out", fill)


def test_missing_packages_are_told(written, tmp_path, monkeypatch):
    study, _ = written
    monkeypatch.setitem(sys.modules, "docx", None)
    found = study.write(tmp_path / "out")
    assert "survgauge[word]" in found.missing["Word documents"]
    assert not any(name.endswith(".docx") for name in found.files)
    assert "table1.tex" in found.files


def test_a_stream_holds_no_study(tmp_path):
    ev = evaluation()
    from dataclasses import replace

    with pytest.raises(sg.InputError, match="in memory"):
        replace(ev, predictions={}).study()


def test_names_that_no_font_has_are_told_and_not_warned_of(tmp_path):
    """Glyphs are missing from the figures, whose warnings would name files of ours."""
    x = np.linspace(0.1, 0.9, 40)
    y = (np.linspace(1, 9, 40), np.arange(40) % 2)
    curves = sg.SurvivalCurves([0.0, 5.0, 9.0], np.c_[np.ones(40), np.sqrt(x), x])
    ev = sg.evaluate({"模": curves}, y, metrics="study", time=[5.0, 5.000001])
    written = ev.study().write(tmp_path / "study")
    assert written.missing["characters of the figures"].startswith("their font does not have 模;")
    assert {"decision_curve_5.pdf", "decision_curve_5.000001.pdf"} <= set(written.files)


def test_control_characters_in_names_do_not_break_word_documents(tmp_path):
    pytest.importorskip("docx")
    ev = sg.evaluate({"a\x00\x1b[1m": np.arange(1.0, 9)}, (np.arange(1.0, 9), np.ones(8)))
    table = ev.study().table_two
    table.write(tmp_path / "table2.docx")
    assert len(ev.study().methods.word()) > 1000
