"""The page of an evaluation of one cause."""

import json
import re

import numpy as np
import pytest
from cause_data import draw

import survgauge as sg
from survgauge.report import charts, evaluation_html, saved_evaluation_html

ATTACK = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def ev():
    train, _ = draw(120, 1)
    y, curves = draw(140, 2)
    given = {"y_train": train, "cause": "relapse", "time": [2.0, 6.0], "unit": "years"}
    return sg.evaluate({"true": curves}, y, **given)


def table_of(html):
    """Rows of the table of causes, as texts."""
    body = re.search(r'<table id="causes"[^>]*>(.*?)</table>', html, re.S)[1]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)
    return [
        [re.sub(r"<[^>]*>", " ", cell).split() for cell in re.findall(r"<t[hd].*?</t[hd]>", r)]
        for r in rows
    ]


def test_what_happened_has_events_and_incidence_of_each_cause(ev):
    html = evaluation_html(ev)
    assert '<section id="outcomes"' in html
    head, relapse, death, nobody = table_of(html)
    assert head[2:] == [["by", "2", "years"], ["by", "6", "years"]]
    y = ev.task.y
    aj = sg.AalenJohansen.fit(y)
    for row, cause in ((relapse, "relapse"), (death, "death")):
        assert row[0][0] == cause
        assert row[1][0] == str(ev.support["events_by_cause"][cause])
        for cell, time in zip(row[2:], (2.0, 6.0), strict=True):
            value = float(aj.at(time, cause))
            assert cell[0] == f"{100 * value:.1f}"
            low, high = float(cell[2]), float(cell[4])
            assert low < 100 * value < high
    assert death[0] == ["death", "(competes)"]
    assert nobody[1][0] == str((~y.event).sum())
    free = float(sg.KaplanMeier.fit(y.any_cause()).at(6.0))
    assert nobody[3][0] == f"{100 * free:.1f}"


def test_incidence_of_every_cause_is_drawn(ev):
    figures = charts.from_evaluation(ev)
    assert [spec["id"] for spec in figures["outcomes"]] == ["incidence-chart"]
    assert "errors" not in {name for name, found in figures.items() if found}
    panels = figures["outcomes"][0]["specs"][0]["panels"]
    assert [panel["title"] for panel in panels] == ["relapse", "death"]
    assert all(panel["counts"]["rows"] for panel in panels)
    assert "mean-curves" not in {spec["id"] for spec in figures["probabilities"]}
    assert json.dumps(figures, allow_nan=False)


def test_a_page_from_saved_numbers_has_the_table(ev):
    record = json.loads(json.dumps(ev.to_dict()))
    html = saved_evaluation_html(record)
    assert table_of(html) == table_of(evaluation_html(ev))
    bare = sg.evaluate(*draw(60, 3)[::-1], cause=1, confidence=None, time=3.0, metrics="brier")
    assert all(len(row[2]) == 2 for row in table_of(evaluation_html(bare))[1:])


def test_one_kind_of_event_has_no_such_section():
    y, curves = draw(80, 5)
    survival = curves.survival()
    html = evaluation_html(sg.evaluate(survival, y.any_cause(), metrics="ibs"))
    assert 'id="outcomes"' not in html
    assert "incidence-chart" not in html


def test_names_of_causes_are_text():
    y, curves = draw(80, 5, named=False)
    names = (ATTACK, "a & b")
    y = sg.Outcomes(y.time, y.cause, causes=names)
    curves = sg.IncidenceCurves(curves.times, curves.values, causes=names)
    html = evaluation_html(sg.evaluate(curves, y, cause=ATTACK, time=3.0))
    assert ATTACK not in html
    assert "&lt;script&gt;alert(1)" in html


def test_many_subjects_are_sampled_but_incidence_is_of_all(monkeypatch):
    monkeypatch.setattr(charts, "MOST_SUBJECTS", 50)
    y, curves = draw(120, 6)
    ev = sg.evaluate(curves, y, cause="death", time=3.0, metrics="brier")
    found = charts.from_evaluation(ev)
    (incidence,), brier = found["outcomes"], found["probabilities"][0]
    counts = incidence["specs"][0]["panels"][0]["counts"]["rows"]
    assert counts[0]["values"][0] == "120"
    assert "random sample of 50" in brier["specs"][0]["note"]
    assert np.isfinite(ev.support["incidence"][0]["value"])
