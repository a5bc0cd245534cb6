"""What a stream says of a cause: the counts and words of `evaluate`."""

import numpy as np
import pytest
from cause_data import CAUSES, draw

import survgauge as sg

GRID = np.linspace(0, 60, 80)
SPEC = {"true": sg.IncidenceColumns({name: f"p_{name}" for name in CAUSES}, GRID)}


def batches(y, curves):
    sex = np.arange(len(y)) % 2
    for rows in (slice(0, 1), slice(1, 70), slice(70, len(y))):
        shares = {f"p_{name}": curves.values[rows, k] for k, name in enumerate(CAUSES)}
        yield {"time": y.time[rows], "event": y.cause[rows], "sex": sex[rows], **shares}


@pytest.mark.parametrize(
    ("metrics", "options"), [("ibs", {}), ("log_likelihood", {"censoring": "train"})]
)
def test_a_stream_counts_and_says_what_evaluate_does(metrics, options):
    train, _ = draw(150, 1)
    y, curves = draw(160, 2)
    given = {"y_train": train, "cause": "relapse", "metrics": metrics, "time": 4.0, **options}
    streamed = sg.evaluate_stream(list(batches(y, curves)), predictions=SPEC, by="sex", **given)
    whole = sg.evaluate({"true": curves}, y, by=np.arange(160) % 2, **given)
    for name in ("cause", "events_by_cause", "training_events_by_cause", "groups"):
        assert streamed.support[name] == whole.support[name], name
    assert "Events of death are counted as competing events" in streamed.verdict
    events = whole.support["events_by_cause"]
    told = f"{events['relapse']} events of relapse, {events['death']} of death"
    assert told in streamed.to_text()
    pairs = zip(streamed.support["incidence"], whole.support["incidence"], strict=True)
    for ours, theirs in pairs:
        assert ours == pytest.approx(theirs)


def test_few_events_of_the_cause_are_told_in_streams():
    train, _ = draw(150, 1)
    y, curves = draw(160, 2)
    codes = y.cause.copy()
    codes[np.flatnonzero(codes == 1)[6:]] = 0
    rare = sg.Outcomes(y.time, codes, causes=CAUSES)
    given = {"y_train": train, "cause": "relapse", "metrics": "brier", "time": 2.0}
    ev = sg.evaluate_stream(list(batches(rare, curves)), predictions=SPEC, **given)
    told = [w.message for w in ev.warnings if w.code == "few-events"]
    assert told == ["there are only 6 events of relapse among 160 subjects, so intervals are rough"]
