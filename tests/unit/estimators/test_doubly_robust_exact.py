"""Doubly robust losses against the definition, and what the definition promises."""

from __future__ import annotations

import numpy as np
import pytest
from naive_robust import LOSS, Distribution, floored, phi, phi_by_residuals, phi_of

import survgauge as sg
from survgauge._tools import running as chunk_sizes
from survgauge.estimators import doubly_robust
from survgauge.estimators.surrogates import make_setting

LOSSES = ("absolute", "squared", "relative", "log", "normalised")
TAILS = ("linear", "exponential", "hold")


def drawn(seed, n=30, high=15, events=0.6):
    """Outcomes with many ties, and a reference set whose last subject is censored."""
    rng = np.random.default_rng(seed)
    y = sg.Outcomes(rng.integers(1, high, n).astype(float), rng.random(n) < events)
    time = np.append(rng.integers(1, high, n), high).astype(float)
    train = sg.Outcomes(time, np.append(rng.random(n) < 0.6, False))
    return y, train, rng.uniform(0.5, high + 3, n)


def distribution_of(train, tail="linear", tau=None):
    ref = sg.Reference(train)
    stop = np.inf if tau is None else tau
    return Distribution(list(ref.event_times), list(ref.survival[1:]), ref.last_time, tail, stop)


def jumps_of(y, floor=0.1):
    km = sg.KaplanMeier.fit_censoring(y)
    return floored(km.times, km.survival, floor)


def robust(y, p, train, loss="absolute", **options):
    return sg.time_error(y, p, y_train=train, method="dr", loss=loss, **options)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("tau", [None, 9.0, 40.0])
def test_kaplan_meier_of_both_is_the_definition(loss, tail, tau):
    for seed in range(3):
        y, train, p = drawn(seed)
        found = robust(y, p, train, loss, tail=tail, tau=tau)
        stopped, q = y.restricted(tau), p if tau is None else np.minimum(p, tau)
        distribution, jumps = distribution_of(train, tail, tau), jumps_of(stopped)
        wanted = [
            phi(loss, *one, distribution, jumps)
            for one in zip(stopped.time, stopped.event, q, strict=True)
        ]
        scale = (tau or 15.0) if loss == "normalised" else 1.0
        np.testing.assert_allclose(found.loss * scale, wanted, rtol=1e-8, atol=1e-8)
        assert found.value == pytest.approx(np.mean(wanted) / scale, rel=1e-8)


def curves_of(distribution, n, tail="linear"):
    return sg.SurvivalCurves(
        distribution.atoms, np.tile(distribution.survival, (n, 1)), "step", tail
    )


def own_distributions(rng, n, tail, zero=False):
    """Step curves that differ by subject, and the same as distributions for the definition."""
    grid = np.sort(rng.choice(np.arange(1.0, 14.0), 6, replace=False))
    values = np.sort(rng.uniform(0.05, 0.95, (n, 6)), axis=1)[:, ::-1]
    if zero:
        values[:, -1] = 0.0
    return sg.SurvivalCurves(grid, values, "step", tail)


def by_definition(y, p, distributions, jumps, loss):
    subjects = zip(y.time, y.event, p, distributions, jumps, strict=True)
    return [phi(loss, *one) for one in subjects]


def as_distributions(curves, tau=None):
    stop, last = np.inf if tau is None else tau, curves.times[-1]
    return [
        Distribution(list(curves.times), list(row), last, curves.tail, stop)
        for row in curves.survival
    ]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("tau", [None, 7.0, 30.0])
