"""A distribution that is estimated from the test subjects is part of standard errors."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.score import standard_error
from survgauge.metrics.time.interval_errors import interval_error

INF = float("inf")
STEP = 1e-4
PREDICTED = np.random.default_rng(8).uniform(0, 15, 40)

SCORES = {
    "absolute": lambda y, c, **o: interval_error(y, PREDICTED, **o),
    "absolute, held": lambda y, c, **o: interval_error(y, PREDICTED, tail="hold", **o),
    "absolute, tau": lambda y, c, **o: interval_error(y, PREDICTED, tau=7.5, **o),
    "squared": lambda y, c, **o: interval_error(y, c, loss="squared", **o),
    "squared, tau": lambda y, c, **o: interval_error(y, PREDICTED, loss="squared", tau=9.0, **o),
    "brier": lambda y, c, **o: sg.brier_score(y, c, [6.3], **o).details,
    "brier, times": lambda y, c, **o: sg.brier_score(y, c, [2.0, 6.3, 8.1], **o).details,
    "ibs": lambda y, c, **o: sg.integrated_brier_score(y, c, tau=9, **o),
}


def subjects(seed):
    """Some subjects are event-free when the last event was found: there is a tail."""
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, 12, 40).astype(float)
    upper = lower + rng.integers(0, 5, 40)
    lost = rng.random(40) < 0.25
    lower, upper = np.where(lost, rng.uniform(10, 20, 40), lower), np.where(lost, INF, upper)
    grid = np.arange(0, 41, 2.0)
    curves = sg.SurvivalCurves(grid, np.exp(-rng.uniform(0.05, 0.3, 40)[:, None] * grid))
    return sg.IntervalOutcomes(lower, upper), curves, rng


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("sampled", [False, True])
def test_contributions_are_derivatives_by_the_weights(name, sampled):
    """Count a subject a little more: mean and distribution change."""
    y, curves, rng = subjects(1)
    given = {"sample_weight": rng.uniform(0.5, 2, len(y))} if sampled else {}
    score, copies = SCORES[name], given.get("sample_weight", np.ones(len(y)))
    distribution = sg.Turnbull.fit(y.reweighted(copies))
    known, contributions = (
        score(y, curves, distribution=distribution, **given).contributions,
        score(y, curves, **given).contributions,
    )
    distribution_part = (contributions - known) * np.sqrt(
        1 - np.minimum(distribution.leverage, 0.75)
    )
    for i in range(0, len(y), 3):
        values = []
        for sign in (1, -1):
            weight = np.ones(len(y))
            weight[i] += sign * STEP
            other = sg.IntervalOutcomes(y.lower, y.upper, weight)
            values.append(score(other, curves, **given).value)
        change = (values[0] - values[1]) / (2 * STEP)
        wanted = known[i] + distribution_part[i]
        assert change == pytest.approx(wanted, abs=1e-5 * np.abs(contributions).max()), i


def test_leverage_is_what_a_subject_decides_of_its_own_probability():
    """The derivative of the logarithm of its probability by the logarithm of its weight."""
    y, _, _ = subjects(3)
    distribution = sg.Turnbull.fit(y)
    found = distribution.leverage
    np.testing.assert_array_equal(found[y.exact], 0.0)

    def probability(weight, i):
        other = sg.Turnbull.fit(y.reweighted(weight))
        upper = y.upper[i] if np.isfinite(y.upper[i]) else None
        return float(other.at(y.lower[i])) - (0.0 if upper is None else float(other.at(upper)))

    decides = np.flatnonzero(found > 0)
    assert decides.size > 10
    for i in decides[::2]:
        weight = np.ones(len(y))
        values = []
        for sign in (1, -1):
            weight[i] = 1 + sign * STEP
            values.append(np.log(probability(weight, i)))
        change = (values[0] - values[1]) / (2 * STEP)
        assert change == pytest.approx(found[i], abs=1e-4), i


def test_a_distribution_of_others_is_taken_as_given():
    y, curves, _ = subjects(2)
    train = subjects(3)[0]
    for given in (
        {"y_train": train},
        {"distribution": sg.Turnbull.fit(y)},
        {"distribution": curves},
    ):
        found = sg.integrated_brier_score(y, curves, tau=9, **given)
        plain = sg.integrated_brier_score(y, curves, tau=9)
        assert abs(found.contributions.sum()) < 1e-12
        assert not np.allclose(found.contributions, plain.contributions)
    loss = [interval_error(y[[i]], PREDICTED[[i]], y_train=train) for i in range(len(y))]
    found = interval_error(y, PREDICTED, y_train=train)
    assert found.stderr == pytest.approx(np.std(loss, ddof=1) / np.sqrt(len(y)))


def test_integer_sampling_weights_weigh_the_distribution_too():
    y, curves, rng = subjects(4)
    weight = rng.integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    for predicted, again in ((curves, curves[rows]), (PREDICTED, PREDICTED[rows])):
        one = interval_error(y, predicted, sample_weight=weight, tau=9)
        assert one == pytest.approx(interval_error(y[rows], again, tau=9))
    one = sg.brier_score(y, curves, [3.3, 6.1], sample_weight=weight).values
    many = sg.brier_score(y[rows], curves[rows], [3.3, 6.1]).values
    np.testing.assert_allclose(one, many, rtol=1e-7)


NAMES = ["interval_mae_expected", "interval_rmse_expected", "interval_brier", "interval_ibs"]


def evaluated(y, curves, **options):
    found = sg.evaluate(curves, y, time=5, tau=9, min_at_risk=1, metrics=NAMES, **options)
    return {(row.get("group"), row["metric"]): row for row in found.rows()}


def test_evaluate_has_the_same_standard_errors():
    y, curves, _ = subjects(5)
    rows = evaluated(y, curves)
    wanted = {
        "interval_mae_expected": interval_error(y, curves, tau=9),
        "interval_brier": sg.brier_score(y, curves, [5]).details,
        "interval_ibs": sg.integrated_brier_score(y, curves, tau=9),
    }
    for name, found in wanted.items():
        assert rows[None, name]["stderr"] == pytest.approx(found.stderr), name
    squared = interval_error(y, curves, loss="squared", tau=9)
    root = rows[None, "interval_rmse_expected"]
    assert root["value"] == pytest.approx(np.sqrt(squared.value))
    assert root["stderr"] == pytest.approx(squared.stderr / (2 * root["value"]))


def test_the_same_where_contributions_are_not_kept(monkeypatch):
    y, curves, _ = subjects(5)
    usual = evaluated(y, curves)
    for room in ("cells", "call"):
        monkeypatch.setattr(f"survgauge.evaluation.{room}.CONTRIBUTIONS_LIMIT", 10)
    for key, row in evaluated(y, curves).items():
        assert row["stderr"] == pytest.approx(usual[key]["stderr"]), key


def test_weights_clusters_and_groups_equal_repeated_rows():
    y, curves, rng = subjects(6)
    times = rng.integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    one = sg.IntervalOutcomes(y.lower, y.upper, times)
    group, cluster = np.arange(len(y)) % 2, np.arange(len(y)) // 4
    for given in ({"by": group}, {"cluster": cluster}, {"by": group, "cluster": cluster}):
        again = {name: labels[rows] for name, labels in given.items()}
        found = evaluated(one, curves, **given)
        many = evaluated(y[rows], curves[rows], **again)
        assert found.keys() == many.keys()
        for key, row in found.items():
            assert row["value"] == pytest.approx(many[key]["value"]), key
            assert row["stderr"] == pytest.approx(many[key]["stderr"], rel=1e-6), key


def test_a_group_varies_the_distribution_by_its_own_subjects():
    """The distribution is that of everybody; the others are taken as given."""
    y, curves, _ = subjects(7)
    inside = np.arange(len(y)) % 2 == 0
    rows = np.flatnonzero(inside)
    found = evaluated(y, curves, by=inside)[True, "interval_ibs"]
    derivatives = []
    for i in rows:
        values = []
        for sign in (1, -1):
            weight = np.ones(len(y))
            weight[i] += sign * STEP
            distribution = sg.Turnbull.fit(sg.IntervalOutcomes(y.lower, y.upper, weight))
            part = sg.IntervalOutcomes(y.lower[rows], y.upper[rows], weight[rows])
            values.append(
                sg.integrated_brier_score(part, curves[rows], tau=9, distribution=distribution)
            )
        derivatives.append((values[0] - values[1]) / (2 * STEP))
    distribution = sg.Turnbull.fit(y)
    known = sg.integrated_brier_score(
        y[rows], curves[rows], tau=9, distribution=distribution
    ).contributions
    own = np.sqrt(1 - np.minimum(distribution.leverage[rows], 0.75))
    wanted = standard_error(known + (np.array(derivatives) - known) / own)
    assert found["stderr"] == pytest.approx(wanted, rel=1e-4)
