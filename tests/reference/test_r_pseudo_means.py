"""Pseudo-means, Kaplan-Meier and G from R (tests/reference/r/pseudo_means.R)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.reference import Reference

REFERENCE = json.loads((Path(__file__).parent / "r" / "pseudo_means.json").read_text())
SETS = sorted(REFERENCE["datasets"])


def rows(name):
    data = REFERENCE["datasets"][name]
    return data, np.array(data["time"], float), np.array(data["event"], bool)


@pytest.mark.parametrize("name", SETS)
def test_kaplan_meier_and_g(name):
    data, time, event = rows(name)
    km, g = sg.KaplanMeier.fit((time, event)), sg.KaplanMeier.fit_censoring((time, event))
    np.testing.assert_allclose(km.at(data["km"]["times"]), data["km"]["surv"], rtol=1e-12)
    times = data["censoring"]["times"]
    np.testing.assert_allclose(g.at(times), data["censoring"]["G"], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(g.at(times, "left"), data["censoring"]["G_left"], rtol=1e-12)


def cases():
    for name in SETS:
        for where in ("in_sample", "out_of_sample"):
            block = REFERENCE["datasets"][name][where]
            for kind in block:
                if isinstance(block[kind], dict) and "pseudo" in block[kind]:
                    yield name, where, kind


@pytest.mark.parametrize(("name", "where", "kind"), list(cases()))
def test_leave_one_out_pseudo_means_of_censored_subjects(name, where, kind):
    data, time, event = rows(name)
    want = np.array(data[where][kind]["pseudo"], float)
    tau = float(kind.removeprefix("tau_")) if kind.startswith("tau_") else None
    tail = "hold" if kind == "hold" else "linear"
    if where == "in_sample":
        test, train = sg.Outcomes(time, event), None
        theta = Reference(test).restricted(tau).theta("step", tail)
    else:
        index_train, index_test = data[where]["train"], data[where]["test"]
        test = sg.Outcomes(time[index_test], event[index_test])
        train = sg.Outcomes(time[index_train], event[index_train])
        theta = Reference(train).restricted(tau).theta("step", tail)
    assert theta == pytest.approx(data[where][kind]["theta"], rel=1e-10)
    got = sg.surrogate_times(test, y_train=train, tail=tail, tau=tau)
    censored = ~test.restricted(tau).event
    limit = np.inf if tau is None else tau
    assert censored.any()
    np.testing.assert_allclose(got.time[censored], np.minimum(want[censored], limit), rtol=1e-9)
