"""Scores of all causes at once, and the time-dependent C of one: plain loops, rules, and doors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import survgauge as sg

GRID = np.array([1.0, 2.0, 4.0, 6.0, 9.0])
TIMES = [2.0, 3.0, 5.0]
NAMES = ("relapse", "death")
LOSSES = ("log", "squared")


def draw(seed=0, n=80, ties=True):
    rng = np.random.default_rng(seed)
    time = np.minimum(rng.exponential(5, n), 9.0)
    time = np.ceil(time) if ties else time
    y = sg.Outcomes(time, rng.choice([0, 1, 1, 2], n), causes=NAMES)
    rate = np.exp(rng.normal(0, 0.5, (n, 1)).round(1))
    total = 1 - np.exp(-GRID * rate / 5)
    share = rng.uniform(0.3, 0.7, (n, 1)).round(1)
    values = np.stack([total * share, total * (1 - share)], axis=1)
    return y, sg.IncidenceCurves(GRID, values, causes=NAMES)


def states(curves, i, t):
    """Predicted probabilities of being event-free and of each cause."""
    own = [float(curves[[i]].at(t, k)[0]) for k in range(1, len(curves.causes) + 1)]
    return [1 - sum(own), *own]


def naive_score(y, curves, t, loss, g=None, known=False):
    """Loss of each subject at t with its weight, one after the other; and the weights."""
    km = sg.KaplanMeier.fit_censoring(y) if g is None else g
    scores, weights = [], []
    for i in range(len(y)):
        if y.time[i] > t:
            state, weight = 0, 1 / float(km.at(t))
        elif y.event[i]:
            state, weight = int(y.cause[i]), 1 / float(km.at(y.time[i], "left"))
        else:
            state, weight = 0, 0.0
        weight = float(weight > 0) if known else weight
        p = states(curves, i, t)
        if loss == "log":
            own = -np.log(p[state])
        elif loss == "squared":
            own = sum((q - (s == state)) ** 2 for s, q in enumerate(p))
        else:
            own = float(max(range(len(p)), key=lambda s: (p[s], -s)) == state)
        scores.append(weight * own if weight else 0.0)
        weights.append(weight)
    return np.array(scores), np.array(weights)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", LOSSES)
def test_the_score_is_that_of_the_loop(seed, loss):
    y, curves = draw(seed, ties=seed > 0)
    wanted = np.array([naive_score(y, curves, t, loss)[0].mean() for t in TIMES])
    found = sg.multi_cause_score(y, curves, TIMES, loss=loss)
    np.testing.assert_allclose(found.values, wanted, rtol=1e-12)
    assert found.convention["loss"] == f"{loss}, all states"
    steps = np.diff(TIMES)
    whole = steps @ (wanted[1:] + wanted[:-1]) / 2 / steps.sum()
    assert found.mean == pytest.approx(whole)
    assert sg.integrated_multi_cause_score(y, curves, TIMES, loss=loss) == pytest.approx(whole)
    details = sg.integrated_multi_cause_score(y, curves, TIMES, loss=loss)
    assert details.value == pytest.approx(whole)
    np.testing.assert_allclose(details.contributions, found.details.contributions, atol=1e-15)


def test_the_squared_score_is_the_sum_of_brier_scores():
    y, curves = draw(3, n=200)
    found = sg.multi_cause_score(y, curves, TIMES, loss="squared").values
    causes = sum(sg.brier_score(y, curves, TIMES, cause=k).values for k in (1, 2))
    survival = sg.brier_score(y.any_cause(), curves.survival(), TIMES).values
    np.testing.assert_allclose(found, causes + survival, rtol=1e-12)


def test_single_precision_and_one_curve_for_all():
    y, curves = draw(3, n=200)
    single = sg.IncidenceCurves(GRID, curves.values.astype(np.float32), causes=NAMES)
    everybody = sg.AalenJohansen.fit(y).curves(len(y))
    copied = sg.IncidenceCurves(
        everybody.times, everybody.values.copy(), NAMES, everybody.interpolation
    )
    for loss in LOSSES:
        a, b = (sg.integrated_multi_cause_score(y, c, TIMES, loss=loss) for c in (curves, single))
        assert a == pytest.approx(b, rel=1e-6)
        a, b = (
            sg.integrated_multi_cause_score(y, c, TIMES, loss=loss) for c in (everybody, copied)
        )
        assert a == pytest.approx(b)


def test_probabilities_too_small_for_one_less_them():
    y = sg.Outcomes([1.0, 4.0], [1, 2], causes=NAMES)
    curves = sg.IncidenceCurves([4.0], [[[1e-30], [0.5]], [[0.5], [1e-30]]], causes=NAMES)
    found = sg.multi_cause_score(y, curves, [4.0]).values[0]
    assert found == pytest.approx(30 * np.log(10))
    never = sg.IncidenceCurves([4.0], [[[0.0], [0.5]], [[0.5], [0.2]]], causes=NAMES)
    result = sg.multi_cause_score(y, never, [4.0])
    assert result.values[0] == np.inf
    assert result.support["infinite_losses"] == 1
    clipped = sg.multi_cause_score(y, never, [4.0], clip=0.01)
    assert clipped.values[0] == pytest.approx(-(np.log(0.01) + np.log(0.2)) / 2)
    assert clipped.support["clipped"] == 1


def test_closed_predictions_are_known_past_their_grid():
    y = sg.Outcomes([1.0, 2.0, 8.0], [1, 2, 1], causes=NAMES)
    curves = sg.IncidenceCurves([4.0], [[[0.6], [0.4]]] * 3, causes=NAMES)
    found = sg.multi_cause_score(y, curves, [4.0, 8.0], loss="squared").values
    early = (2 * 0.4**2 + 2 * 0.6**2 + 0.6**2 + 0.4**2 + 1) / 3
    np.testing.assert_allclose(found, [early, (4 * 0.4**2 + 2 * 0.6**2) / 3])


# -- enumeration -----------------------------------------------------------------------------

EVENTS = [(t, k) for t in (1.0, 2.0, 3.0) for k in (1, 2)]
ENDS = (1.0, 2.0, 3.0, 4.0)


def distribution(numbers):
    """Masses of the events of each time and cause, and one for an event after all times."""
    weight = np.array(numbers) / sum(numbers)
    return dict(zip([*EVENTS, (9.0, 1)], weight, strict=True))


def incidence_of(weights, n):
    """The distribution itself as prediction, in steps."""
    grid = np.array([1.0, 2.0, 3.0, 9.0])
    values = [[sum(m for (s, c), m in weights.items() if s <= t and c == k) for t in grid]
              for k in (1, 2)]  # fmt: skip
    return sg.IncidenceCurves(grid, [values] * n, NAMES, "step")


def expected(weights, ends, predicted, score):
    """Mean of a score of one subject over all events and censoring times, with G known."""
    scenario = [
        (min(t, c), k if t <= c else 0, m * p)
        for ((t, k), m), (c, p) in itertools.product(weights.items(), zip(ENDS, ends, strict=True))
    ]
    time, cause, weight = (np.array(column) for column in zip(*scenario, strict=True))
    y = sg.Outcomes(time, cause, causes=NAMES)
    g = sg.KaplanMeier.fit_censoring(sg.Outcomes(ENDS, [0] * 4, ends))
    return score(y, incidence_of(predicted, len(y)), g, weight * len(y))


def log_score(y, curves, g, weight, loss="log"):
    return sg.multi_cause_score(
        y, curves, [1.0, 2.0, 3.0], loss=loss, censoring=g, sample_weight=weight
    ).values


def squared_score(y, curves, g, weight):
    return log_score(y, curves, g, weight, "squared")


weights = st.lists(st.integers(1, 9), min_size=7, max_size=7).map(distribution)
censoring = st.lists(st.integers(1, 5), min_size=4, max_size=4).map(
    lambda numbers: np.array(numbers) / sum(numbers)
)


def plain(truth, predicted, t, loss):
    """Expected loss of a prediction where nobody is censored."""
    total = 0.0
    curves = incidence_of(predicted, 1)
    for (s, k), m in truth.items():
        p, state = states(curves, 0, t), k if s <= t else 0
        squares = sum((q - (r == state)) ** 2 for r, q in enumerate(p))
        total += m * (-np.log(p[state]) if loss == "log" else squares)
    return total


@given(weights, weights, censoring)
def test_unbiased_and_proper_over_all_outcomes(truth, other, ends):
    for score, loss in ((log_score, "log"), (squared_score, "squared")):
        honest, false = (expected(truth, ends, said, score) for said in (truth, other))
        wanted = [plain(truth, other, t, loss) for t in (1.0, 2.0, 3.0)]
        np.testing.assert_allclose(false, wanted, rtol=1e-9)
        assert (honest <= false + 1e-9).all()
        grid = np.array([1.0, 2.0, 3.0])
        own, theirs = (
            [incidence_of(said, 1).at(grid, k) for k in (1, 2)] for said in (truth, other)
        )
        gap = np.abs(np.array(own) - theirs).max(axis=(0, 1))
        assert (false - honest)[gap > 1e-3].min(initial=1.0) > 0  # strictly: nothing else is best


# -- standard errors -------------------------------------------------------------------------


def all_scores(y, curves, weight=None):
    given = {"sample_weight": weight}
    return [
        sg.multi_cause_score(y, curves, [4.0], **given).details,
        sg.multi_cause_score(y, curves, [4.0], loss="squared", **given).details,
        sg.integrated_multi_cause_score(y, curves, [0.5, 2.0, 4.0], **given),
        sg.log_likelihood(y, curves, **given),
        sg.concordance_td(y, curves, cause=1, **given),
        sg.concordance_td(y, curves, cause=1, method="ipcw", tau=7.0, **given),
    ]


def test_standard_errors_are_those_of_the_jackknife():
    y, curves = draw(4, n=150)
    n = len(y)
    found = all_scores(y, curves)
    kept = [np.arange(n) != i for i in range(n)]
    left_out = np.array([[d.value for d in all_scores(y[k], curves[k])] for k in kept])
    jackknife = np.sqrt((n - 1) ** 2 / n * left_out.var(axis=0, ddof=1))
    np.testing.assert_allclose([d.stderr for d in found], jackknife, rtol=0.03)


def test_a_weight_of_two_is_two_rows():
    y, curves = draw(5)
    counts = np.random.default_rng(6).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    heavy = all_scores(y.reweighted(counts), curves)
    for a, b in zip(heavy, all_scores(y[rows], curves[rows]), strict=True):
        assert a.value == pytest.approx(b.value)
        assert a.stderr == pytest.approx(b.stderr)
    for a, b in zip(
        all_scores(y, curves, np.full(len(y), 0.5)), all_scores(y, curves), strict=True
    ):
        assert a.value == pytest.approx(b.value)
        assert a.stderr == pytest.approx(b.stderr)


# -- log-likelihood --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_is_that_of_the_loop(seed):
    y, curves = draw(seed, ties=seed > 0)
    total, small = 0.0, 1e-6
    for i in range(len(y)):
        t = y.time[i]
        if y.event[i]:
            k = int(y.cause[i])
            before, after = curves[[i]].at([t - small, t], k)[0]
            total += np.log((after - before) / small)
        else:
            total += np.log(states(curves, i, t)[0])
    assert sg.log_likelihood(y, curves) == pytest.approx(total / len(y), rel=1e-6)


def test_likelihood_without_competing_events_is_the_usual_one():
    y, curves = draw(3, ties=False)
    y = sg.Outcomes(y.time, y.event, causes=NAMES)  # nobody died
    values = np.stack([curves.values.sum(axis=1), np.zeros((len(y), GRID.size))], axis=1)
    curves = sg.IncidenceCurves(GRID, values, causes=NAMES)
    a = sg.log_likelihood(y, curves)
    b = sg.log_likelihood(y.any_cause(), curves.survival("nan"))
    assert a.value == pytest.approx(b.value, rel=1e-12)
    assert a.stderr == pytest.approx(b.stderr)


def test_likelihood_of_steps_flat_stretches_and_after_the_grid():
    y = sg.Outcomes([1.0, 3.0, 4.0], [1, 2, 0], causes=NAMES)
    values = [[[0.2, 0.4], [0.1, 0.2]], [[0.2, 0.4], [0.2, 0.2]], [[0.2, 0.4], [0.1, 0.2]]]
    flat = sg.log_likelihood(y, sg.IncidenceCurves([2.0, 4.0], values, causes=NAMES))
    assert flat.value == -np.inf
    assert flat.support["infinite_losses"] == 1
    steps = sg.log_likelihood(
        y, sg.IncidenceCurves([2.0, 4.0], values, NAMES, interpolation="step")
    )
    assert np.isnan(steps.value)
    assert "no density" in steps.support["note"]
    with pytest.raises(sg.UndefinedMetricError, match="past their last grid time"):
        sg.log_likelihood(y, sg.IncidenceCurves([1.0, 3.0], values, causes=NAMES))


# -- time-dependent C ------------------------------------------------------------------------


def naive_td(y, curves, code, tau, weighted):
    g = sg.KaplanMeier.fit_censoring(y).at(y.time, "left") if weighted else np.ones(len(y))
    total, wins = 0.0, 0.0
    for i in range(len(y)):
        if y.cause[i] != code or not y.time[i] < tau:
            continue
        risk = curves.at(y.time[i], code)
        for j in range(len(y)):
            weight = 0.0
            if y.cause[j] not in (0, code) and y.time[j] <= y.time[i]:
                weight = 1 / (g[i] * g[j])
            elif y.time[j] > y.time[i] or (y.time[j] == y.time[i] and y.cause[j] == 0):
                weight = 1 / g[i] ** 2
            total += weight
            wins += weight * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
    return wins / total


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["antolini", "ipcw"])
def test_time_dependent_c_is_that_of_the_loop(seed, method):
    y, curves = draw(seed, ties=seed > 1)
    for code in (1, 2):
        found = sg.concordance_td(y, curves, method=method, tau=6.5, cause=code)
        wanted = naive_td(y, curves, code, 6.5, method == "ipcw")
        assert found.value == pytest.approx(wanted, rel=1e-12)
        assert found.convention["cause"] == NAMES[code - 1]
        assert found.contributions.sum() == pytest.approx(0.0, abs=1e-12)
        name = NAMES[code - 1]
        assert sg.concordance_td(y, curves, method=method, tau=6.5, cause=name) == found.value


@pytest.mark.parametrize("method", ["antolini", "ipcw"])
def test_time_dependent_c_of_proportional_incidence_is_the_c_of_the_risk(method):
    y, _ = draw(7)
    risk = np.random.default_rng(7).uniform(0.1, 0.9, len(y))
    rise = risk[:, None] * (GRID / 9)
    curves = sg.IncidenceCurves(GRID, np.stack([rise, (1 - risk)[:, None] * GRID / 9], axis=1),
                                causes=NAMES)  # fmt: skip
    a = sg.concordance_td(y, curves, method=method, cause=1)
    usual = "harrell" if method == "antolini" else "uno"
    b = sg.concordance_index(y, risk, method=usual, cause=1)
    assert a.value == pytest.approx(b.value, rel=1e-12)
    assert a.stderr == pytest.approx(b.stderr, rel=1e-9)


@pytest.mark.parametrize("method", ["antolini", "ipcw"])
def test_time_dependent_c_without_competing_events_is_the_usual_one(method):
    y, curves = draw(1)
    y = sg.Outcomes(y.time, y.event, causes=NAMES)  # nobody died
    a = sg.concordance_td(y, curves, method=method, cause=1)
    b = sg.concordance_td(y.any_cause(), curves.cause(1), method=method)
    assert a.value == pytest.approx(b.value)
    assert a.stderr == pytest.approx(b.stderr)


# -- doors -----------------------------------------------------------------------------------


def test_refusals():
    y, curves = draw()
    score = sg.multi_cause_score
    with pytest.raises(sg.InputError, match="y_true must have several causes"):
        score(y.any_cause(), curves, TIMES)
    with pytest.raises(sg.InputError, match="incidence must be IncidenceCurves of all causes"):
        score(y, curves.survival(), TIMES)
    with pytest.raises(sg.InputError, match="one row per subject"):
        score(y, curves[:5], TIMES)
    with pytest.raises(sg.InputError, match="incidence must have the causes of y_true"):
        score(y, sg.IncidenceCurves(GRID, curves.values, ["a", "b"]), TIMES)
    with pytest.raises(sg.InputError, match="loss must be one of"):
        score(y, curves, TIMES, loss="brier")
    with pytest.raises(sg.InputError, match="y_train must have the causes"):
        score(y, curves, TIMES, y_train=sg.Outcomes([1, 2], [1, 0], causes=["a", "b"]))
    with pytest.raises(sg.InputError, match="clip must lie in"):
        score(y, curves, TIMES, clip=0.7)
    with pytest.raises(sg.InputError, match="method='antolini' or 'ipcw'"):
        sg.concordance_td(y, curves, cause=1, ties="all")
    short = sg.IncidenceCurves(GRID[:2], curves.values[..., :2], causes=NAMES)
    with pytest.raises(sg.UndefinedMetricError, match="predict on a longer grid"):
        sg.concordance_td(y, short, cause=1)
