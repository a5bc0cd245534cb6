"""Tables for papers in every form."""

from __future__ import annotations

import io
import shutil
import subprocess

import pytest

import survgauge as sg
from survgauge.report.study.printed import PrintedTable

TABLE = PrintedTable(
    "Table 2. Performance at 5 years (95 % intervals)",
    ("Metric", "cox_ph", "a|b & c"),
    (("Brier score", "0.12 (0.10 to 0.14)", "<0.001"), ("MAE, days", "71 [60, 82]", "*n/a*")),
    ("n = 90 subjects; 50 % censored.", "Intervals: {analytic}."),
)


def test_text_and_markdown():
    assert str(TABLE).splitlines()[0] == TABLE.title
    lines = TABLE.markdown().splitlines()
    assert lines[2] == r"| Metric | cox_ph | a\|b & c |"
    assert lines[3] == "|:--|--:|--:|"
    assert lines[-1] == "Intervals: {analytic}."


def test_html_is_escaped():
    text = TABLE.html()
    assert "a|b &amp; c" in text
    assert "&lt;0.001" in text
    assert text.count("<tr>") == 3


def test_word_opens_with_all_cells():
    docx = pytest.importorskip("docx")
    document = docx.Document(io.BytesIO(TABLE.word()))
    cells = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    assert cells == [list(TABLE.header), *map(list, TABLE.rows)]
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert texts == [TABLE.title, *TABLE.notes]


def test_latex_compiles(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("needs pdflatex")
    document = "\\documentclass{article}\n\\begin{document}\n%s\\end{document}\n"
    (tmp_path / "t.tex").write_text(document % TABLE.latex())
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("suffix", [".md", ".tex", ".html", ".txt"])
def test_write_follows_the_ending(tmp_path, suffix):
    path = TABLE.write(tmp_path / f"table{suffix}")
    assert "Brier score" in path.read_text()


def test_a_page_of_its_own_has_its_encoding(tmp_path):
    text = TABLE.write(tmp_path / "table.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in text
    assert TABLE.html() in text


def test_headings_span_the_table():
    table = PrintedTable("T", ("a", "b"), (("Part & more",), ("x", "1")), name="Table 3")
    assert "| **Part & more** |  |" in table.markdown()
    assert r"\multicolumn{2}{l}{\textit{Part \& more}} \\" in table.latex()
    assert 'colspan="2"' in table.html()
    assert table.markdown().startswith("**Table 3. T**")
    assert r"\label{tab:table3}" in table.latex()


def test_write_refuses_other_endings(tmp_path):
    with pytest.raises(sg.InputError, match=r"\.docx"):
        TABLE.write(tmp_path / "table.pdf")
