"""What an evaluation of one cause says: the cause, Aalen-Johansen, and what competes."""

import json

import numpy as np
import pytest
from cause_data import draw

import survgauge as sg
from survgauge.data.causes import EventWords, counted_events
from survgauge.report import evaluation_card, evaluation_html, saved_evaluation_html


@pytest.fixture(scope="module")
def ev():
    train, _ = draw(200, 1)
    y, curves = draw(250, 2)
    worse = sg.IncidenceCurves(curves.times, curves.values[::-1], causes=curves.causes)
    models = {"true": curves, "swapped": worse}
    by = np.where(np.arange(250) < 30, "few", "many")
    return sg.evaluate(models, y, y_train=train, cause="relapse", unit="years", time=5.0, by=by)


def test_the_verdict_names_the_cause_and_its_baseline(ev):
    assert "for relapse" in ev.verdict
    assert "better than the Aalen-Johansen baseline" in ev.verdict
    assert "Events of death are counted as competing events, not as censored." in ev.verdict


@pytest.mark.parametrize("words", ["verdict", "text", "short", "card", "page", "saved", "json"])
def test_kaplan_meier_is_not_the_baseline_of_a_cause(ev, words):
    record = ev.to_dict()
    told = {
        "verdict": ev.verdict,
        "text": ev.to_text(),
        "short": str(ev),
        "card": str(evaluation_card(record)),
        "page": evaluation_html(ev),
        "saved": saved_evaluation_html(json.loads(json.dumps(record))),
        "json": json.dumps({k: v for k, v in record.items() if k != "provenance"}),
    }[words]
    assert "Aalen-Johansen" in told
    for wrong in ("the Kaplan-Meier baseline", "Kaplan-Meier (reference)", "skill over KM"):
        assert wrong not in told


def test_events_of_each_cause_are_counted(ev):
    events = ev.support["events_by_cause"]
    told = f"250 subjects, {events['relapse']} events of relapse, {events['death']} of death"
    assert told in ev.to_text()
    assert told in str(ev)
    assert f"250 test subjects, {events['relapse']} events of relapse" in evaluation_html(ev)
    training = ev.support["training_events_by_cause"]
    assert sum(training.values()) == ev.support["training_events"]
    assert f"{training['relapse']} events of relapse" in evaluation_html(ev)


def test_the_record_names_the_baseline(ev):
    assert ev.to_dict()["baseline"] == "the Aalen-Johansen baseline"
    plain = sg.evaluate([3, 5, 6, 9], ([2, 5, 7, 8], [1, 0, 1, 1]), metrics="mae_po")
    assert plain.to_dict()["baseline"] == "the Kaplan-Meier baseline"
    assert "competing" not in plain.verdict


def test_few_events_are_those_of_the_cause():
    y, curves = draw(200, 5)
    codes = y.cause.copy()
    codes[np.flatnonzero(codes == 1)[6:]] = 0
    rare = sg.Outcomes(y.time, codes, causes=y.causes)
    ev = sg.evaluate(curves, rare, cause="relapse", metrics="brier", time=2.0)
    told = [w.message for w in ev.warnings if w.code == "few-events"]
    assert told == ["there are only 6 events of relapse among 200 subjects, so intervals are rough"]
    common = sg.evaluate(curves, rare, cause="death", metrics="brier", time=2.0)
    assert "few-events" not in {w.code for w in common.warnings}


def test_small_groups_have_few_events_of_the_cause(ev):
    sizes = ev.support["groups"]
    mine = ev.support["events_by_cause"]["relapse"]
    assert sizes["few"]["events_of_cause"] + sizes["many"]["events_of_cause"] == mine
    y, curves = draw(200, 5)
    codes = y.cause.copy()
    first = np.arange(200) < 100
    codes[np.flatnonzero((codes == 1) & first)[6:]] = 0
    rare = sg.Outcomes(y.time, codes, causes=y.causes)
    by = np.where(first, "a", "b")
    found = sg.evaluate(curves, rare, cause="relapse", metrics="brier", time=2.0, by=by)
    assert any(w.code == "small-groups" and "(1 of 2: a)" in w.message for w in found.warnings)


def test_causes_without_names_are_numbers_of_causes():
    y, curves = draw(120, 3, named=False)
    ev = sg.evaluate(curves, y, cause=2, metrics=["ibs"])
    assert "Integrated Brier score for cause 2 of model" in ev.verdict
    assert "Events of cause 1 are counted as competing events" in ev.verdict
    assert counted_events(ev.support).startswith(f"{(y.cause == 2).sum()} events of cause 2, ")


def test_three_causes_are_listed():
    words = EventWords("a", ("a", "b", "c", "3"))
    assert words.competing.startswith("Events of b, c and cause 3 are counted")
    assert EventWords("a", ("a",)).competing == ""


def test_without_an_event_of_the_cause_nobody_is_best():
    y, curves = draw(120, 3)
    unseen = sg.Outcomes(y.time, np.where(y.cause == 1, 0, y.cause), causes=y.causes)
    models = {"a": curves, "b": curves[::-1]}
    found = sg.evaluate(models, unseen, y_train=y, cause="relapse")
    assert found.verdict.startswith("No relapse was observed among the test subjects")
