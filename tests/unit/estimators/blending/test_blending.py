"""Distributions given features: mixtures by held-out likelihood, cross-fitted where asked."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.outcomes import Outcomes
from survgauge.estimators.blending.call import POINTS, REACH, continued, late_shape
from survgauge.estimators.blending.members import (
    MEMBERS,
    Blend,
    Grid,
    LearningTask,
    likelihoods,
    mixture_weights,
)

BASE = ["km", "cox"]


def drawn(n=300, seed=0, dependent=0.0):
    """Features of which the first decides about events, and the second may about censoring."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    time = rng.exponential(np.exp(X[:, 0]))
    end = rng.exponential(2.0 * np.exp(dependent * X[:, 1]))
    return X, Outcomes(np.minimum(time, end), time <= end)


# -- the grid --------------------------------------------------------------------------------


def test_few_event_times_are_all_in_the_grid():
    grid = Grid.of(Outcomes([5, 1, 3, 3, 9], [1, 1, 1, 0, 0]))
    assert grid.edges.tolist() == [1, 3, 5, 9]
    assert grid.jumps.tolist() == [1, 3, 5, 9]


def test_spans_hold_equally_many_events_and_keep_the_mean():
    _, y = drawn(2000)
    grid = Grid.of(y)
    events = np.sort(y.time[y.event])
    assert grid.edges.size in (100, 101)
    inside = np.bincount(grid.edges.searchsorted(events))
    assert np.ptp(inside[:100]) <= 1
    assert np.average(grid.jumps[: inside.size], weights=inside) == pytest.approx(events.mean())
    assert (np.diff(grid.jumps) > 0).all()


def test_without_events_the_grid_is_the_end_of_follow_up():
    assert Grid.of(Outcomes([2, 7], [0, 0])).edges.tolist() == [7]


def test_rounding_keeps_events_in_their_span():
    _, y = drawn(2000)
    grid = Grid.of(y)
    rounded = grid.rounded(y)
    before, after = (grid.edges.searchsorted(times[y.event]) for times in (y.time, rounded.time))
    assert (after == before).all()
    assert np.isin(rounded.time, grid.edges).all()


# -- past the end of follow-up -------------------------------------------------------------------


def test_past_the_follow_up_is_the_mean_of_a_line_and_a_weibull():
    times, survival = np.array([1.0, 2.0, 4.0]), np.array([[0.9, 0.8, 0.5], [1.0, 1.0, 1.0]])
    shape = 1.6
    grid, values = continued(times, survival, shape)
    assert (values[:, :3] == survival).all()
    for k in range(POINTS):
        edge, before = (4.0 * REACH ** (j / POINTS) for j in (k + 1, k))
        line = max(0.0, 1 - edge / 4 * 0.5)
        weibull = 0.5 ** ((edge / 4) ** shape)
        assert grid[3 + k] == pytest.approx((edge + before) / 2)
        assert values[0, 3 + k] == pytest.approx((line + weibull) / 2, abs=1e-12)
    assert (values[1] == 1).all()  # nothing speaks for an end


@pytest.mark.parametrize("survival", [[[0.5, 0.0]], [[1.0, 0.5]], [[0.5, 0.5]], [[0.0, 0.0]]])
def test_curves_of_any_end_go_on(survival):
    grid, values = continued(np.array([3.0, 4.0]), np.array(survival), 0.8)
    curves = sg.SurvivalCurves(grid, values, "step")
    assert (np.diff(curves.survival, axis=1) <= 0).all()
    assert curves.at(4.0) == pytest.approx(survival[0][-1])


