"""Cox model: against R, against the partial likelihood written out, and where it has no maximum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from survgauge import InputError, KaplanMeier, Outcomes
from survgauge.estimators.cox import FALLBACK_PENALTY, CoxModel, CoxRegression


def example():
    i = np.arange(1, 31)
    X = np.column_stack([((13 * i) % 17) / 4, i % 3 == 0, np.sqrt((11 * i) % 19)]).astype(float)
    return X, Outcomes(1 + (7 * i) % 11, (5 * i) % 7 > 1)


def naive_log_likelihood(beta, X, y):
    total = 0.0
    for i in np.flatnonzero(y.event):
        at_risk = y.time >= y.time[i]
        total += X[i] @ beta - np.log(np.exp(X[at_risk] @ beta).sum())
    return total


def naive_baseline(model, X, y, t):
    risk = np.exp((X - model.means) @ model.coefficients)
    return sum(
        1 / risk[y.time >= y.time[i]].sum() for i in np.flatnonzero(y.event) if y.time[i] <= t
    )


def test_equals_r():
    # R 4.2.2, survival 3.5-3, on example() as a data frame d with columns a, b, c:
    #   f <- coxph(Surv(time, event) ~ a + b + c, d, ties = "breslow")
    #   coef(f); f$loglik[2]; basehaz(f, centered = FALSE)
    #   survfit(f, newdata = data.frame(a = 1, b = 1, c = 2))
    X, y = example()
    model = CoxModel.fit(X, y)
    expected = [0.36248723716370929, -0.37741509960647063, 0.24183979541122144]
    assert model.coefficients == pytest.approx(expected, abs=1e-9)
    assert model.log_likelihood == pytest.approx(-58.778530611257089, abs=1e-9)
    survival = model.survival([[1, 1, 2], [0, 0, 0]], [0, 1, 4, 5.5, 11, 99])
    assert survival[0] == pytest.approx(
        [1, 0.974565895135466, 0.857421976793566, 0.857421976793566] + 2 * [0.450359438337866]
    )
    hazard = [0, 0.0161221349923106, 0.0962611172520205, 0.0962611172520205, 0.4991928384212234]
    assert -np.log(survival[1, :5]) == pytest.approx(hazard)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(8, 40), st.integers(1, 6))
def test_is_the_maximum_of_the_partial_likelihood(seed, n, levels):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1, 50] + [0, 1e3]
    y = Outcomes(rng.integers(1, 1 + 2 * levels, n), np.append(True, rng.random(n - 1) < 0.7))
    model = CoxModel.fit(X, y)
    Z, spread = X - X.mean(axis=0), X.std(axis=0)
    beta = model.coefficients

    def objective(b):
        return naive_log_likelihood(b, Z, y) - model.penalty / 2 * np.sum((b * spread) ** 2)

    assert naive_log_likelihood(beta, Z, y) == pytest.approx(model.log_likelihood, abs=1e-8)
    best = objective(beta)
    for direction in rng.normal(size=(20, 2)) / spread:
        assert objective(beta + 0.03 * direction) <= best + 1e-9
    for k, t in enumerate(model.times):
        assert model.cumulative_hazard[k] == pytest.approx(naive_baseline(model, X, y, t))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_a_weight_is_a_number_of_copies(seed):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(20, 2)), rng.integers(0, 4, 20)
    weight[0] = 1
    time, event = rng.integers(1, 9, 20), np.append(True, rng.random(19) < 0.6)
    weighted = CoxModel.fit(X, Outcomes(time, event, weight), penalty=0.5)
    copies = np.repeat(np.arange(20), weight)
    repeated = CoxModel.fit(X[copies], Outcomes(time[copies], event[copies]), penalty=0.5)
    assert weighted.coefficients == pytest.approx(repeated.coefficients, abs=1e-8)
    assert weighted.cumulative_hazard == pytest.approx(repeated.cumulative_hazard)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood)


def test_units_and_origin_of_a_column_do_not_matter():
    X, y = example()
    model = CoxModel.fit(X, y)
    scaled = CoxModel.fit(X * [1e-6, 1, 1e8] + [5e-6, 3, -4e8], y)
    assert scaled.coefficients * [1e-6, 1, 1e8] == pytest.approx(model.coefficients, rel=1e-6)
    assert scaled.cumulative_hazard == pytest.approx(model.cumulative_hazard)


def test_a_constant_column_has_no_effect_and_is_reported():
    X, y = example()
    model = CoxModel.fit(np.insert(X, 1, 0.1, axis=1), y)
    assert model.coefficients[1] == 0
    assert model.coefficients[[0, 2, 3]] == pytest.approx(CoxModel.fit(X, y).coefficients)
    assert "column 2 (counting from 1)" in model.notes[0]


def test_only_constant_columns_leave_the_nelson_aalen_estimate():
    _, y = example()
    for X in (np.ones((30, 2)), np.empty((30, 0))):
        model = CoxModel.fit(X, y)
        expected = KaplanMeier.fit(y, estimator="nelson_aalen").at(model.times)
        assert np.exp(-model.cumulative_hazard) == pytest.approx(expected)


def test_collinear_columns_share_an_effect_under_a_penalty():
    X, y = example()
    model = CoxModel.fit(np.column_stack([X, X[:, 0]]), y)
    assert model.penalty == FALLBACK_PENALTY
    assert "collinear" in model.notes[0]
    assert model.coefficients[0] == pytest.approx(model.coefficients[3])
    assert model.coefficients[0] * 2 == pytest.approx(0.362, abs=0.05)


def test_separation_ends_in_a_finite_penalised_fit():
    # Everybody with x = 1 dies first: the likelihood rises for ever.
    rng = np.random.default_rng(1)
    x = np.arange(40) < 3
    time = np.where(x, 1.0 + np.arange(40), 10.0 + np.arange(40))
    model = CoxModel.fit(np.column_stack([x, rng.normal(size=40)]), Outcomes(time, np.ones(40)))
    assert model.penalty == FALLBACK_PENALTY
    assert "separation" in model.notes[0]
    assert 1 < model.coefficients[0] < 30


def test_no_event_in_a_group_is_separation_too():
    rng = np.random.default_rng(2)
    x = np.arange(200) < 4
    model = CoxModel.fit(x[:, None], Outcomes(rng.random(200), ~x & (rng.random(200) < 0.8)))
    assert model.penalty == FALLBACK_PENALTY
    assert np.isfinite(model.coefficients[0])
    assert model.coefficients[0] < 0


def test_an_outlier_does_not_break_the_fit():
    X, y = example()
    X[3, 0] = 1e6
    model = CoxModel.fit(X, y)
    assert np.isfinite(model.coefficients).all()
    assert np.isfinite(model.survival(X)).all()


def test_an_outlier_that_leaves_first_does_not_mislead_newton():
    # Its risk dwarfs all later risk sets: full steps underflow them.
    rng = np.random.default_rng(0)
    time, X = rng.permutation(2000) + 1.0, rng.normal(size=(2000, 2))
    X[time == 1, 0] = 1e4
    fit = CoxRegression(time, np.ones(2000, bool), np.ones(2000), X.T, "efron")
    assert fit.converged
    assert np.isfinite(fit.influence()).all()
    Z, y = X - X.mean(axis=0), Outcomes(time, np.ones(2000))
    best = naive_log_likelihood(fit.beta, Z, y)
    for change in ([1e-5, 0], [-1e-5, 0], [0, 1e-3], [0, -1e-3]):
        assert naive_log_likelihood(fit.beta + change, Z, y) < best


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_both_doors_lead_to_the_same_fit(seed):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(40, 3)), rng.random(40) + 0.5
    X[:, 1] = 0.1
    time, event = rng.integers(1, 20, 40).astype(float), np.append(True, rng.random(39) < 0.7)
    model = CoxModel.fit(X, Outcomes(time, event, weight))
    fit = CoxRegression(time, event, weight, X.T, "breslow")
    if model.penalty == 0:
        assert fit.beta == pytest.approx(model.coefficients, rel=1e-9)
        survival = np.exp(-fit.hazard(8.0) * np.exp(fit.log_risk(X.T)))
        assert survival == pytest.approx(model.survival(X, [8.0])[:, 0])
    assert fit.covariance[1].tolist() == fit.covariance[:, 1].tolist() == [0, 0, 0]
    assert not fit.influence()[1].any()


def test_a_constant_of_many_rows_does_not_round_into_a_variable():
    rng = np.random.default_rng(0)
    X, y = np.full((200_000, 2), 0.1), Outcomes(rng.random(200_000), rng.random(200_000) < 0.5)
    X[::2, 1] = np.nextafter(0.1, 1)
    model = CoxModel.fit(X, y)
    assert model.coefficients.tolist() == [0, 0]
    assert model.means[0] == 0.1


def test_censoring_baseline_lets_events_leave_first():
    y = Outcomes([1, 2, 2, 2, 3, 3], [1, 1, 0, 0, 0, 1])
    model = CoxModel.fit_censoring(np.empty((6, 0)), y)
    assert model.times.tolist() == [2, 3]
    assert model.cumulative_hazard == pytest.approx([2 / 4, 2 / 4 + 1 / 1])


def test_censoring_model_is_the_flipped_model_where_no_times_are_tied():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(50, 2)), Outcomes(rng.random(50), rng.random(50) < 0.5)
    model = CoxModel.fit_censoring(X, y)
    flipped = CoxModel.fit(X, Outcomes(y.time, ~y.event))
    assert model.coefficients == pytest.approx(flipped.coefficients)
    assert model.times.tolist() == flipped.times.tolist()


def test_time_at_is_the_first_time_with_more_hazard():
    X, y = example()
    model = CoxModel.fit(X, y)
    amount = np.random.default_rng(0).exponential(size=30)
    amount[0], amount[1] = 0.0, 100.0
    for i, time in enumerate(model.time_at(X, amount)):
        gathered = -np.log(model.survival(X[i : i + 1]))[0]
        later = model.times[gathered > amount[i]]
        assert time == (later[0] if later.size else np.inf)
    assert model.time_at(X, amount)[1] == np.inf


def test_extreme_risks_stay_numbers():
    X, y = example()
    model = CoxModel.fit(X, y)
    far = np.array([[1e5, 0, 0], [-1e5, 0, 0]])
    assert model.survival(far, [0, 5]).tolist() == [[1, 0], [1, 1]]
    assert model.time_at(far, [1.0, 1.0]).tolist() == [1.0, np.inf]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [np.nan]], ([1, 2], [1, 1]), "values in column 1 "),
        ([[1.0]], ([1, 2], [1, 1]), "y has 2, X has 1"),
        ([[1.0], [2.0]], ([1, 2], [0, 0]), "at least one event"),
        ([["a"], ["b"]], ([1, 2], [1, 1]), "numbers"),
    ],
)
def test_bad_input_is_named(X, y, message):
    with pytest.raises(InputError, match=message):
        CoxModel.fit(X, y)


def test_bad_calls_are_named():
    X, y = example()
    with pytest.raises(InputError, match="penalty"):
        CoxModel.fit(X, y, penalty=-1)
    with pytest.raises(InputError, match="3 columns"):
        CoxModel.fit(X, y).log_risk(X[:, :2])
    with pytest.raises(InputError, match="one entry per row"):
        CoxModel.fit(X, y).time_at(X, [1.0])
    with pytest.raises(InputError, match="events only"):
        CoxModel.fit_censoring(X, (y.time, np.ones(30)))