def test_a_distribution_per_subject_is_the_definition(loss, tail, tau):
    y, train, p = drawn(4, n=25)
    distributions = own_distributions(np.random.default_rng(5), len(y), tail)
    found = robust(
        y, p, train, loss, tau=tau, conditional=sg.Conditional(distribution=distributions)
    )
    stopped, q = y.restricted(tau), p if tau is None else np.minimum(p, tau)
    jumps = [jumps_of(stopped)] * len(y)
    wanted = by_definition(stopped, q, as_distributions(distributions, tau), jumps, loss)
    scale = (tau or 15.0) if loss == "normalised" else 1.0
    np.testing.assert_allclose(found.loss * scale, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("own_distribution", [True, False])
@pytest.mark.parametrize("tau", [None, 7.0])
def test_a_g_per_subject_is_the_definition(loss, own_distribution, tau):
    y, train, p = drawn(6, n=25)
    rng = np.random.default_rng(7)
    g = own_distributions(rng, len(y), "linear")
    distributions = own_distributions(rng, len(y), "linear") if own_distribution else None
    given = sg.Conditional(distribution=distributions, censoring=g)
    found = robust(y, p, train, loss, tau=tau, conditional=given, floor=0.3)
    stopped, q = y.restricted(tau), p if tau is None else np.minimum(p, tau)
    jumps = [floored(g.times, row, 0.3) for row in g.survival]
    naive = (
        as_distributions(distributions, tau)
        if own_distribution
        else [distribution_of(train, "linear", tau)] * len(y)
    )
    wanted = by_definition(stopped, q, naive, jumps, loss)
    np.testing.assert_allclose(found.loss, wanted, rtol=1e-8, atol=1e-8)
    largest = found.support["largest_weight"]
    assert largest == pytest.approx(
        max(1 / min([b for v, _, b in j if v < t], default=1.0)
            for j, t, d in zip(jumps, stopped.time, stopped.event, strict=True) if d)
    )  # fmt: skip
    assert largest <= 1 / 0.3


def test_a_g_of_lines_is_a_g_of_very_many_steps():
    y, train, p = drawn(8, n=20)
    rng = np.random.default_rng(9)
    coarse = own_distributions(rng, len(y), "hold")
    fine = np.unique(np.concatenate((np.linspace(0, 14, 28_001), coarse.times)))
    lines = sg.SurvivalCurves(coarse.times, coarse.survival, "linear", "hold")
    steps = sg.SurvivalCurves(fine, lines.at(fine), "step", "hold")
    for distributions in (None, own_distributions(rng, len(y), "linear", zero=True)):
        found, wanted = (
            robust(
                y,
                p,
                train,
                conditional=sg.Conditional(distribution=distributions, censoring=g),
                floor=0.3,
            ).loss
            for g in (lines, steps)
        )
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)


def test_many_late_jumps_are_put_together_with_little_loss():
    rng = np.random.default_rng(10)
    y = sg.Outcomes(np.round(rng.uniform(0, 20, 600), 3), rng.random(600) < 0.5)
    _, train, _ = drawn(10)
    distributions = sg.SurvivalCurves(
        [2.0, 5.0], rng.uniform(0.4, 0.6, (600, 1)) * [1.6, 1.0], "step"
    )
    p = rng.uniform(1, 20, 600)
    found = robust(y, p, train, conditional=sg.Conditional(distribution=distributions))
    assert len([v for v, *_ in jumps_of(y) if v >= 5]) > 64
    wanted = by_definition(y, p, as_distributions(distributions), [jumps_of(y)] * 600, "absolute")
    assert found.value == pytest.approx(np.mean(wanted), rel=1e-3)
    np.testing.assert_allclose(found.loss, wanted, rtol=0, atol=0.3)


@pytest.mark.parametrize("loss", LOSSES)
def test_both_forms_of_the_definition_agree(loss):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y, _, p = drawn(seed)
        # An event where the distribution has none has no residual: the distribution has atoms at
        # all times.
        atoms = np.arange(1.0, 16.0)
        distribution = Distribution(list(atoms), [*np.sort(rng.uniform(0, 1, 14))[::-1], 0.0], 15.0)
        jumps = jumps_of(y)
        both = [
            (
                phi(loss, *one, distribution, jumps),
                phi_by_residuals(loss, *one, distribution, jumps),
            )
            for one in zip(y.time, y.event, p, strict=True)
        ]
        one, other = np.transpose(both)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        given = sg.Conditional(distribution=curves_of(distribution, len(y)))
        found = robust(y, p, y, loss, conditional=given).loss
        scale = 15.0 if loss == "normalised" else 1.0
        last = y.time.max()
        np.testing.assert_allclose(found * min(scale, last if scale > 1 else 1), one, atol=1e-10)


TIMES = np.arange(1.0, 6.0)
#: Probability of each event time; censoring may come never.
EVENTS = np.array([0.15, 0.3, 0.1, 0.25, 0.2])
CENSORED = np.array([0.2, 0.1, 0.25, 0.05, 0.15, 0.25])


def survival_of(probability):
    return np.maximum(1 - np.cumsum(probability)[:5], 0.0)