@pytest.mark.parametrize(
    ("event", "shape"),
    [
        ([0, 1, 0, 1], np.log2(np.log(3 / 4 * 1e-12) / np.log(3 / 4))),
        ([0, 0, 0, 1], 1.0),  # no event in the first half
        ([1, 1, 0, 0], 1.0),  # none in the second
    ],
)
def test_the_shape_is_that_of_the_second_half(event, shape):
    km = sg.KaplanMeier.fit(([1, 2, 3, 4], event))
    assert late_shape(km, 4.0) == pytest.approx(np.clip(shape, 0.7, 3.0))
    weibull = np.random.default_rng(0).weibull(1.5, 20_000)
    y = np.minimum(weibull, 1.0), weibull < 1.0
    assert late_shape(sg.KaplanMeier.fit(y), 1.0) == pytest.approx(1.5, abs=0.05)


def test_other_tails_are_those_of_curves():
    X, y = drawn(60)
    cond = sg.conditional(X, y, X[:5], members=BASE, tail="exponential")
    assert cond.distribution.tail == "exponential"
    assert cond.distribution.times[-1] == y.time.max() == cond.how["follow_up"]
    mixed = sg.conditional(X, y, X[:5], members=BASE).distribution
    inside = np.linspace(0, y.time.max(), 50)
    assert (mixed.at(inside) == cond.distribution.at(inside)).all()


# -- weights ---------------------------------------------------------------------------------


def likelihood_by_hand(edges, survival, y, bins=20):
    """The likelihood subject by subject."""
    m = len(edges)
    cuts = sorted({round(k * m / min(bins, m)) - 1 for k in range(1, min(bins, m) + 1)})
    found = []
    for i in range(len(y)):
        if y.event[i]:
            k = next((k for k, cut in enumerate(cuts) if y.time[i] <= edges[cut]), len(cuts) - 1)
            before = survival[i, cuts[k - 1]] if k else 1.0
            value = before - survival[i, cuts[k]]
        else:
            passed = [s for s, edge in zip(survival[i], edges, strict=True) if edge <= y.time[i]]
            value = passed[-1] if passed else 1.0
        found.append(max(value, 1e-5))
    return np.array(found)


@pytest.mark.parametrize("n", [10, 700])
def test_likelihoods_agree_with_a_loop(n):
    _, y = drawn(n, seed=3)
    grid = Grid.of(y)
    survival = np.sort(np.random.default_rng(1).random((n, grid.edges.size)))[:, ::-1]
    by_hand = likelihood_by_hand(grid.edges, survival, y)
    assert likelihoods(grid, survival, y) == pytest.approx(by_hand, abs=1e-15)


def test_members_weigh_by_the_likelihood_of_all_outcomes():
    rng = np.random.default_rng(0)
    likelihood = rng.uniform(0.5, 0.6, (40, 3))
    frequency = rng.integers(0, 3, 40).astype(float)
    product = np.prod(likelihood ** frequency[:, None], axis=0)
    weights = mixture_weights(likelihood, frequency)
    assert weights == pytest.approx(product / product.sum(), rel=1e-12)
    repeated = np.repeat(likelihood, frequency.astype(int), axis=0)
    assert mixture_weights(repeated, np.ones(len(repeated))) == pytest.approx(weights)


def blended(X, y, members, grid=None):
    """Blend of subjects who are all wanted."""
    subjects = LearningTask(X, y, X, np.arange(len(y)), 0)
    return Blend.fit(subjects, Grid.of(y) if grid is None else grid, members)


def test_the_blend_is_not_worse_than_its_best_member_out_of_fold():
    X, y = drawn()
    blend = blended(X, y, list(MEMBERS.values()))
    assert blend.weights.sum() == pytest.approx(1)
    single = np.log(blend.likelihood).sum(axis=0)
    # A mixture with weights w has at least the likelihood of its best member, times its weight.
    best = single.argmax()
    mixed = np.log(blend.likelihood @ blend.weights).sum()
    assert mixed >= single[best] + len(y) * np.log(blend.weights[best]) - 1e-9
    assert blend.weights[best] == blend.weights.max() > 0.5


