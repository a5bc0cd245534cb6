"""Numbers of Table 1 from R (tests/reference/r/table_one.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from survgauge.data.outcomes import Outcomes
from survgauge.estimators.kaplan_meier import KaplanMeier
from survgauge.report.study.table_one import at_time, feature, follow_up

READ = json.loads((Path(__file__).parent / "r" / "table_one.json").read_text())
SETS = READ["datasets"]


def known(value):
    return float("nan") if value is None else value


@pytest.mark.parametrize("name", sorted(SETS))
def test_follow_up(name):
    wanted = SETS[name]
    y = Outcomes(wanted["time"], wanted["event"])
    found, r = follow_up(y, 0.95), wanted["follow_up"]
    np.testing.assert_allclose(found.quartiles, r["quartiles"], rtol=1e-12)
    np.testing.assert_allclose(
        [found.low, found.high, found.longest], [known(r[k]) for k in ("low", "high", "longest")]
    )
    # Both ways to take ties in R agree with G.
    for g in (r["g"], r["g_survfit"]):
        np.testing.assert_allclose(KaplanMeier.fit_censoring(y).at(wanted["at"]), g, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(SETS))
def test_survival_and_subjects_at_risk(name):
    wanted = SETS[name]
    y = Outcomes(wanted["time"], wanted["event"])
    found = [at_time(y, time, 0.95) for time in wanted["at"]]
    fields = ("at_risk", "events", "survival", "low", "high")
    got = [(at.at_risk, at.events[""], *at.survival) for at in found]
    for field, values in zip(fields, zip(*got, strict=True), strict=True):
        np.testing.assert_allclose(values, wanted[field], rtol=1e-9, err_msg=field)


@pytest.mark.parametrize("name", sorted(SETS))
def test_frequencies_count_as_repeated_rows(name):
    wanted = SETS[name]
    time, event = np.array(wanted["time"]), np.array(wanted["event"], bool)
    weight = np.arange(len(time)) % 3
    rows = np.repeat(np.arange(len(time)), weight)
    values = np.sqrt(np.arange(len(time)))
    features = {"x": values, "code": (np.arange(len(time)) % 2).astype(float)}
    both = Outcomes(time, event, weight), Outcomes(time[rows], event[rows])
    for name, values in features.items():
        coded = name == "code"
        other = feature(both[1], name, values[rows], coded)
        assert feature(both[0], name, values, coded) == other
    one, other = (follow_up(y.present(), 0.9) for y in both)
    np.testing.assert_allclose(one.quartiles, other.quartiles)
    for at in wanted["at"]:
        one, other = (at_time(y.present(), at, 0.9) for y in both)
        assert (one.at_risk, one.events) == (other.at_risk, other.events)
        np.testing.assert_allclose(one.survival, other.survival)


def test_quartiles_of_a_feature():
    wanted = READ["features"]
    y = Outcomes(np.arange(1, 10), np.ones(9))
    found = feature(y, "x", wanted["values"], coded=False)
    np.testing.assert_allclose(found.quartiles, wanted["quartiles"], rtol=1e-12)
    assert found.missing == 1