def enumerated(loss, p, distribution, g, floor=1e-6):
    """Expectation of phi over all pairs of event and censoring time."""
    pairs = [(i, k) for i in range(5) for k in range(6)]
    chance = np.array([EVENTS[i] * CENSORED[k] for i, k in pairs])
    time = np.array([min(TIMES[i], np.append(TIMES, np.inf)[k]) for i, k in pairs])
    event = np.array([i <= k for i, k in pairs])
    rows = len(pairs)
    given = sg.Conditional(
        distribution=sg.SurvivalCurves(TIMES, np.tile(distribution, (rows, 1)), "step"),
        censoring=sg.SurvivalCurves(TIMES, np.tile(g, (rows, 1)), "step", "hold"),
    )
    y = sg.Outcomes(time, event)
    details = robust(y, np.full(rows, p), y, loss, conditional=given, floor=floor)
    assert chance.sum() == pytest.approx(1, abs=1e-14)
    scale = 5.0 if loss == "normalised" else 1.0
    return float(chance @ details.loss) * scale


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("p", [0.5, 2.0, 3.3, 8.0])
def test_the_expectation_is_right_if_either_is_right(loss, p):
    truth = sum(q * LOSS[loss](t, p) for q, t in zip(EVENTS, TIMES, strict=True))
    right_distribution, right_g = survival_of(EVENTS), survival_of(CENSORED)
    wrong_distribution = np.array([0.9, 0.85, 0.3, 0.2, 0.0])
    wrong_g = np.array([0.95, 0.5, 0.45, 0.2, 0.15])
    assert enumerated(loss, p, right_distribution, right_g) == pytest.approx(truth, abs=1e-12)
    assert enumerated(loss, p, wrong_distribution, right_g) == pytest.approx(truth, abs=1e-12)
    assert enumerated(loss, p, right_distribution, wrong_g) == pytest.approx(truth, abs=1e-12)
    # With the distribution right a floor takes nothing away; with both wrong nothing helps.
    assert enumerated(loss, p, right_distribution, wrong_g, floor=0.48) == pytest.approx(
        truth, abs=1e-12
    )
    assert abs(enumerated(loss, p, wrong_distribution, wrong_g) - truth) > 1e-4


def test_without_censoring_it_is_the_plain_mean():
    y, train, p = drawn(11, events=2.0)
    assert y.event.all()
    assert sg.mae(y, p, y_train=train, method="dr") == np.abs(y.time - p).mean()


@pytest.mark.parametrize("loss", LOSSES)
def test_with_g_of_one_it_is_the_expected_loss(loss):
    y, train, p = drawn(12)
    ones = sg.SurvivalCurves([1.0, 20.0], np.ones((len(y), 2)), "step")
    found = robust(y, p, train, loss, conditional=sg.Conditional(censoring=ones))
    wanted = sg.time_error(y, p, y_train=train, method="expected", loss=loss)
    np.testing.assert_allclose(found.loss, wanted.loss, rtol=1e-12)
    # A floor of one means the same: G may not fall at all.
    np.testing.assert_allclose(robust(y, p, train, loss, floor=1.0).loss, wanted.loss, rtol=1e-12)


def test_what_does_not_come_from_the_distribution_is_ipcw_d():
    y, train, p = drawn(13)
    found = robust(y, p, train, floor=1e-9).loss
    distribution, jumps = distribution_of(train), jumps_of(y, 1e-9)
    expected = lambda u, q: distribution.expected(lambda t: abs(t - q), u, (q,))  # noqa: E731
    weighted = sg.time_error(y, p, y_train=train, method="ipcw_d")
    for i, (t, d, q) in enumerate(zip(y.time, y.event, p, strict=True)):
        of_distribution = -sum(
            expected(v, q) * (1 / b - 1 / a) for v, a, b in jumps if v < t or (v == t and not d)
        )
        if not d:
            of_distribution += expected(t, q) / min([b for v, _, b in jumps if v <= t], default=1.0)
        assert found[i] - of_distribution == pytest.approx(
            weighted.loss[i] * weighted.weight[i], abs=1e-8
        )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("tau", [None, 9.0, 40.0])
