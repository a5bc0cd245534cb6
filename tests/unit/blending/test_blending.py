"""Laws given features: mixtures by the likelihood of unseen outcomes, cross-fitted where asked."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.blending.beyond import POINTS, REACH, continued, late_shape
from survgauge.blending.blend import Blend, likelihoods, mixture_weights
from survgauge.blending.grid import Grid
from survgauge.blending.members import MEMBERS
from survgauge.data.outcomes import Outcomes

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
    assert (grid.span_of(rounded)[y.event] == grid.span_of(y)[y.event]).all()
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
    assert cond.law.tail == "exponential"
    assert cond.law.times[-1] == y.time.max() == cond.how["follow_up"]
    mixed = sg.conditional(X, y, X[:5], members=BASE).law
    inside = np.linspace(0, y.time.max(), 50)
    assert (mixed.at(inside) == cond.law.at(inside)).all()


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


def test_weights_are_those_of_the_best_mixture():
    rng = np.random.default_rng(0)
    likelihood = rng.uniform(0.1, 1, (200, 2)) * [1.0, 1.3]
    frequency = rng.integers(0, 3, 200).astype(float)
    weights = mixture_weights(likelihood, frequency, prior=0.0)
    tried = np.linspace(0, 1, 2001)
    mixed = tried * likelihood[:, :1] + (1 - tried) * likelihood[:, 1:]
    best = tried[np.argmax(frequency @ np.log(mixed))]
    assert weights == pytest.approx([best, 1 - best], abs=1e-3)
    repeated = np.repeat(likelihood, frequency.astype(int), axis=0)
    assert mixture_weights(repeated, np.ones(len(repeated)), prior=0.0) == pytest.approx(weights)


def test_a_prior_draws_to_equal_weights():
    likelihood = np.tile([0.9, 0.1, 0.1], (50, 1))
    ones = np.ones(50)
    assert mixture_weights(likelihood, ones, prior=0.0)[0] == pytest.approx(1, abs=1e-4)
    some, much = (mixture_weights(likelihood, ones, prior=p)[0] for p in (0.1, 100.0))
    assert 1 > some > much
    assert much == pytest.approx(1 / 3, abs=0.01)


def test_the_blend_is_not_worse_than_its_best_member_out_of_fold():
    X, y = drawn()
    blend = Blend.fit(X, y, Grid.of(y), list(MEMBERS.values()), 0)
    assert blend.weights.sum() == pytest.approx(1)
    assert (blend.weights >= 0).all()
    best = mixture_weights(blend.likelihood, blend.frequency, prior=0.0)
    single = np.log(blend.likelihood).mean(axis=0)
    assert np.log(blend.likelihood @ best).mean() >= single.max() - 1e-9
    # Shrinking towards equal weights costs little.
    assert np.log(blend.likelihood @ blend.weights).mean() >= single.max() - 0.01


def test_the_blend_is_the_weighted_mean_of_its_members():
    X, y = drawn()
    blend = Blend.fit(X, y, Grid.of(y), [MEMBERS[name] for name in BASE], 0)
    mixed, single = blend.curves(X[:4])
    assert mixed == pytest.approx(blend.weights[0] * single[0] + blend.weights[1] * single[1])


def test_a_member_that_cannot_be_fitted_is_left_out():
    y = Outcomes([1, 2, 3, 4, 5, 6], [1, 0, 0, 0, 0, 0])  # a fold without any event
    cond = sg.conditional(np.arange(6.0)[:, None], y, [[1.0], [2.0]])
    assert "cox" in cond.how["left_out"]
    assert "could not be fitted" in cond.how["left_out"]["cox"]
    assert cond.how["weights"]["km"] > 0
    with pytest.raises(sg.InputError, match="members must include one that the data allow"):
        sg.conditional(np.arange(6.0)[:, None], y, [[1.0], [2.0]], members=["cox"])


# -- the call --------------------------------------------------------------------------------


def test_a_law_given_features_is_closer_to_the_truth_than_kaplan_meier():
    X, y = drawn(600, seed=5)
    X_test, _ = drawn(200, seed=6)
    law = sg.conditional(X, y, X_test).law
    truth = np.log(2) * np.exp(X_test[:, 0])
    same = sg.conditional(X, y, X_test, members=["km"]).law
    assert np.abs(law.median() - truth).mean() < 0.6 * np.abs(same.median() - truth).mean()


def test_the_account_tells_members_and_weights():
    X, y = drawn()
    cond = sg.conditional(X, y, X[:10], members=BASE)
    assert cond.how["members"] == BASE
    assert sum(cond.how["weights"].values()) == pytest.approx(1)
    assert cond.how["law"].startswith("blend of Kaplan-Meier")
    assert cond.how["fitted_on"] == "train"
    assert not cond.how["cross_fitted"]
    assert list(cond.members) == BASE
    assert cond.members["km"] == pytest.approx(np.full(10, cond.members["km"][0]))
    assert cond[2:5].members["cox"] == pytest.approx(cond.members["cox"][2:5])


def test_the_same_seed_gives_the_same_curves():
    X, y = drawn(150)
    first, again = (sg.conditional(X, y, X, random_state=3) for _ in range(2))
    assert (first.law.survival == again.law.survival).all()
    other = sg.conditional(X, y, X, random_state=4)
    assert not (first.law.survival == other.law.survival).all()


def test_frequencies_are_repeated_rows():
    X, y = drawn(120)
    weighted = Outcomes(y.time, y.event, np.arange(120) % 3)
    rows = np.repeat(np.arange(120), np.arange(120) % 3)
    a = sg.conditional(X, weighted, X[:5], members=["km"])
    b = sg.conditional(X[rows], y[rows], X[:5], members=["km"])
    assert a.law.survival == pytest.approx(b.law.survival)


def test_constant_features_leave_kaplan_meier():
    _, y = drawn(80)
    cond = sg.conditional(np.ones((80, 2)), y, np.ones((3, 2)))
    assert cond.how["members"] == ["km"]
    assert cond.how["law"] == "Kaplan-Meier"
    km = sg.KaplanMeier.fit(y)
    assert cond.law.at(y.time.max()) == pytest.approx(np.full(3, km.at(y.time.max())))


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


@pytest.mark.parametrize("tail", ["mixed", "linear", "exponential"])
def test_a_subjects_outcome_does_not_enter_its_own_curve(tail):
    X, y = drawn(60)
    settings = {"fit_on": "test", "members": BASE, "censoring": "km", "tail": tail}
    before = sg.conditional(X, y, X, y_test=y, **settings).law
    second, last = np.sort(y.time)[-2:]
    # Between the end of the others' follow-up and its own a tail is sampled at its own time.
    points = np.concatenate((np.linspace(0, second, 300, endpoint=False), [2.0 * last, 5 * last]))
    changed = np.zeros(60, dtype=bool)
    for i in (0, 17, 59, int(y.time.argmax())):
        time, event = y.time.copy(), y.event.copy()
        time[i], event[i] = 2 * last, not event[i]
        after = sg.conditional(X, y, X, y_test=Outcomes(time, event), **settings).law
        assert before[[i]].at(points) == pytest.approx(after[[i]].at(points), abs=1e-14)
        changed |= (np.abs(before.at(points) - after.at(points)) > 1e-6).any(axis=1)
    assert changed.sum() > 10  # the outcomes do enter the curves of others


def test_the_larger_set_is_fitted_on_by_default():
    X, y = drawn(90)
    small = slice(0, 30)
    where = {}
    for name, test in (("larger", slice(0, 90)), ("smaller", slice(0, 20))):
        cond = sg.conditional(X[small], y[small], X[test], y_test=y[test], members=["km"])
        where[name] = cond.how["fitted_on"]
    assert where == {"larger": "test", "smaller": "train"}
    alone = sg.conditional(None, None, X, y_test=y, members=["km"])
    assert alone.how["cross_fitted"]


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
    assert (cond.law.survival == same.law.survival).all()
    unseen = frame.head(9).assign(arm="c", lab=np.nan)
    noted = sg.conditional(frame, y, unseen, members=BASE).how["remarks"]
    assert any("'c'" in remark for remark in noted)


def test_an_empty_column_is_left_out():
    pytest.importorskip("sklearn")
    frame, y = frames()
    cond = sg.conditional(frame.assign(nothing=np.nan), y, frame.assign(nothing=1.0), members=BASE)
    assert "nothing" in cond.how["remarks"][0]


def test_polars_frames_are_read():
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame, y = frames()
    cond = sg.conditional(pl.from_pandas(frame), y, pl.from_pandas(frame), members=BASE)
    assert (cond.law.survival == sg.conditional(frame, y, frame, members=BASE).law.survival).all()


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
    assert (named.law.survival == sg.conditional(X, y, X).law.survival).all()
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
            "y_train must have at least 3 subjects to fit a law; got 2",
        ),
        ({"X_test": np.full((2, 3), np.nan)}, "X_test must be finite.* frame"),
        ({"X_test": [["a", "b", "c"]]}, "X_test must hold numbers.* frame"),
        ({"X_test": np.ones(3)}, "X_test must have a row per subject"),
        ({"y_train": None}, "y_train must be given"),
        ({"y_train": (np.ones(30), np.zeros(30))}, "y_train must have at least one event"),
        ({"y_test": (np.ones(9), np.ones(9))}, "X_test must have one row per subject of y_test"),
        ({"fit_on": "test"}, "y_test must be given"),
        ({"fit_on": "both"}, "fit_on must be one of"),
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