def test_the_blend_is_the_weighted_mean_of_its_members():
    X, y = drawn(120)
    blend = blended(X, y, [MEMBERS[name] for name in BASE])
    single = blend.members
    mixed = blend.weights[0] * single[0] + blend.weights[1] * single[1]
    assert blend.curves == pytest.approx(mixed)


def test_a_member_that_cannot_be_fitted_is_left_out():
    y = Outcomes([1, 2, 3, 4, 5, 6], [1, 0, 0, 0, 0, 0])  # a fold without any event
    cond = sg.conditional(np.arange(6.0)[:, None], y, [[1.0], [2.0]])
    assert "cox" in cond.how["left_out"]
    assert "could not be fitted" in cond.how["left_out"]["cox"]
    assert cond.how["weights"]["km"] > 0
    with pytest.raises(sg.InputError, match="members must include one that the data allow"):
        sg.conditional(np.arange(6.0)[:, None], y, [[1.0], [2.0]], members=["cox"])


# -- the call --------------------------------------------------------------------------------


def test_a_distribution_given_features_is_closer_to_the_truth_than_kaplan_meier():
    X, y = drawn(600, seed=5)
    X_test, _ = drawn(200, seed=6)
    distribution = sg.conditional(X, y, X_test).distribution
    truth = np.log(2) * np.exp(X_test[:, 0])
    same = sg.conditional(X, y, X_test, members=["km"]).distribution
    assert np.abs(distribution.median() - truth).mean() < 0.6 * np.abs(same.median() - truth).mean()


def test_the_account_tells_members_and_weights():
    X, y = drawn()
    cond = sg.conditional(X, y, X[:10], members=BASE)
    assert cond.how["members"] == BASE
    assert sum(cond.how["weights"].values()) == pytest.approx(1)
    assert cond.how["distribution"].startswith("blend of Kaplan-Meier")
    assert cond.how["fitted_on"] == "train"
    assert not cond.how["cross_fitted"]
    assert list(cond.members) == BASE
    assert cond.members["km"] == pytest.approx(np.full(10, cond.members["km"][0]))
    assert cond[2:5].members["cox"] == pytest.approx(cond.members["cox"][2:5])


def test_the_same_seed_gives_the_same_curves():
    X, y = drawn(150)
    first, again = (sg.conditional(X, y, X, random_state=3) for _ in range(2))
    assert (first.distribution.survival == again.distribution.survival).all()
    other = sg.conditional(X, y, X, random_state=4)
    assert not (first.distribution.survival == other.distribution.survival).all()


def test_frequencies_are_repeated_rows():
    X, y = drawn(120)
    weighted = Outcomes(y.time, y.event, np.arange(120) % 3)
    rows = np.repeat(np.arange(120), np.arange(120) % 3)
    a = sg.conditional(X, weighted, X[:5], members=["km"])
    b = sg.conditional(X[rows], y[rows], X[:5], members=["km"])
    assert a.distribution.survival == pytest.approx(b.distribution.survival)


def test_constant_features_leave_kaplan_meier():
    _, y = drawn(80)
    cond = sg.conditional(np.ones((80, 2)), y, np.ones((3, 2)))
    assert cond.how["members"] == ["km"]
    assert cond.how["distribution"] == "Kaplan-Meier"
    km = sg.KaplanMeier.fit(y)
    assert cond.distribution.at(y.time.max()) == pytest.approx(np.full(3, km.at(y.time.max())))


# -- censoring -------------------------------------------------------------------------------


def test_censoring_is_modelled_where_it_clearly_depends_on_features():
    X, y = drawn(500, dependent=1.0)
    cond = sg.conditional(X, y, X[:50], members=BASE)
    assert cond.censoring is not None
    assert cond.how["censoring_weights"]
    low, high = X[:50, 1] < -0.5, X[:50, 1] > 0.5
    assert cond.censoring.at(1.0)[high].mean() > cond.censoring.at(1.0)[low].mean() + 0.2
    assert sg.conditional(X, y, X[:9], members=BASE, censoring="km").censoring is None