def test_kaplan_meier_as_curves_is_kaplan_meier(loss, tail, tau):
    y, train, p = drawn(14)
    curves = sg.reference_curves(train, len(y), tail)
    g = sg.KaplanMeier.fit_censoring(y)
    of_g = sg.SurvivalCurves(g.times, np.tile(g.survival, (len(y), 1)), "step", "hold")
    options = {"loss": loss, "tail": tail, "tau": tau}
    wanted = robust(y, p, train, **options)
    for given in (
        sg.Conditional(distribution=curves),
        sg.Conditional(censoring=of_g),
        sg.Conditional(distribution=curves, censoring=of_g),
    ):
        found = robust(y, p, train, conditional=given, **options)
        np.testing.assert_allclose(found.loss, wanted.loss, rtol=1e-10, atol=1e-10)
        for name in ("largest_weight", "effective_events", "share_past_floor", "share_from_tail"):
            # What waits at the last time is an atom of the curves, and no tail.
            if name in wanted.support and (name != "share_from_tail" or tail != "hold"):
                assert found.support[name] == pytest.approx(wanted.support[name], abs=1e-10), name


@pytest.mark.parametrize("method", ["expected", "margin"])
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("tau", [None, 7.0])
def test_other_methods_take_a_distribution_per_subject(method, tail, tau):
    y, train, p = drawn(15, n=25)
    distributions = own_distributions(np.random.default_rng(16), len(y), tail)
    found = sg.time_error(
        y,
        p,
        y_train=train,
        method=method,
        tau=tau,
        conditional=sg.Conditional(distribution=distributions),
    )
    stopped, q = y.restricted(tau), p if tau is None else np.minimum(p, tau)
    wanted, weight = [], []
    for t, d, one, distribution in zip(
        stopped.time, stopped.event, q, as_distributions(distributions, tau), strict=True
    ):
        if d:
            wanted.append(abs(t - one))
            weight.append(1.0)
        elif method == "expected":
            wanted.append(distribution.expected(lambda u, one=one: abs(u - one), t, (one,)))
            weight.append(1.0)
        else:
            wanted.append(abs(distribution.expected(lambda u: u, t) - one))
            alive = distribution.expected(lambda u, t=t: float(u > t), -1.0, (t,))
            weight.append(1 - alive)
    np.testing.assert_allclose(found.loss, wanted, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.weight, weight, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["common", "distribution", "g", "both"])
def test_event_free_is_phi_of_the_status(kind):
    y, train, _ = drawn(17, n=25)
    rng = np.random.default_rng(18)
    distributions = (
        own_distributions(rng, len(y), "linear") if kind in ("distribution", "both") else None
    )
    g = own_distributions(rng, len(y), "hold") if kind in ("g", "both") else None
    given = None if kind == "common" else sg.Conditional(distribution=distributions, censoring=g)
    setting = make_setting(y, train, conditional=given, floor=0.2)
    t = np.array([0.0, 0.5, 1.0, 3.0, 4.4, 7.0, 9.5, 12.0, 13.9, 14.0, 16.0, 25.0])
    found = np.concatenate([1 - values for _, values in setting.robust.happened(t)])
    naive = (
        [distribution_of(train)] * len(y)
        if distributions is None
        else as_distributions(distributions)
    )
    own = [jumps_of(y, 0.2)] * len(y)
    jumps = own if g is None else [floored(g.times, row, 0.2) for row in g.survival]
    for k, time in enumerate(t):
        wanted = [
            phi_of(lambda u, time=time: float(u > time), *one, kinks=(time,))
            for one in zip(y.time, y.event, naive, jumps, strict=True)
        ]
        np.testing.assert_allclose(found[:, k], wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["common", "distribution", "g", "lines"])
def test_chunks_and_blocks_do_not_matter(monkeypatch, kind):
    y, train, p = drawn(19, n=60)
    curves = own_distributions(np.random.default_rng(20), len(y), "linear")
    lines = sg.SurvivalCurves(curves.times, curves.survival, "linear")
    given = {
        "common": None, "distribution": sg.Conditional(distribution=curves),
        "g": sg.Conditional(censoring=curves),
        "lines": sg.Conditional(distribution=curves, censoring=lines),
    }[kind]  # fmt: skip
    whole = robust(y, p, train, conditional=given)
    monkeypatch.setattr(chunk_sizes, "CHUNK", 7)
    monkeypatch.setattr(doubly_robust, "_BLOCK_VALUES", 12)
    monkeypatch.setattr(doubly_robust, "_KEPT_BLOCKS", 1)
    cut = robust(y, p, train, conditional=given)
    np.testing.assert_allclose(cut.loss, whole.loss, rtol=1e-12, atol=1e-12)
    assert cut.value == pytest.approx(
        sg.mae(y, p, y_train=train, method="dr", conditional=given), rel=1e-12
    )
    for name in ("largest_weight", "effective_events", "share_past_floor", "share_from_tail"):
        assert cut.support[name] == pytest.approx(whole.support[name], abs=1e-10)


