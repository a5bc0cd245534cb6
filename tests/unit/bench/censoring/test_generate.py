"""Semi-synthetic censoring: the seven distributions, what is kept, what stays hidden."""

from __future__ import annotations

import gc
import pickle
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from survgauge import InputError, KaplanMeier, Outcomes
from survgauge.bench.censoring import KINDS, PARAMETRIC, semisynthetic
from survgauge.bench.censoring.kinds import DISTRIBUTIONS, BaseData, design_matrix
from survgauge.estimators.copulas import parameter, second_given_first, survival_ranks
from survgauge.estimators.cox import CoxModel
from survgauge.metrics.group_tests import log_rank_test


def make(n=300, seed=0, whole=True):
    """A dataset with two features, of which the second drives censoring."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    event, censor = rng.exponential(60, n), rng.exponential(80 * np.exp(-X[:, 1]), n)
    time = np.minimum(event, censor)
    return X, Outcomes(np.ceil(time) if whole else time, event <= censor)


def draw(kind, X, y, seed=0, **options):
    external = ([0, 3, 5, 5, 20], [0, 1, 0, 1, 1]) if kind == "external" else None
    return semisynthetic(X, y, kind, seed, external, **options)


# -- the distributions
# ------------------------------------------------------------------------------


def distribution(kind, X, y, external=None):
    return DISTRIBUTIONS[kind](BaseData(X, y, np.flatnonzero(y.event), external))


def test_parametric_quantiles():
    X, y = make()
    t = y.time[y.event]
    u = np.linspace(0, 0.999, 50)
    assert distribution("uniform", X, y).quantile(u) == pytest.approx(u * t.max())
    admin = distribution("uniform_admin", X, y).quantile(u)
    assert admin == pytest.approx([min(v * t.max(), np.median(t)) for v in u])
    assert distribution("exponential", X, y).quantile(u) == pytest.approx(-t.std() * np.log(1 - u))


def test_original_independent_quantile_inverts_g():
    X, y = make(60)
    g = KaplanMeier.fit_censoring(y)
    u = np.random.default_rng(1).random(500)
    found = distribution("original_independent", X, y).quantile(u)
    for v, c in zip(u, found, strict=True):
        later = [t for t, s in zip(g.times, g.survival, strict=True) if 1 - s > v]
        assert c == (later[0] if later else np.inf)
    # All jumps of G are hit, and nothing else.
    jumps = y.time[~y.event]
    assert set(found[np.isfinite(found)]) <= set(jumps)


def test_weight_at_the_end_of_g_never_censors():
    # G is 1/2 from time 1 on and stays there.
    y = Outcomes([1, 2, 3], [0, 1, 1])
    found = distribution("original_independent", None, Outcomes([1, 1, 2, 3], [0, 0, 1, 1]))
    assert found.quantile(np.array([0.0, 0.49, 0.51, 0.999])).tolist() == [1, 1, np.inf, np.inf]
    ss = semisynthetic(None, y, "original_independent", 5)
    assert set(ss.censoring_time) <= {1.0, np.inf}


def test_original_dependent_quantile_inverts_each_subjects_own_curve():
    from survgauge.estimators.cox import CoxModel

    X, y = make(80)
    model = CoxModel.fit_censoring(X, y)
    mine = X[y.event]
    u = np.random.default_rng(2).random(len(mine))
    found = distribution("original_dependent", X, y).quantile(u)
    survival = model.survival(mine)
    for i, c in enumerate(found):
        later = model.times[1 - survival[i] > u[i]]
        assert c == (later[0] if later.size else np.inf)


def test_external_is_stretched_to_the_largest_event_time():
    y = Outcomes([10, 40, 50], [1, 1, 0])
    external = Outcomes([0, 1, 2, 4], [0, 1, 0, 1])
    found = distribution("external", None, y, external)
    # G of the external data: 3/4 at 0, 3/8 at 2, and 3/8 at its last time 4, which becomes 40.
    u = np.array([0.0, 0.24, 0.26, 0.6, 0.63, 0.9])
    assert found.quantile(u).tolist() == [0, 0, 20, 20, np.inf, np.inf]
    assert found.parameters == {"stretch": 10.0, "mass_past_end": 0.375}


# -- what comes out ------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_censored_if_and_only_if_drawn_before_the_event(kind, whole):
    X, y = make(whole=whole)
    ss = draw(kind, X, y)
    t, c = ss.true_time, ss.censoring_time
    assert ss.y.event.tolist() == (~(c < t)).tolist()
    assert ss.y.time.tolist() == np.minimum(c, t).tolist()
    assert 0 < ss.censoring_rate < 1
    assert ss.censoring_rate == pytest.approx(np.mean(~ss.y.event))
    assert (ss.y.time > 0).all()
    assert ss.dropped + len(ss) == y.event.sum()
    assert y.event[ss.rows].all()
    assert y.time[ss.rows].tolist() == t.tolist()
    assert X[ss.rows].tolist() == ss.X.tolist()
    if whole:
        assert (ss.y.time == np.round(ss.y.time)).all()
        assert (c[np.isfinite(c)] == np.round(c[np.isfinite(c)])).all()


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=3, max_size=15),
    st.sampled_from(KINDS),
    st.integers(0, 50),
)
def test_any_small_data_set_gives_valid_data_or_says_why_not(rows, kind, seed):
    y = Outcomes([t for t, _ in rows], [e for _, e in rows])
    X = np.arange(2 * len(rows)).reshape(-1, 2) % 3
    events = y.time[y.event]
    original = kind.startswith("original")
    exponential = kind in ("exponential", "feature_dependent")
    varied = np.unique(events).size > 1
    same = any(np.array_equal(column, events) for column in X[y.event].T)
    refusals = {
        "y must have events": events.size == 0,
        "equals the event times": varied and same,
        "after time 0": events.max(initial=0) == 0 and not exponential and not original,
        "are at": exponential and not varied,
        "no censored subject": original and y.event.all(),
    }
    expected = [message for message, holds in refusals.items() if holds]
    refusal, ss = "", None
    try:
        ss = draw(kind, X, y, seed)
    except InputError as error:
        refusal = str(error)
    if ss is None:
        chance = ["no subject is left"]  # by the draw, or by features that say nothing
        if kind == "feature_dependent":
            chance.append("the same risk")
        assert any(message in refusal for message in [*expected, *chance])
        return
    assert not expected
    assert len(ss) + ss.dropped == y.event.sum()
    assert (ss.y.time <= ss.true_time).all()
    assert ss.y.event.tolist() == (ss.y.time == ss.true_time).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_rounding_down_changes_nobodys_status(kind):
    X, y = make()
    exact = draw(kind, X, y, whole_units=False)
    rounded = draw(kind, X, y)
    both, at_exact, at_rounded = np.intersect1d(exact.rows, rounded.rows, return_indices=True)
    assert both.size == len(rounded)
    assert exact.y.event[at_exact].tolist() == rounded.y.event[at_rounded].tolist()
    drawn = np.floor(exact.censoring_time[at_exact])
    assert drawn.tolist() == rounded.censoring_time[at_rounded].tolist()
    # Who is missing was censored during the first unit.
    missing = np.setdiff1d(np.arange(len(exact)), at_exact)
    assert (exact.censoring_time[missing] < 1).all()
    assert not exact.y.event[missing].any()


def test_censored_at_zero_is_dropped_and_counted_but_an_event_at_zero_stays():
    y = Outcomes([0, 5, 5, 5, 7], [1, 1, 1, 1, 0])
    ss = semisynthetic(None, y, lambda X, time, rng: np.array([0.0, 0.4, 2.9, 5.0]))
    assert ss.dropped == 1
    assert ss.rows.tolist() == [0, 2, 3]
    assert ss.y.time.tolist() == [0, 2, 5]
    assert ss.y.event.tolist() == [True, False, True]


def test_everybody_dropped_is_an_error():
    with pytest.raises(InputError, match="all 2 events at time 0"):
        semisynthetic(None, ([3, 5], [1, 1]), lambda X, time, rng: [0.2, 0.3])


def test_known_draw():
    # Written down once: a change here changes everybody's published datasets.
    ss = semisynthetic(None, ([20, 40, 60, 80, 90], [1, 1, 1, 1, 0]), "exponential", 3)
    assert ss.censoring_time.tolist() == [1.0, 25.0, 63.0, 14.0]


# -- repeatable, independent, hidden -------------------------------------------------------


def test_same_seed_same_data_in_any_order_of_calls():
    X, y = make()
    first = {kind: draw(kind, X, y, 4).censoring_time for kind in KINDS}
    np.random.default_rng(4).random(10)
    for kind in reversed(KINDS):
        assert draw(kind, X, y, 4).censoring_time.tolist() == first[kind].tolist()
        assert draw(kind, X, y, 5).censoring_time.tolist() != first[kind].tolist()


def test_kinds_do_not_share_their_numbers():
    X, y = make(2000, whole=False)
    ranks = [draw(kind, X, y, whole_units=False) for kind in ("uniform", "exponential")]
    both = np.intersect1d(ranks[0].rows, ranks[1].rows)
    a, b = (s.censoring_time[np.searchsorted(s.rows, both)] for s in ranks)
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.1


def test_a_drawn_seed_is_recorded_and_repeats_the_data():
    X, y = make()
    ss = semisynthetic(X, y, random_state=None)
    again = semisynthetic(X, y, random_state=ss.random_state)
    assert again.censoring_time.tolist() == ss.censoring_time.tolist()
    assert semisynthetic(X, y, random_state=None).random_state != ss.random_state


def reachable(*roots):
    """Everything that can be reached from some objects, without modules, classes and code."""
    skip = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    seen, queue = {}, list(roots)
    while queue:
        item = queue.pop()
        if id(item) in seen or isinstance(item, skip):
            continue
        seen[id(item)] = item
        queue.extend(gc.get_referents(item))
        if isinstance(item, np.ndarray) and item.base is not None:
            queue.append(item.base)
    return seen.values()


@pytest.mark.parametrize("frame", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_not_reachable_from_what_a_model_gets(kind, frame):
    X, y = make(whole=False)
    if frame:
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame(X, columns=["a", "b"])
        X.attrs["truth"] = y.time
    ss = draw(kind, X, y)
    hidden = ss.true_time[~ss.y.event]
    assert hidden.size > 3
    for item in reachable(ss.X, ss.y):
        if isinstance(item, np.ndarray) and item.dtype == np.float64:
            assert not np.isin(hidden, item).any()
    # The same through serialisation, as when a model is trained in another process.
    sent = pickle.dumps((ss.X, ss.y))
    assert not any(value.tobytes() in sent for value in hidden)
    # The search would find it: it is reachable from the record.
    arrays = [a for a in reachable(ss) if isinstance(a, np.ndarray) and a.dtype == np.float64]
    assert any(np.isin(hidden, array).all() for array in arrays)


def test_a_column_with_the_event_times_is_refused():
    pd = pytest.importorskip("pandas")
    X, y = make()
    frame = pd.DataFrame({"a": X[:, 0], "days": np.where(y.event, y.time, np.nan)})
    with pytest.raises(InputError, match="column 'days' equals the event times"):
        semisynthetic(frame, y)
    with pytest.raises(InputError, match="the index equals the event times"):
        semisynthetic(pd.DataFrame({"a": X[:, 0]}, index=y.time), y)
    with pytest.raises(InputError, match="column '1' equals"):
        semisynthetic(np.column_stack([X[:, 0], y.time]), y)


def test_the_record_cannot_be_written_to():
    X, y = make()
    ss = semisynthetic(X, y)
    for array in (ss.true_time, ss.censoring_time, ss.rows, ss.y.time):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        ss.dropped = 3
    ss.X[0, 0] = 99  # a copy: what came in stays as it was
    assert X.max() < 99


# -- target rate, functions, dependence ----------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.85])
@pytest.mark.parametrize("kind", PARAMETRIC)
def test_target_rate(kind, rate, whole):
    X, y = make(4000, whole=whole)
    rates = [draw(kind, X, y, s, rate=rate).censoring_rate for s in range(4)]
    n = 4 * y.event.sum()
    # Four standard errors and, for ties at the administrative end, one whole unit of time.
    ties = 0.01 if whole and kind == "uniform_admin" else 0.0
    assert np.mean(rates) == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / n) + ties)


def test_target_rate_counts_after_dropping():
    # Short times in whole units: a good part is censored during the first unit and dropped.
    y = Outcomes(np.tile([1, 2, 3, 4, 5], 2000), np.ones(10_000))
    ss = semisynthetic(None, y, "exponential", rate=0.5)
    assert ss.dropped > 1000
    assert ss.censoring_rate == pytest.approx(0.5, abs=0.025)
    assert ss.parameters["rate"] == 0.5


def test_target_rate_holds_under_dependence():
    X, y = make(4000, whole=False)
    for copula, tau in (("clayton", 0.6), ("gaussian", -0.5), ("frank", 0.4)):
        ss = draw("exponential", X, y, rate=0.4, kendall_tau=tau, copula=copula)
        assert ss.censoring_rate == pytest.approx(0.4, abs=0.035)


def test_the_factor_does_not_depend_on_the_draw():
    X, y = make()
    factors = {draw("uniform", X, y, s, rate=0.3).parameters["factor"] for s in range(3)}
    assert len(factors) == 1
    factor = factors.pop()
    # U[0, a]: the expected rate is the mean of min(t / a, 1).
    a, t = factor * y.time[y.event].max(), y.time[y.event]
    dropped = 1 / a
    assert (np.minimum(t / a, 1).mean() - dropped) / (1 - dropped) == pytest.approx(0.3, abs=1e-3)


def test_unreachable_rate_says_so():
    y = Outcomes([1, 1, 1, 2], [1, 1, 1, 1])
    with pytest.raises(InputError, match=r"rate 0\.9 cannot be reached"):
        semisynthetic(None, y, "uniform", rate=0.9)


def test_a_function_gets_the_events_and_its_own_stream():
    X, y = make()
    seen = []

    def weekly(features, time, generator):
        seen.append((features, time))
        time[:] = 1e9  # a copy: the truth stays
        return 7.0 * generator.integers(1, 20, len(features))

    ss = semisynthetic(X, y, weekly, 11)
    assert ss.censoring == "weekly"
    assert seen[0][0].tolist() == X[y.event].tolist()
    assert (
        ss.true_time.tolist() == y.time[y.event][np.isin(np.flatnonzero(y.event), ss.rows)].tolist()
    )
    assert (ss.y.time[~ss.y.event] % 7 == 0).all()
    assert semisynthetic(X, y, weekly, 11).y.time.tolist() == ss.y.time.tolist()


@pytest.mark.parametrize(
    ("answer", "message"),
    [([1.0], "one entry per subject"), ([np.nan] * 3, "not NaN"), ([-1.0] * 3, "not negative")],
)
def test_wrong_answers_of_a_function_are_named(answer, message):
    with pytest.raises(InputError, match=message):
        semisynthetic(None, ([1, 2, 3], [1, 1, 1]), lambda *_: answer)


@pytest.mark.parametrize(
    ("copula", "tau"),
    [
        ("clayton", 0.3),
        ("clayton", 0.99),
        ("frank", 5e-5),
        ("frank", 0.5),
        ("frank", -0.6),
        ("frank", 0.99),
        ("gumbel", 1e-6),
        ("gumbel", 0.3),
        ("gumbel", 0.99),
        ("gaussian", 0.5),
        ("gaussian", -0.3),
    ],
)
def test_copulas_have_uniform_margins_and_the_tau_asked_for(copula, tau):
    from scipy.stats import kendalltau, kstest

    rng = np.random.default_rng(0)
    first, uniform = rng.random(4000), rng.random(4000)
    second = second_given_first(copula, parameter(copula, tau), first, uniform)
    assert kendalltau(first, second).statistic == pytest.approx(tau, abs=0.035)
    assert kstest(second, "uniform").pvalue > 0.001


@pytest.mark.parametrize("copula", ["clayton", "frank", "gumbel", "gaussian"])
def test_copula_inverts_its_conditional_distribution(copula):
    theta = parameter(copula, 0.4)

    def joint(u, v):
        if copula == "clayton":
            return (u**-theta + v**-theta - 1) ** (-1 / theta)
        if copula == "frank":
            return -np.log1p(np.expm1(-theta * u) * np.expm1(-theta * v) / np.expm1(-theta)) / theta
        if copula == "gumbel":
            return np.exp(-(((-np.log(u)) ** theta + (-np.log(v)) ** theta) ** (1 / theta)))
        from scipy.stats import multivariate_normal, norm

        return multivariate_normal([0, 0], [[1, theta], [theta, 1]]).cdf([norm.ppf(u), norm.ppf(v)])

    for u in (0.1, 0.5, 0.9):
        for p in (0.2, 0.7):
            v = float(second_given_first(copula, theta, np.array([u]), np.array([p]))[0])
            slope = (joint(u + 1e-3, v) - joint(u - 1e-3, v)) / 2e-3
            assert slope == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize(
    ("copula", "tau"), [("clayton", 0.5), ("gaussian", -0.4), ("frank", 0.7), ("gumbel", 0.4)]
)
@pytest.mark.parametrize("kind", ["uniform", "exponential"])
def test_dependent_censoring_has_the_tau_asked_for(kind, copula, tau):
    from scipy.stats import kendalltau, kstest

    X, y = make(5000, whole=False)
    ss = draw(kind, X, y, kendall_tau=tau, copula=copula)
    assert kendalltau(ss.true_time, ss.censoring_time).statistic == pytest.approx(tau, abs=0.04)
    assert ss.parameters["copula"] == copula
    # The distribution of the censoring time itself stays what its name says.
    t = y.time[y.event]
    distribution = {"uniform": ("uniform", (0, t.max())), "exponential": ("expon", (0, t.std()))}[
        kind
    ]
    assert kstest(ss.censoring_time, distribution[0], distribution[1]).pvalue > 0.001


def test_ties_take_random_places():
    ranks = survival_ranks(np.array([1.0, 1.0, 1.0, 0.0]), np.array([0.3, 0.1, 0.2, 0.9]))
    assert ranks.tolist() == [0.125, 0.625, 0.375, 0.875]


# -- comparison ----------------------------------------------------------------------------


def test_comparison():
    X, y = make()
    ss = draw("uniform", X, y)
    compared = ss.comparison
    test = log_rank_test(y, ss.y)
    assert (compared.statistic, compared.p_value) == (test.statistic, test.p_value)
    assert compared.curves["D'"].at(50) == pytest.approx(np.mean(y.time[y.event] > 50))
    grid = np.arange(0, min(y.time.max(), ss.y.time.max()) + 1)
    a, b, truth = KaplanMeier.fit(y), KaplanMeier.fit(ss.y), KaplanMeier.fit(y[y.event])
    assert compared.distance == pytest.approx(np.abs(a.at(grid) - b.at(grid)).max())
    assert compared.distance_from_truth == pytest.approx(np.abs(truth.at(grid) - b.at(grid)).max())
    assert 0 < compared.distance_from_truth < 0.2


# -- features ------------------------------------------------------------------------------


def test_design_matrix_of_a_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "age": [50.0, np.nan, 70.0, 80.0],
            "count": pd.array([1, None, 3, 9], dtype="Int64"),
            "sick": [True, False, True, True],
            "race": ["b", None, "a", "b"],
        }
    )
    matrix, names = design_matrix(frame, fill={"age": 65.0})
    expected = {
        "age": [50, 65, 70, 80],
        "count": [1, 3, 3, 9],
        "sick": [1, 0, 1, 1],
        "race_b": [1, 1, 0, 1],
    }
    assert dict(zip(names, matrix.T.tolist(), strict=True)) == expected
    with pytest.raises(InputError, match="column 'barcode' of X has 60 different texts"):
        design_matrix(pd.DataFrame({"barcode": [f"id{i}" for i in range(60)]}))


def test_design_matrix_of_arrays():
    assert design_matrix(np.array([[1, 2], [3, 4]]))[0].tolist() == [[1, 2], [3, 4]]
    assert design_matrix(np.empty((3, 0)))[0].shape == (3, 0)
    for wrong in (np.inf, np.nan):
        with pytest.raises(InputError, match="infinite: column 2 "):
            design_matrix(np.array([[0.0, wrong], [1.0, wrong]]))
    with pytest.raises(InputError, match="numbers"):
        design_matrix(np.array([["u"], ["v"]]))


def test_official_fills_reach_the_cox_model():
    pd = pytest.importorskip("pandas")
    X, y = make()
    frame = pd.DataFrame({"a": np.where(X[:, 0] > 1, np.nan, X[:, 0]), "b": X[:, 1]})
    by_median = semisynthetic(frame, y, "original_dependent")
    by_hand = semisynthetic(frame.fillna(3.0), y, "original_dependent")
    official = semisynthetic(frame, y, "original_dependent", fill={"a": 3.0})
    assert official.parameters["coefficients"] == by_hand.parameters["coefficients"]
    assert official.parameters["coefficients"] != by_median.parameters["coefficients"]
    assert official.X["a"].isna().any()


def test_frames_keep_their_type_and_raw_columns():
    pd = pytest.importorskip("pandas")
    X, y = make()
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"p{i}" for i in range(len(X))])
    frame["site"] = np.where(X[:, 0] > 0, "x", None)
    frame["seen"] = pd.Timestamp("2020-01-01")
    ss = semisynthetic(frame, y)
    assert ss.X.equals(frame.iloc[ss.rows])
    with pytest.raises(InputError, match="'seen'"):
        semisynthetic(frame, y, "original_dependent")
    ss = semisynthetic(frame.drop(columns="seen"), y, "original_dependent")
    # All of site's known values are "x": no level is left to tell apart.
    assert list(ss.parameters["coefficients"]) == ["a", "b"]
    assert ss.X["site"].isna().any()


def test_polars_frames_are_read():
    pl = pytest.importorskip("polars")
    X, y = make()
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    ss = semisynthetic(frame, y, "original_dependent")
    plain = semisynthetic(X, y, "original_dependent")
    assert ss.y.time.tolist() == plain.y.time.tolist()
    assert ss.X["a"].to_list() == plain.X[:, 0].tolist()


# -- refusals ------------------------------------------------------------------------------

Y = Outcomes([1, 2, 3], [1, 1, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: semisynthetic(None, Y, "unifrom"), "censoring must be one of 'uniform'"),
        (lambda: semisynthetic(None, Y, "external"), r"external=\(time, event\)"),
        (lambda: semisynthetic(None, Y, "uniform", external=Y), "external is read by"),
        (lambda: semisynthetic(None, Y, "original_dependent"), "X is None"),
        (lambda: semisynthetic(np.ones((2, 1)), Y), "y has 3, X has 2"),
        (lambda: semisynthetic(np.ones(3), Y), r"got shape \(3,\)"),
        (lambda: semisynthetic(None, ([1, 2], [0, 0])), "y must have events"),
        (lambda: semisynthetic(None, Outcomes([1], [1], [2])), "must not have weights"),
        (lambda: semisynthetic(None, ([0, 0], [1, 1])), "after time 0"),
        (lambda: semisynthetic(None, ([2, 2], [1, 1]), "exponential"), "are at 2"),
        (lambda: semisynthetic(None, ([2, 3], [1, 1]), "original_independent"), "no censored"),
        (lambda: semisynthetic(None, Y, "external", external=([1], [1])), "external, which has no"),
        (lambda: semisynthetic(None, Y, "external", external=([0], [0])), "times past 0"),
        (lambda: semisynthetic(None, Y, "original_independent", rate=0.5), "parametric kinds"),
        (lambda: semisynthetic(None, Y, rate=1.0), "rate must lie strictly between"),
        (lambda: semisynthetic(None, Y, lambda *_: [1, 1], rate=0.5), "has to see to them"),
        (lambda: semisynthetic(None, Y, kendall_tau=1.0), "kendall_tau must lie"),
        (lambda: semisynthetic(None, Y, kendall_tau=-0.5), "'clayton' has positive"),
        (lambda: semisynthetic(None, Y, kendall_tau=0.5, copula="joe"), "copula must be one of"),
        (lambda: semisynthetic(None, ([1.5, 2], [1, 1]), whole_units=True), "some are fractions"),
        (lambda: semisynthetic(None, Y, random_state=-1), "random_state must be"),
    ],
)
def test_refusals_name_the_argument(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_feature_dependent_censors_those_at_higher_risk_earlier():
    X, y = make()
    base = BaseData(X, y, np.flatnonzero(y.event))
    distribution_ = DISTRIBUTIONS["feature_dependent"](base)
    risk = CoxModel.fit(X, y).log_risk(X)[base.rows]
    u = np.full(base.rows.size, 1 - np.exp(-1.0))  # the quantile at which t is the scale itself
    scale = y.time[base.rows].std()
    np.testing.assert_allclose(
        distribution_.quantile(u), scale * np.exp(-(risk - risk.mean()) / risk.std()), rtol=1e-12
    )
    spread = distribution_.quantile(np.repeat(u[:, None], 3, axis=1))
    np.testing.assert_array_equal(spread, np.repeat(distribution_.quantile(u)[:, None], 3, axis=1))
    assert semisynthetic(X, y, "feature_dependent", rate=0.5).censoring_rate == pytest.approx(
        0.5, abs=0.15
    )


def test_feature_dependent_needs_features_that_tell():
    X, y = make()
    with pytest.raises(InputError, match="X is None"):
        semisynthetic(None, y, "feature_dependent")
    with pytest.raises(InputError, match="the same risk"):
        semisynthetic(np.zeros_like(X), y, "feature_dependent")


def test_many_levels_are_no_identifier_where_each_has_many_rows():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 2000
    frame = pd.DataFrame({"centre": [f"c{k}" for k in rng.integers(0, 67, n)]})
    y = (rng.exponential(size=n), rng.random(n) < 0.6)
    assert len(semisynthetic(frame, y, "original_dependent")) > 0
    with pytest.raises(InputError, match="67 different texts in 300 rows"):
        semisynthetic(frame[:300], (y[0][:300], y[1][:300]), "original_dependent")
