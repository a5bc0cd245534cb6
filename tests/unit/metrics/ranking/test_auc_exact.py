"""Cumulative/dynamic AUC: what it says it used, reading by pieces, and fractions of a subject."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details

TIME = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 6.0, 6.0, 7.0])
EVENT = np.array([1, 0, 1, 1, 0, 1, 0, 1, 0, 1], dtype=bool)
RISK = np.array([9.0, 2.0, 4.0, 4.0, 1.0, 3.0, 5.0, 2.0, 2.0, 1.0])
WEIGHT = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0])


def test_the_support_counts_cases_and_controls_at_the_last_time():
    y = sg.Outcomes(TIME, EVENT, WEIGHT)
    found = sg.cumulative_dynamic_auc(y, RISK, [0.5, 2.0, 4.0, 7.0, 9.0])
    np.testing.assert_array_equal(found.times, [2.0, 4.0])
    support = found.support
    # By 4 the events at 1, 2, 3 and 4; somebody observed at 4 is no control.
    assert support["cases"] == 1 + 1 + 3 + 1
    assert support["controls"] == 2 + 1 + 2 + 1
    assert (support["times"], support["times_left_out"]) == (2, 3)
    assert (support["subjects"], support["events"]) == (10, 6)
    assert support["notes"] == {
        "times left out: past the identified range": 1,
        "times left out: no cases": 1,
        "times left out: no controls": 1,
    }
    assert support["identified_until"] == 7.0
    g = sg.KaplanMeier.fit_censoring(y)
    assert support["largest_weight"] == pytest.approx(1 / g.at(4.0, side="left"))


def test_unsupported_times_are_refused_or_left_open():
    y = (TIME, EVENT)
    options = {"on_unsupported": "nan", "stderr": "auto"}
    found = sg.cumulative_dynamic_auc(y, RISK, [0.5, 2.0, 4.0, 9.0], **options)
    assert np.isnan(found.values).tolist() == [True, False, False, True]
    assert np.isnan(found.stderr).tolist() == [True, False, False, True]
    # Kaplan-Meier does not fall before 1, but it does after 4.
    assert np.isnan(found.mean)
    known = sg.cumulative_dynamic_auc(y, RISK, [0.5, 2.0, 4.0], **options)
    plain = sg.cumulative_dynamic_auc(y, RISK, [2.0, 4.0], stderr="auto")
    assert known.mean == plain.mean
    np.testing.assert_array_equal(known.details.contributions, plain.details.contributions)
    with pytest.raises(sg.InputError, match=r"times: 4 of 6 have no AUC \(no cases: 0.2, 0.3, 0.4, "
                       r"... \(4 in all\)\).*identified up to 7"):  # fmt: skip
        sg.cumulative_dynamic_auc(y, RISK, [0.2, 0.3, 0.4, 0.5, 2.0, 4.0], on_unsupported="raise")
    with pytest.raises(sg.UndefinedMetricError, match=r"\(no cases: 0.2, 0.3, 0.4\)"):
        sg.cumulative_dynamic_auc(y, RISK, [0.2, 0.3, 0.4])


def test_the_mean_weighs_by_the_fall_of_kaplan_meier():
    y = (TIME, EVENT)
    found = sg.cumulative_dynamic_auc(y, RISK, [2.0, 3.5, 5.0])
    survival = np.array([1.0, *sg.KaplanMeier.fit(y).at(np.array([2.0, 3.5, 5.0]))])
    assert found.mean == pytest.approx(np.average(found.values, weights=-np.diff(survival)))
    columns = np.column_stack((RISK, 10 - TIME, RISK**2))
    # Columns follow the times as they were given.
    mixed = sg.cumulative_dynamic_auc(y, columns[:, [2, 0, 1]], [5.0, 2.0, 3.5])
    for k, t in enumerate([2.0, 3.5, 5.0]):
        alone = sg.cumulative_dynamic_auc(y, columns[:, k], [t])
        assert mixed.values[k] == alone.values[0]
        assert alone.mean == alone.values[0]


@pytest.mark.parametrize("entry", [None, TIME / 4])
@pytest.mark.parametrize("stderr", ["fixed", "auto"])
def test_contributions_to_the_mean_are_the_mean_of_contributions(entry, stderr):
    y, times = sg.Outcomes(TIME, EVENT, WEIGHT, entry=entry), np.array([2.0, 3.5, 5.0])
    whole = sg.cumulative_dynamic_auc(y, RISK, times, stderr=stderr)
    alone = [sg.cumulative_dynamic_auc(y, RISK, [t], stderr=stderr) for t in times]
    falls = -np.diff([1.0, *sg.KaplanMeier.fit(y).at(times)])
    contributions = np.average([one.details.contributions for one in alone], axis=0, weights=falls)
    np.testing.assert_allclose(whole.details.contributions, contributions, atol=1e-15)
    np.testing.assert_allclose(whole.stderr, [one.details.stderr for one in alone], rtol=1e-12)


def test_contributions_are_made_on_request_only():
    asked = sg.cumulative_dynamic_auc((TIME, EVENT), RISK, [2.0, 4.0])
    assert asked.stderr is None
    assert asked.details.contributions is None


MEASURES = {
    "auc": lambda y, c: cumulative_dynamic_auc_details(y, c, [2.5, 4.0]),
    "auc, riskRegression": lambda y, c: cumulative_dynamic_auc_details(
        y, c, [2.5, 4.0], convention="riskregression", stderr="fixed"
    ),
    "brier": lambda y, c: sg.brier_score(y, c, [2.5, 4.0]).details,
    "ibs": lambda y, c: sg.integrated_brier_score(y, c, np.linspace(0, 5, 11)),
    "uno": lambda y, c: sg.concordance_index(y, RISK, method="uno", tau=5.0),
    "margin": lambda y, c: sg.concordance_index(y, RISK, method="margin"),
    "antolini": lambda y, c: sg.concordance_td(y, c),
    "mae_ipcw_d": lambda y, c: sg.time_error(y, c, method="ipcw_d"),
}


@pytest.mark.parametrize("name", MEASURES)
def test_only_ratios_of_frequencies_matter(name):
    # Frequencies below one: a count that is positive need not reach one.
    curves = sg.SurvivalCurves([0.0, 8.0], np.column_stack((np.ones(10), 1 / (1 + RISK))))
    whole, part = (
        MEASURES[name](sg.Outcomes(TIME, EVENT, WEIGHT * scale), curves) for scale in (1, 1 / 64)
    )
    assert part.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(part.contributions, whole.contributions, rtol=1e-9, atol=1e-13)


def test_what_an_auc_says_of_its_weights():
    found = sg.cumulative_dynamic_auc((TIME, EVENT), RISK, [4.0])
    assert found.convention["g_ties"] == "events_first"
    assert found.convention["g_source"] == "test"
    assert found.convention["event_limit"] == "left"
    plain = sg.cumulative_dynamic_auc((TIME, EVENT), RISK, [4.0], method="unweighted")
    assert "g_source" not in plain.convention


def test_absent_cases_do_not_count_in_the_support():
    time, event = [1.0, 2.0, 3.0, 5.0], [1, 1, 1, 0]
    for never in (0.0, 0.01):
        found = sg.cumulative_dynamic_auc(
            sg.Outcomes(time, event, [1.0, 0.0, 1.0, 1.0]),
            [4.0, 3.0, 2.0, 1.0],
            [4.0],
            censoring=lambda t, side, never=never: np.where(t == 2, never, 0.5),
        )
        assert found.support["largest_weight"] == 2.0
        assert found.support["notes"] == {}
        assert found.support["cases"] == 2.0


def test_a_time_without_cases_and_controls_is_left_out_for_the_first_reason():
    found = sg.cumulative_dynamic_auc(
        ([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1]),
        [3.0, 2.0, 1.0, 0.0],
        [1.5, 3.5],
        censoring=lambda t, side: np.where(t < 2, 0.0, 1.0),
        on_unsupported="nan",
    )
    assert found.support["notes"] == {"times left out: no cases": 1}