def test_censoring_stays_kaplan_meier_where_nothing_speaks_against_it():
    X, y = drawn(500)
    cond = sg.conditional(X, y, X[:9], members=BASE)
    assert cond.censoring is None
    assert "no clear gain" in cond.how["censoring_reason"]
    assert sg.conditional(X, y, X[:9], members=BASE, censoring="model").censoring is not None


def test_few_censored_subjects_get_kaplan_meier():
    X, y = drawn(100)
    cond = sg.conditional(X, Outcomes(y.time, np.ones(100)), X[:9], members=BASE, censoring="model")
    assert cond.censoring is None
    assert "fewer than 20" in cond.how["censoring_reason"]


def test_events_leave_the_risk_set_before_censorings_at_the_same_time():
    rng = np.random.default_rng(0)
    y = Outcomes(rng.integers(1, 8, 300), rng.integers(0, 2, 300))
    cond = sg.conditional(np.ones((300, 1)), y, np.ones((2, 1)), censoring="model")
    g = sg.KaplanMeier.fit_censoring(y)
    times = np.arange(1, 7)
    assert cond.censoring.at(times)[0] == pytest.approx(g.at(times))


# -- cross-fitting ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(MEMBERS))
def test_a_subject_is_predicted_by_learners_that_did_not_see_its_outcome(name):
    X, y = drawn(60)
    grid, member = Grid.of(y), [MEMBERS[name]]
    before = blended(X, y, member, grid).members[0]
    changed = np.zeros(60, dtype=bool)
    for i in (0, 17, 59):
        time, event = y.time.copy(), y.event.copy()
        time[i], event[i] = np.median(y.time), not event[i]
        after = blended(X, Outcomes(time, event), member, grid).members[0]
        assert (before[i] == after[i]).all()
        changed |= (np.abs(before - after) > 1e-6).any(axis=1)
    assert changed.sum() > 10  # the outcomes do enter the curves of others


def test_subjects_beyond_the_largest_number_are_predicted_by_a_fit_to_the_others(monkeypatch):
    X, y = drawn(80)
    monkeypatch.setattr("survgauge.estimators.blending.call.MOST_ROWS", 50)
    cond = sg.conditional(None, None, X, y_test=y, members=BASE)
    assert len(cond) == 80
    assert np.isfinite(cond.distribution.survival).all()


@pytest.mark.parametrize(("events", "where"), [(100, "test"), (99, "both")])
def test_the_test_subjects_are_fitted_on_where_they_have_enough_events(events, where):
    X, y = drawn(200)
    event = np.arange(120) < events
    y_test = Outcomes(y.time[:120], event)
    given = X[120:], y[120:], X[:120]
    cond = sg.conditional(*given, y_test=y_test, members=["km"])
    assert cond.how["fitted_on"] == where
    assert cond.how["cross_fitted"]
    assert cond.how["subjects"] == (120 if where == "test" else 200)
    assert sg.conditional(*given, members=["km"]).how["fitted_on"] == "train"


def test_censoring_is_learnt_from_the_test_subjects():
    X, y = drawn(300)
    early = Outcomes(np.minimum(y.time, 0.4), y.event & (y.time <= 0.4))
    given = X[150:], y[150:], X[:150]
    found = {
        where: sg.conditional(
            *given, y_test=early[:150], fit_on=where, members=BASE, censoring="model"
        )
        for where in ("train", "test", "both")
    }
    for cond in found.values():
        assert cond.censoring.times[-1] == pytest.approx(0.4)
    assert found["train"].distribution.at(1.0).mean() < 1


def test_nonlinear_dependence_of_censoring_is_found():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3))
    time = rng.exponential(1.0, 500)
    end = rng.exponential(np.where(np.abs(X[:, 0]) > 0.8, 0.3, 3.0))
    y = Outcomes(np.minimum(time, end), time <= end)
    cond = sg.conditional(None, None, X, y_test=y, members=BASE)
    assert cond.how["censoring_weights"]["boosting"] > 0.9
    often = np.abs(X[:, 0]) > 0.8
    assert cond.censoring.at(0.5)[often].mean() < cond.censoring.at(0.5)[~often].mean() - 0.3