@pytest.mark.parametrize("kind", ["common", "distribution", "g"])
def test_frequencies_are_repeated_rows_and_zeros_are_absent(kind):
    y, train, p = drawn(21)
    curves = own_distributions(np.random.default_rng(22), len(y), "linear")
    given = {"common": None, "distribution": {"distribution": curves}, "g": {"censoring": curves}}[
        kind
    ]
    counts = np.random.default_rng(23).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)

    def ask(y, p, rows=slice(None), **options):
        own = given and sg.Conditional(**{name: c[rows] for name, c in given.items()})
        return robust(y, p, train, conditional=own, **options)

    repeated = ask(y[rows], p[rows], rows)
    weighted = sg.Outcomes(y.time, y.event, weight=counts)
    for found in (ask(weighted, p), ask(y, p, sample_weight=counts)):
        assert found.value == pytest.approx(repeated.value, rel=1e-12)
        np.testing.assert_allclose(found.loss[counts > 0], repeated.loss[np.unique(
            rows, return_index=True)[1]], rtol=1e-10, atol=1e-10)  # fmt: skip
        for name in ("largest_weight", "effective_events", "share_past_floor", "share_from_tail"):
            assert found.support[name] == pytest.approx(repeated.support[name], abs=1e-10), name
    assert ask(weighted, p).stderr == pytest.approx(repeated.stderr, rel=1e-10)


def test_in_sample_the_test_subjects_are_the_reference():
    y, _, p = drawn(24)
    found = sg.time_error(y, p, method="dr")
    np.testing.assert_array_equal(found.loss, robust(y, p, y).loss)
    assert found.convention["reference"] == "test outcomes, in sample"


@pytest.mark.parametrize("event", [True, False])
def test_one_subject(event):
    _, train, _ = drawn(25)
    y = sg.Outcomes([4.0], [event])
    distribution, jumps = distribution_of(train), floored([4.0], [1.0 if event else 0.0], 0.1)
    wanted = phi("absolute", 4.0, event, 6.0, distribution, jumps)
    assert sg.mae(y, [6.0], y_train=train, method="dr") == pytest.approx(wanted, rel=1e-10)


def test_all_censored_rests_on_the_distribution_in_the_mean():
    _, train, p = drawn(26)
    time = np.random.default_rng(27).integers(1, 15, p.size).astype(float)
    y = sg.Outcomes(time, np.zeros(p.size))
    found = robust(y, p, train)
    wanted = [phi("absolute", *one, distribution_of(train), jumps_of(y))
              for one in zip(y.time, y.event, p, strict=True)]  # fmt: skip
    np.testing.assert_allclose(found.loss, wanted, rtol=1e-8, atol=1e-8)
    assert found.support["effective_events"] == 0
    assert found.support["largest_weight"] == 1


@pytest.mark.parametrize("tail", ["linear", "exponential", "nan"])
def test_a_distribution_that_never_falls_is_told(tail):
    y, train, p = drawn(28)
    curves = sg.SurvivalCurves([5.0, 9.0], np.tile([0.5, 0.2], (len(y), 1)), "step", tail)
    values = np.array(curves.survival)
    values[:4] = 1.0
    some = sg.SurvivalCurves([5.0, 9.0], values, "step", tail)
    if tail == "nan":
        values[4:, 1] = 0.0
        some = sg.SurvivalCurves([5.0, 9.0], values, "step", tail)
    found = robust(y, p, train, conditional=sg.Conditional(distribution=some))
    (note,) = found.support["notes"]
    assert note.startswith("excluded: the distribution has no mean")
    assert found.support["notes"][note] == 4
    assert found.value == pytest.approx(found.loss[4:].mean())
    assert np.all(found.weight[:4] == 0)


def test_a_distribution_that_is_known_up_to_the_horizon_needs_no_tail():
    y, train, p = drawn(28)
    values = np.tile([0.5, 0.2], (len(y), 1))
    given = [
        sg.Conditional(distribution=sg.SurvivalCurves([5.0, 9.0], values, "step", tail))
        for tail in ("nan", "hold")
    ]
    for method in ("dr", "expected", "margin"):
        found, wanted = (
            sg.mae(y, p, y_train=train, method=method, tau=9.0, conditional=one) for one in given
        )
        assert found == wanted


