"""Numbers of Table 1 from R (tests/reference/r/table_one.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from survgauge.data.outcomes import Outcomes
from survgauge.reference.kaplan_meier import KaplanMeier
from survgauge.study.sample import Sample, feature, follow_up

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
    found = Sample.of(y, wanted["at"], 0.95).at_times
    for field in ("at_risk", "events", "survival", "low", "high"):
        got = [getattr(at, field) for at in found]
        np.testing.assert_allclose(got, wanted[field], rtol=1e-9, err_msg=field)


@pytest.mark.parametrize("name", sorted(SETS))
def test_frequencies_count_as_repeated_rows(name):
    wanted = SETS[name]
    time, event = np.array(wanted["time"]), np.array(wanted["event"], bool)
    weight = np.arange(len(time)) % 3
    rows = np.repeat(np.arange(len(time)), weight)
    values = np.sqrt(np.arange(len(time)))
    features = {"x": values, "code": (np.arange(len(time)) % 2).astype(float)}
    one = Sample.of(Outcomes(time, event, weight), wanted["at"], 0.9, features, ["code"])
    repeated = {k: v[rows] for k, v in features.items()}
    other = Sample.of(Outcomes(time[rows], event[rows]), wanted["at"], 0.9, repeated, ["code"])
    assert one.features == other.features
    assert (one.subjects, one.events) == (other.subjects, other.events)
    np.testing.assert_allclose(one.follow_up.quartiles, other.follow_up.quartiles)
    np.testing.assert_allclose(
        [(a.low, a.high) for a in one.at_times], [(a.low, a.high) for a in other.at_times]
    )


def test_quartiles_of_a_feature():
    wanted = READ["features"]
    y = Outcomes(np.arange(1, 10), np.ones(9))
    found = feature(y, "x", wanted["values"], coded=False)
    np.testing.assert_allclose(found.quartiles, wanted["quartiles"], rtol=1e-12)
    assert found.missing == 1