# -- several causes ----------------------------------------------------------------------------


def with_causes(n=300, seed=0):
    """Two causes; the first column decides about one of them, the second about the other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    times = rng.exponential(np.exp(-X)) * [1.0, 1.5]
    end = rng.exponential(2.0, n)
    first = times.min(axis=1)
    cause = np.where(first <= end, 1 + times.argmin(axis=1), 0)
    return X, Outcomes(np.minimum(first, end), cause, causes=["a", "b"])


def test_with_causes_the_incidence_of_every_cause_is_learnt():
    X, y = with_causes(600)
    cond = sg.conditional(None, None, X, y_test=y, members=BASE)
    assert cond.distribution is None
    assert cond.incidence.causes == ("a", "b")
    for k, cause in enumerate(("a", "b")):
        risk = cond.incidence.at(1.0, cause)
        assert risk[X[:, k] > 0.5].mean() > risk[X[:, k] < -0.5].mean() + 0.2
        observed = float(sg.AalenJohansen.fit(y).at(1.0, cause))
        assert risk.mean() == pytest.approx(observed, abs=0.03)


def test_without_features_the_incidence_is_aalen_johansen():
    _, y = with_causes(80)
    cond = sg.conditional(np.ones((80, 1)), y, np.ones((1, 1)))
    observed = sg.AalenJohansen.fit(y)
    times = np.quantile(y.time, [0.2, 0.5, 0.8])
    for cause in ("a", "b"):
        found = cond.incidence.at(times, cause)[0]
        assert found == pytest.approx(observed.at(times, cause), abs=0.02)


def test_delayed_entry_is_refused_by_name():
    X, y = drawn(40)
    late = Outcomes(y.time + 1.0, y.event, entry=np.full(40, 0.5))
    with pytest.raises(sg.InputError, match="y_train has delayed entry"):
        sg.conditional(X, late, X)


# -- frames, base install, errors ------------------------------------------------------------


def frames(n=80):
    pd = pytest.importorskip("pandas")
    X, y = drawn(n)
    frame = pd.DataFrame({"age": X[:, 0], "arm": np.where(X[:, 1] > 0, "a", "b"), "lab": X[:, 2]})
    frame.loc[::7, "age"] = np.nan
    frame.loc[::5, "arm"] = None
    return frame, y


def test_frames_with_gaps_and_text():
    pytest.importorskip("sklearn")
    frame, y = frames()
    cond = sg.conditional(frame, y, frame[["lab", "arm", "age"]].head(9), members=BASE)
    assert len(cond) == 9
    same = sg.conditional(frame, y, frame.head(9), members=BASE)
    assert (cond.distribution.survival == same.distribution.survival).all()
    unseen = frame.head(9).assign(arm="c", lab=np.nan)
    noted = sg.conditional(frame, y, unseen, members=BASE).how["notes"]
    assert any("'c'" in remark for remark in noted)


def test_an_empty_column_is_left_out():
    pytest.importorskip("sklearn")
    frame, y = frames()
    cond = sg.conditional(frame.assign(nothing=np.nan), y, frame.assign(nothing=1.0), members=BASE)
    assert "nothing" in cond.how["notes"][0]


def test_polars_frames_are_read():
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame, y = frames()
    cond = sg.conditional(pl.from_pandas(frame), y, pl.from_pandas(frame), members=BASE)
    assert (
        cond.distribution.survival
        == sg.conditional(frame, y, frame, members=BASE).distribution.survival
    ).all()


def test_the_base_install_has_kaplan_meier_and_cox(monkeypatch):
    monkeypatch.setattr("survgauge._tools.extras.find_spec", lambda name: None)
    X, y = drawn(80)
    cond = sg.conditional(X, y, X[:5])
    assert cond.how["members"] == BASE
    assert set(cond.how["left_out"]) == {"forest", "boosting"}
    assert "sksurv" in cond.how["left_out"]["forest"]
    with pytest.raises(sg.MissingExtraError, match=r"survgauge\[sklearn\]"):
        sg.conditional({"a": ["x", "y", "x"]}, ([1, 2, 3], [1, 1, 0]), {"a": ["x", "y"]})
    columns = dict(zip("abc", X.T, strict=True))
    named = sg.conditional(columns, y, columns)
    assert (named.distribution.survival == sg.conditional(X, y, X).distribution.survival).all()
    with pytest.raises(sg.InputError, match=r"members: 'forest' needs an extra"):
        sg.conditional(X, y, X[:5], members=["forest"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_train": np.ones((7, 3))}, "X_train must have one row per subject of y_train: 30"),
        ({"X_test": np.ones((7, 2))}, "X_test must have the columns of X_train: 3; got 2"),
        ({"X_train": None}, "X_train must be given"),
        ({"X_test": None}, "X_test must be given"),
        ({"X_test": np.ones((0, 3))}, "X_test must have at least one row"),
        (
            {"X_train": np.ones((2, 3)), "y_train": ([1, 2], [1, 0])},
            "y_train must have at least 5 subjects to fit distributions; got 2",
        ),
        ({"X_test": np.full((2, 3), np.nan)}, "X_test must be finite.* frame"),
        ({"X_test": [["a", "b", "c"]]}, "X_test must hold numbers.* frame"),
        ({"X_test": np.ones(3)}, "X_test must have a row per subject"),
        ({"y_train": None}, "y_train must be given"),
        ({"y_train": (np.ones(30), np.zeros(30))}, "y_train must have at least one event"),
        ({"y_test": (np.ones(9), np.ones(9))}, "X_test must have one row per subject of y_test"),
        ({"fit_on": "test"}, "y_test must be given"),
        ({"fit_on": "both"}, "y_test must be given"),
        ({"fit_on": "all"}, "fit_on must be one of"),
        ({"members": ["cx"]}, "members must be one of"),
        ({"members": []}, "members must name at least one"),
        ({"censoring": "cox"}, "censoring must be one of"),
        ({"tail": "flat"}, "tail must be one of"),
    ],
)
def test_errors_name_the_argument(changes, message):
    X, y = drawn(30)
    given = {"X_train": X, "y_train": y, "X_test": X[:4], "members": BASE, **changes}
    with pytest.raises(sg.InputError, match=message):
        sg.conditional(given.pop("X_train"), given.pop("y_train"), given.pop("X_test"), **given)


def test_frames_of_other_columns_are_refused():
    frame, y = frames(30)
    with pytest.raises(sg.InputError, match="X_test must have the columns of X_train; missing"):
        sg.conditional(frame, y, frame.drop(columns="lab"))
    with pytest.raises(sg.InputError, match="of one kind"):
        sg.conditional(frame, y, np.ones((3, 3)))


def test_columns_that_cannot_be_read_are_refused():
    pd = pytest.importorskip("pandas")
    _, y = drawn(30)
    twice = pd.DataFrame(np.ones((30, 2)), columns=["a", "a"])
    with pytest.raises(sg.InputError, match=r"X_train must have columns of distinct names.*'a'"):
        sg.conditional(twice, y, twice)
    uneven = {"a": np.ones(30), "b": np.ones(29)}
    with pytest.raises(sg.InputError, match="X_train must have columns of one length"):
        sg.conditional(uneven, y, uneven)
    lists = pd.DataFrame({"a": [[1]] * 30, "b": np.arange(30.0)})
    with pytest.raises(sg.InputError, match="X_train must hold numbers, text or categories"):
        sg.conditional(lists, y, lists)