def test_kaplan_meier_without_a_mean_is_refused():
    y, train, p = drawn(28)
    with pytest.raises(sg.UndefinedMetricError, match="the distribution has no mean"):
        robust(y, p, train, tail="nan")


def test_no_events_in_the_reference():
    y, _, p = drawn(29)
    with pytest.raises(sg.UndefinedMetricError, match="y_train has no events"):
        robust(y, p, sg.Outcomes([3.0, 20.0], [0, 0]))


def test_no_events_in_the_reference_but_a_horizon():
    y, _, p = drawn(29)
    train = sg.Outcomes([3.0, 20.0], [0, 0])
    found = robust(y, p, train, tau=10.0)
    stopped, q = y.restricted(10.0), np.minimum(p, 10.0)
    distribution = Distribution([10.0], [0.0], 10.0)  # everybody reaches the horizon
    wanted = [phi("absolute", *one, distribution, jumps_of(stopped))
              for one in zip(stopped.time, stopped.event, q, strict=True)]  # fmt: skip
    np.testing.assert_allclose(found.loss, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", ["common", "distribution"])
def test_the_share_of_the_tail_is_what_would_go_with_it(kind):
    y, train, p = drawn(30)
    distributions = (
        None if kind == "common" else own_distributions(np.random.default_rng(31), len(y), "linear")
    )
    given = None if distributions is None else sg.Conditional(distribution=distributions)
    found = robust(y, p, train, conditional=given)
    naive = (
        [distribution_of(train)] * len(y)
        if distributions is None
        else as_distributions(distributions)
    )
    last = naive[0].atoms[-1]
    late = 0.0
    for t, d, q, distribution in zip(y.time, y.event, p, naive, strict=True):
        f = lambda u, q=q: abs(u - q) * (u > last)  # noqa: E731
        own = jumps_of(y)
        part = phi_of(f, t, d, distribution, own, kinks=(q, last))
        if d and t > last:  # that event was seen
            part -= f(t) / min([b for v, _, b in own if v < t], default=1.0)
        late += part
    assert found.support["share_from_tail"] == pytest.approx(late / found.loss.sum(), abs=1e-8)


def mean_loss(y, p, tau):
    """Mean loss under Kaplan-Meier, with what is left at the horizon."""
    km = sg.KaplanMeier.fit(y)
    weight = -np.diff(np.concatenate(([1.0], km.survival)))
    return float(np.sum(weight * np.abs(km.times - p)) + km.last_survival * abs(tau - p))


def test_the_first_order_is_the_pseudo_observation_of_the_loss():
    """With Kaplan-Meier for both, phi and the jackknife of E[loss] differ by 1/n."""
    gaps = []
    for n in (50, 200, 800):
        rng = np.random.default_rng(32)
        event, censored = rng.exponential(1.0, n), rng.uniform(0, 3, n)
        y = sg.Outcomes(np.minimum(event, censored), event <= censored)
        tau, p = 1.5, 0.8
        found = sg.time_error(y, np.full(n, p), method="dr", tau=tau, floor=1e-9).loss
        stopped = y.restricted(tau)
        rows = np.arange(0, n, n // 50)
        whole = mean_loss(stopped, p, tau)
        pseudo = [n * whole - (n - 1) * mean_loss(stopped[np.arange(n) != i], p, tau) for i in rows]
        gaps.append(np.abs(found[rows] - pseudo).mean())
        assert found.mean() == pytest.approx(whole, abs=1e-10)
    assert gaps[0] < 0.1
    assert gaps[1] < gaps[0] / 2.5
    assert gaps[2] < gaps[1] / 2.5


def test_a_negative_mean_is_reported_with_a_warning():
    """Distributions equal to the prediction for censored subjects, unlike the events."""
    y = sg.Outcomes([1.0] * 5 + [9.0] * 5, [0] * 5 + [1] * 5)
    values = np.repeat([[1.0, 0.0], [0.0, 0.0]], 5, axis=0)
    distribution = sg.SurvivalCurves([2.0, 5.0], values, "step")
    predicted = np.repeat([5.0, 9.0], 5)
    ev = sg.evaluate(
        {"model": predicted},
        y,
        y_train=y,
        metrics=["mae_dr"],
        conditional=sg.Conditional(distribution=distribution),
    )
    (row,) = ev.rows()
    assert row["value"] == pytest.approx(-3.5)
    assert any("doubly robust mean" in str(warning) for warning in ev.warnings)
