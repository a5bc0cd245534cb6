"""Concordance against double loops written from the definitions, and against pinned numbers."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from discrimination_data import tied_case
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import survgauge as sg
from survgauge.errors import InputError, UndefinedMetricError
from survgauge.metrics.conventions import Convention
from survgauge.metrics.ranking.concordance import (
    comparable_pairs,
    concordance_index,
    concordance_td,
)
from survgauge.metrics.score import standard_error

relaxed = settings(deadline=None)
TIES = ("risk", "none", "time", "all", "strict")
METHODS = ("harrell", "uno", "margin")
RISKS = st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 2.0, np.inf])


# -- oracles ------------------------------------------------------------------------------


def naive_index(rows, order, ties="risk", a=None, tau=np.inf, unit=None):
    """Double loop; order(i, j) is 1, 0 or 1/2 for an anchor i and a comparator j.

    rows: (time, event) of subjects, each once.
    """
    n = len(rows)
    a = [1.0] * n if a is None else a
    unit = [1.0] * n if unit is None else unit
    good = total = 0.0
    for i, (t, e) in enumerate(rows):
        if not e or t >= tau:
            continue
        for j, (u, f) in enumerate(rows):
            weight = a[i] * unit[i] * unit[j]
            if t < u or (t == u and not f):
                score = order(i, j)
                if score == 0.5 and ties in ("none", "time"):
                    continue
                if score == 0.5 and ties == "strict":
                    score = 0.0
                good, total = good + weight * score, total + weight
            elif t == u and f and i < j and ties in ("time", "all"):
                good, total = good + weight / 2, total + weight
    return good / total if total > 0 else None


def by_risk(risk):
    return lambda i, j: float(risk[i] > risk[j]) + 0.5 * float(risk[i] == risk[j])


def naive_margin(rows, train, risk, ties, tau):
    """Harrell on margin times; times equal on paper are equal, and c itself comes after events."""
    guesses, weights = [], []
    for t, e in rows:
        guess = float(t) if e else naive.margin(t, train)
        ended = not e and abs(guess - t) < 1e-9
        guesses.append((guess, ended))
        weights.append(1.0 if e else 1 - naive.survival_with_tail(train, t, "linear"))

    def earlier(i, j):
        (t, first), (u, second) = guesses[i], guesses[j]
        return first < second if abs(t - u) < 1e-9 else t < u

    good = total = 0.0
    for i, (t, _) in enumerate(guesses):
        for j in range(len(rows)):
            weight = weights[i] * weights[j]
            if t >= tau or i == j:
                continue
            if earlier(i, j):
                score = by_risk(risk)(i, j)
                if score == 0.5 and ties in ("none", "time"):
                    continue
                if score == 0.5 and ties == "strict":
                    score = 0.0
                good, total = good + weight * score, total + weight
            elif i < j and not earlier(j, i) and ties in ("time", "all"):
                good, total = good + weight / 2, total + weight
    return good / total if total > 0 else None


def g_squared(rows, train):
    """1/G(t-)^2 of events, 0 where G = 0 or for the censored."""
    left = [float(naive.g_at(train, t, left=True)) for t, _ in rows]
    return [1 / g**2 if e and g > 0 else 0.0 for (_, e), g in zip(rows, left, strict=True)]


@st.composite
def samples(draw, min_size=2, max_size=10):
    rows = draw(
        st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=min_size, max_size=max_size)
    )
    risk = draw(st.lists(RISKS, min_size=len(rows), max_size=len(rows)))
    return rows, np.array(risk)


trains = st.lists(st.tuples(st.integers(0, 7), st.booleans()), min_size=1, max_size=9)
taus = st.sampled_from([None, 3.0, 4.5])


def pair(rows):
    return [float(t) for t, _ in rows], [bool(e) for _, e in rows]


def same_or_undefined(call, want):
    if want is None:
        with pytest.raises(UndefinedMetricError):
            call()
    else:
        assert call() == pytest.approx(want, abs=1e-12)


# -- the definitions ----------------------------------------------------------------------


def test_few_subjects_in_perfect_order():
    # 1.75 on NumPy before 2: sums of few subjects were overwritten while they were read.
    y, risk = ([1, 2, 3, 4, 5, 6], [1, 1, 0, 1, 1, 1]), [6, 5, 4, 3, 2, 1]
    assert concordance_index(y, risk) == 1.0


@relaxed
@given(samples(), st.sampled_from(TIES), taus)
def test_harrell_is_the_double_loop(sample, ties, tau):
    rows, risk = sample
    want = naive_index(rows, by_risk(risk), ties, tau=tau or np.inf)
    same_or_undefined(lambda: concordance_index(pair(rows), risk, ties=ties, tau=tau), want)


@relaxed
@given(samples(), trains, st.sampled_from(TIES), taus)
def test_uno_is_the_double_loop_with_weights(sample, train, ties, tau):
    rows, risk = sample
    want = naive_index(rows, by_risk(risk), ties, a=g_squared(rows, train), tau=tau or np.inf)
    options = {
        "method": "uno",
        "y_train": pair(train),
        "censoring": "train",
        "ties": ties,
        "tau": tau,
    }
    same_or_undefined(lambda: concordance_index(pair(rows), risk, **options), want)


@relaxed
@given(samples(), trains, st.sampled_from(TIES), st.sampled_from([None, 3.0917, 4.4831]))
def test_margin_is_harrell_on_margin_times(sample, train, ties, tau):
    # No margin time is exactly tau: two ways to compute it may lie on either side.
    rows, risk = sample
    options = {"method": "margin", "y_train": pair(train), "ties": ties, "tau": tau}
    if not any(e for _, e in train):
        with pytest.raises(UndefinedMetricError, match="events in the reference"):
            concordance_index(pair(rows), risk, **options)
        return
    want = naive_margin(rows, train, risk, ties, tau or np.inf)
    same_or_undefined(lambda: concordance_index(pair(rows), risk, **options), want)


@relaxed
@given(samples(), st.sampled_from(("harrell", "uno")), st.sampled_from(("risk", "none", "all")))
def test_the_reversed_risk_gives_one_minus_c_to_the_last_digit(sample, method, ties):
    rows, risk = sample
    try:
        c = concordance_index(pair(rows), risk, method=method, ties=ties)
    except UndefinedMetricError:
        assume(False)
    assert concordance_index(pair(rows), -risk, method=method, ties=ties) == 1 - c


@relaxed
@given(st.lists(st.integers(0, 6), min_size=2, max_size=9), st.data())
def test_without_censoring_all_methods_are_the_share_of_ordered_pairs(times, data):
    risk = np.array(data.draw(st.lists(RISKS, min_size=len(times), max_size=len(times))))
    assume(len(set(times)) > 1)
    y = (times, [1] * len(times))
    pairs = [(i, j) for i, t in enumerate(times) for j, u in enumerate(times) if t < u]
    want = sum(by_risk(risk)(i, j) for i, j in pairs) / len(pairs)
    for method in METHODS:
        assert concordance_index(y, risk, method=method) == pytest.approx(want, abs=1e-14)


@relaxed
@given(samples(), st.sampled_from(METHODS), st.randoms(use_true_random=False))
def test_the_order_of_subjects_does_not_matter(sample, method, random):
    rows, risk = sample
    assume(any(e for _, e in rows))
    y = sg.Outcomes(*pair(rows))
    index = list(range(len(rows)))
    random.shuffle(index)
    try:
        plain = concordance_index(y, risk, method=method)
    except UndefinedMetricError:
        assume(False)
    other = concordance_index(y[index], risk[index], method=method)
    assert other.value == pytest.approx(plain.value, abs=1e-14)
    np.testing.assert_allclose(other.contributions, plain.contributions[index], atol=1e-13)


@relaxed
@given(st.lists(st.integers(1, 50), min_size=2, max_size=12, unique=True), st.data())
def test_a_perfect_order_is_one_and_its_reverse_zero(times, data):
    events = data.draw(st.lists(st.booleans(), min_size=len(times), max_size=len(times)))
    events[times.index(min(times))] = True
    # Not for margin: its times may put a censored subject behind a later event.
    for method in ("harrell", "uno"):
        assert concordance_index((times, events), -np.array(times), method=method) == 1.0
    assert concordance_index((times, events), np.array(times)) == 0.0
    assert concordance_index((times, events), np.full(len(times), 3.0)) == 0.5


# -- contributions, frequencies, weights --------------------------------------------------


@relaxed
@given(samples(min_size=3), trains, st.sampled_from(METHODS), st.sampled_from(TIES))
def test_contributions_are_what_leaving_a_subject_out_takes_away(sample, train, method, ties):
    """C = N/D and c_i = (N_i - C D_i)/D, so that C - C_without = c_i D / (D - D_i)."""
    rows, risk = sample
    assume(any(e for _, e in train))
    y, options = sg.Outcomes(*pair(rows)), {"y_train": pair(train), "method": method, "ties": ties}
    options["censoring"] = "train"
    try:
        whole = concordance_index(y, risk, **options)
    except UndefinedMetricError:
        assume(False)
    assert whole.contributions.sum() == pytest.approx(0, abs=1e-12)
    assert concordance_index(y, risk, **options) == pytest.approx(whole.value, abs=1e-15)
    for i in range(len(rows)):
        others = np.delete(np.arange(len(rows)), i)
        try:
            rest = concordance_index(y[others], risk[others], **options)
        except UndefinedMetricError:
            continue
        share = rest.support["pair_weight"] / whole.support["pair_weight"]
        assert whole.contributions[i] == pytest.approx(
            (whole.value - rest.value) * share, abs=1e-10
        )


@relaxed
@given(samples(), trains, st.sampled_from(METHODS), st.sampled_from(TIES), st.data())
def test_frequencies_are_replicated_rows(sample, train, method, ties, data):
    rows, risk = sample
    assume(any(e for _, e in train))
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    assume(sum(counts) > 1)
    copies = np.repeat(np.arange(len(rows)), counts)
    time, event = (np.array(part) for part in pair(rows))
    options = {"y_train": pair(train), "method": method, "ties": ties, "tau": 5.5}
    try:
        want = concordance_index((time[copies], event[copies]), risk[copies], **options)
    except UndefinedMetricError:
        with pytest.raises(UndefinedMetricError):
            concordance_index(sg.Outcomes(time, event, counts), risk, **options)
        return
    got = concordance_index(sg.Outcomes(time, event, counts), risk, **options)
    assert got.value == pytest.approx(want.value, abs=1e-12)
    assert got.stderr == pytest.approx(want.stderr, abs=1e-9)
    assert got.support["pair_weight"] == pytest.approx(want.support["pair_weight"])


@relaxed
@given(samples(), st.sampled_from(METHODS), st.sampled_from(TIES))
def test_sample_weights_weight_the_pairs(sample, method, ties):
    rows, risk = sample
    assume(any(e for _, e in rows))
    unit = 0.25 + np.arange(len(rows)) % 3
    # As in the reference set, whose G and margin times sample weights leave alone.
    options = {"method": method, "ties": ties, "y_train": pair(rows), "censoring": "train"}
    try:
        got = concordance_index(pair(rows), risk, sample_weight=unit, **options)
    except UndefinedMetricError:
        assume(False)
    if method == "margin":
        scaled = concordance_index(pair(rows), risk, sample_weight=2 * unit, **options)
        assert scaled == pytest.approx(got, abs=1e-13)
        return
    a = None if method == "harrell" else g_squared(rows, rows)
    want = naive_index(rows, by_risk(risk), ties, a=a, unit=unit)
    assert got == pytest.approx(want, abs=1e-12)


def test_frequencies_and_sample_weights_multiply():
    train, test, risk, _, _ = tied_case()
    counts = np.arange(60) % 3 + 1
    weight = 1 + np.arange(60) % 4 / 4
    copies = np.repeat(np.arange(60), counts)
    for ties in TIES:
        options = {"y_train": train, "method": "uno", "ties": ties}
        got = concordance_index(sg.Outcomes(*test, counts), risk, sample_weight=weight, **options)
        long = (test[0][copies], test[1][copies])
        want = concordance_index(long, risk[copies], sample_weight=weight[copies], **options)
        assert got.value == pytest.approx(want.value, abs=1e-13)
        assert got.stderr == pytest.approx(want.stderr, abs=1e-13)


# -- curves -------------------------------------------------------------------------------


@st.composite
def curve_samples(draw):
    rows = draw(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=8))
    m = draw(st.integers(1, 4))
    n = len(rows)
    values = draw(
        st.lists(
            st.lists(st.sampled_from([1.0, 0.75, 0.5, 0.3, 0.0]), min_size=m, max_size=m),
            min_size=n,
            max_size=n,
        )
    )
    survival = -np.sort(-np.array(values), axis=1)
    start = draw(st.sampled_from([0.0, 1.0]))
    if draw(st.booleans()):
        times = start + np.arange(m) * 1.5
    else:
        times = start + np.arange(m) * (1 + 0.5 * (np.arange(n) % 2))[:, None]
    interpolation = draw(st.sampled_from(["linear", "step", "pchip"]))
    tail = draw(st.sampled_from(["linear", "exponential", "hold"]))
    return rows, sg.SurvivalCurves(times, survival, interpolation, tail)


def by_curves(rows, curves):
    """Compare at the anchor's time; within rounding of each other is equal on paper."""
    at = np.stack([curves.at(float(t)) for t, _ in rows])

    def order(i, j):
        gap = at[i, j] - at[i, i]
        return 0.5 if abs(gap) < 1e-12 else float(gap > 0)

    return order


#: Interpolated values that are equal on paper may differ in the last digit.
CLOSE = Convention("close", risk_tolerance=1e-8)
THIRDS = (
    [(2, False), (2, True)],
    sg.SurvivalCurves([0.0, 1.5, 3.0], [[1.0, 0.75, 0.5], [1.0, 1.0, 0.0]]),
)


@relaxed
@given(curve_samples(), st.sampled_from(TIES), taus)
def test_antolini_is_the_double_loop(sample, ties, tau):
    rows, curves = sample
    want = naive_index(rows, by_curves(rows, curves), ties, tau=tau or np.inf)
    options = {"ties": ties, "tau": tau, "convention": CLOSE}
    same_or_undefined(lambda: concordance_td(pair(rows), curves, **options), want)


@relaxed
@given(curve_samples(), trains, st.sampled_from(TIES))
@example(THIRDS, [(0, True)], "risk")
@example(THIRDS, [(0, True)], "none")
def test_the_weighted_form_weights_anchors_as_uno_does(sample, train, ties):
    rows, curves = sample
    want = naive_index(rows, by_curves(rows, curves), ties, a=g_squared(rows, train))
    options = {"method": "ipcw", "y_train": pair(train), "ties": ties}
    options["censoring"] = "train"
    options["convention"] = CLOSE
    same_or_undefined(lambda: concordance_td(pair(rows), curves, **options), want)


@relaxed
@given(curve_samples(), st.sampled_from(TIES), st.data())
def test_curves_with_frequencies_are_replicated_rows(sample, ties, data):
    rows, curves = sample
    counts = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    copies = np.repeat(np.arange(len(rows)), counts)
    time, event = (np.array(part) for part in pair(rows))
    options = {"method": "ipcw", "y_train": (time, event), "ties": ties}
    try:
        want = concordance_td((time[copies], event[copies]), curves[copies], **options)
    except UndefinedMetricError:
        assume(False)
    got = concordance_td(sg.Outcomes(time, event, counts), curves, **options)
    assert got.value == pytest.approx(want.value, abs=1e-12)
    assert got.stderr == pytest.approx(want.stderr, abs=1e-9)


def test_curves_that_do_not_cross_are_harrells():
    train, test, risk, _, _ = tied_case()
    times = np.linspace(0, 15, 31)
    curves = sg.SurvivalCurves(times, np.exp(-times * np.exp(0.3 * risk[:, None] - 2)))
    for td, index in (("antolini", "harrell"), ("ipcw", "uno")):
        got = concordance_td(test, curves, method=td, y_train=train)
        want = concordance_index(test, risk, method=index, y_train=train)
        assert got.value == pytest.approx(want.value, abs=1e-14)
        np.testing.assert_allclose(got.contributions, want.contributions, atol=1e-14)


def test_contributions_of_curves_are_what_leaving_a_subject_out_takes_away():
    train, test, _, grid, survival = tied_case(25)
    y, curves = sg.Outcomes(*test), sg.SurvivalCurves(grid, survival)
    for ties in TIES:
        options = {"method": "ipcw", "y_train": train, "ties": ties, "censoring": "train"}
        whole = concordance_td(y, curves, **options)
        for i in range(25):
            others = np.delete(np.arange(25), i)
            rest = concordance_td(y[others], curves[others], **options)
            share = rest.support["pair_weight"] / whole.support["pair_weight"]
            assert whole.contributions[i] == pytest.approx(
                (whole.value - rest.value) * share, abs=1e-12
            )


def test_past_the_curves_the_tail_decides_or_refuses():
    y = ([1, 5, 9], [1, 1, 1])
    survival = [[1, 0.2], [1, 0.6], [1, 0.4]]
    held = sg.SurvivalCurves([0, 4], survival, tail="hold")
    details = concordance_td(y, held)
    assert details.value == pytest.approx(2 / 3)
    assert details.support["events_past_curves"] == 2
    open_end = sg.SurvivalCurves([0, 4], survival, tail="nan")
    with pytest.raises(UndefinedMetricError, match="curves say nothing past 4"):
        concordance_td(y, open_end)
    assert concordance_td(y, open_end, tau=4.5) == 1.0
    # Curves at zero have nothing left to say.
    ended = sg.SurvivalCurves([0, 4], [[1, 0], [1, 0], [1, 0]], tail="nan")
    assert concordance_td(y, ended) == 0.5


# -- support ------------------------------------------------------------------------------


def test_events_with_g_zero_are_no_anchors_and_are_counted():
    train = ([1, 2, 3, 4], [1, 1, 1, 0])  # G(t) = 0 from 4 on
    test = ([1, 2, 5, 6, 7], [1, 1, 1, 1, 0])
    risk = [5, 4, 1, 2, 3]
    given = {"method": "uno", "y_train": train, "censoring": "train"}
    details = concordance_index(test, risk, **given)
    assert details.value == 1.0
    assert details.support["notes"] == {"no anchors: events with G = 0": 2}
    assert details.support["events_past_reference"] == 2
    assert details.support["largest_weight"] == 1.0
    # Harrell's, which needs no G, keeps them.
    assert concordance_index(test, risk) == pytest.approx(0.7)
    restricted = concordance_index(test, risk, tau=4.0, **given)
    assert restricted.support["notes"] == {}
    assert restricted.support["events_past_tau"] == 2
    assert restricted.convention["anchors"] == "t < tau"


def test_a_given_g_is_used_and_may_depend_on_the_subject():
    train, test, risk, _, _ = tied_case()
    km = sg.KaplanMeier.fit_censoring(train)
    want = concordance_index(test, risk, method="uno", y_train=train, censoring="train")
    assert concordance_index(test, risk, method="uno", censoring=km) == want
    as_function = concordance_index(test, risk, method="uno", censoring=km.at)
    assert as_function == pytest.approx(want, abs=1e-14)
    own = np.where(np.arange(60) % 2, 0.5, 0.0)
    odd = concordance_index(test, risk, method="uno", censoring=lambda t, side: own)
    rows = list(zip(*test, strict=True))
    unit = [2.0 * (i % 2) for i in range(60)]  # 1/G of both, and 0 where there is none
    assert odd.value == pytest.approx(naive_index(rows, by_risk(risk), unit=unit), abs=1e-14)
    lost = int(test[1][::2].sum())
    assert odd.support["notes"] == {"no anchors: events with G = 0": lost}
    assert odd.convention["censoring"] == "given by the caller"


def test_a_wrong_sign_is_noticed_and_bad_luck_is_not():
    train, test, risk, grid, survival = tied_case()
    for details in (
        concordance_index(test, test[0], y_train=train),
        concordance_index(test, -risk, method="uno", y_train=train),
        concordance_td(test, sg.SurvivalCurves(grid, survival[np.argsort(-test[0])])),
    ):
        low = details.value + 1.96 * details.stderr < 0.5
        assert details.support["sign_may_be_wrong"] is low
    assert concordance_index(test, test[0]).support["sign_may_be_wrong"]
    assert not concordance_index(test, risk).support["sign_may_be_wrong"]
    few = ([1, 2, 3], [1, 1, 1])
    assert concordance_index(few, [1, 2, 3]) == 0.0
    assert not concordance_index(few, [1, 2, 3]).support["sign_may_be_wrong"]


def test_risk_scores_are_risks():
    y, risk = ([2, 4, 6, 7], [1, 1, 0, 1]), [3.0, 4.0, 1.0, 2.0]
    scores = sg.RiskScores(risk)
    assert concordance_index(y, scores) == concordance_index(y, risk)
    assert sg.royston_d(y, scores).value == sg.royston_d(y, risk).value
    with pytest.raises(InputError, match="risk must not be NaN; it is for row 2 "):
        sg.RiskScores([1, np.nan])


def test_errors_say_what_to_do():
    y = ([2, 4, 6], [1, 1, 0])
    with pytest.raises(InputError, match="risk must not be NaN; it is for"):
        concordance_index(y, [1, np.nan, 2])
    with pytest.raises(InputError, match="y_true has 3, risk has 2"):
        concordance_index(y, [1, 2])
    curves = sg.SurvivalCurves([0, 5], [[1, 0.5]] * 3)
    with pytest.raises(InputError, match="concordance_td"):
        concordance_index(y, curves)
    with pytest.raises(InputError, match="curves must be SurvivalCurves"):
        concordance_td(y, [1, 2, 3])
    with pytest.raises(InputError, match="one row per subject"):
        concordance_td(y, curves[:2])
    for bad in ({"method": "cox"}, {"ties": "half"}, {"tau": -1.0}, {"convention": "sas"}):
        with pytest.raises(InputError):
            concordance_index(y, [1, 2, 3], **bad)
    with pytest.raises(InputError, match="adjusted"):
        concordance_index(y, [1, 2, 3], method="margin", ties="adjusted")
    with pytest.raises(UndefinedMetricError, match="no pair to compare among 3 subject"):
        concordance_index(([2, 4, 6], [0, 0, 0]), [1, 2, 3])
    with pytest.raises(UndefinedMetricError, match="events at or after tau = 1: 2"):
        concordance_index(y, [1, 2, 3], tau=1.0)
    with pytest.raises(UndefinedMetricError):
        concordance_index(([2], [1]), [1])


# -- comparable pairs ---------------------------------------------------------------------


@relaxed
@given(st.lists(st.booleans(), min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_the_share_of_comparable_pairs_keeps_the_papers_bound(events, random):
    times = list(range(len(events)))
    random.shuffle(times)
    found = comparable_pairs((times, events))
    want = sum(e and t < u for t, e in zip(times, events, strict=True) for u in times)
    assert found.number == want
    assert found.low - 1e-12 <= found.share <= found.high + 1e-12
    n, d = len(events), sum(events)
    first = sorted(range(n), key=lambda i: events[i])  # all censored before the first event
    extreme = comparable_pairs((range(n), [events[i] for i in first]))
    assert extreme.share == pytest.approx(extreme.low)
    last = comparable_pairs((range(n), [events[i] for i in reversed(first)]))
    assert last.share == pytest.approx(last.high)
    assert found.total == n * (n - 1) / 2
    assert found.event_rate == d / n


@relaxed
@given(samples())
def test_comparable_pairs_are_those_of_the_index(sample):
    rows, risk = sample
    number = comparable_pairs(pair(rows)).number
    if number == 0:
        with pytest.raises(UndefinedMetricError):
            concordance_index(pair(rows), risk)
        return
    assert concordance_index(pair(rows), risk).support["pair_weight"] == number


def test_comparable_pairs_needs_two_subjects():
    with pytest.raises(UndefinedMetricError, match="no pair"):
        comparable_pairs(([1], [1]))
    assert comparable_pairs(sg.Outcomes([1, 2], [1, 0], [2, 3])).number == 6


# -- other packages' numbers, pinned ------------------------------------------------------
# Obtained by the calls of tests/peer/test_peer_discrimination.py on tied_case():
#   SurvivalEVAL 0.9.0   PointEvaluator(8 - risk, ...).concordance(ties, method, tau)
#                        SurvivalEvaluator(survival, grid, ...).concordance_time_dependent(...)
#   scikit-survival 0.28 concordance_index_ipcw(train, test, risk, tau)
#   pycox 0.3.0          EvalSurv(curves on these columns).concordance_td(method)
#   hazardous 0.2.0      concordance_index_incidence(..., taus=[5, 8])

SURVIVALEVAL = {  # Harrell, Uno before 8, Margin, Margin before 8
    "risk": (0.6662222222222223, 0.6579267050823783, 0.6568163510135483, 0.6617752952061139),
    "none": (0.6881287726358148, 0.6791362847548663, 0.6783050323131232, 0.6834412372156811),
    "time": (0.665927240461402, 0.659041424366865, 0.6587760651217301, 0.6632831917714561),
    "all": (0.6486486486486487, 0.6420983500311809, 0.6415088089944325, 0.6458915699377369),
}
SURVIVALEVAL_TD = {  # Antolini, IPCW before 8
    "risk": (0.6151111111111112, 0.6027056082920077),
    "none": (0.6189164370982553, 0.6058710925429917),
    "time": (0.605973813420622, 0.5949667032902702),
    "all": (0.6029411764705882, 0.5924118404777098),
}


@pytest.mark.parametrize("ties", SURVIVALEVAL)
def test_survivalevals_numbers(ties):
    train, test, risk, grid, survival = tied_case()
    options = {"y_train": train, "ties": ties, "convention": "survivaleval"}
    calls = (("harrell", None), ("uno", 8.0), ("margin", None), ("margin", 8.0))
    for (method, tau), want in zip(calls, SURVIVALEVAL[ties], strict=True):
        got = concordance_index(test, risk, method=method, tau=tau, **options)
        assert got.value == pytest.approx(want, abs=1e-12)
        assert got.stderr > 0
    curves = sg.SurvivalCurves(grid, survival)
    calls = (("antolini", None), ("ipcw", 8.0))
    for (method, tau), want in zip(calls, SURVIVALEVAL_TD[ties], strict=True):
        got = concordance_td(test, curves, method=method, tau=tau, **options)
        assert got == pytest.approx(want, abs=1e-12)


def test_scikit_survivals_numbers():
    train, test, risk, _, _ = tied_case()
    options = {"method": "uno", "y_train": train, "convention": "sksurv"}
    whole = concordance_index(test, risk, **options)
    assert whole == pytest.approx(0.6559969190075812, abs=1e-12)
    restricted = concordance_index(test, risk, tau=8.0, **options)
    assert restricted == pytest.approx(0.6585701341703455, abs=1e-12)
    assert restricted != concordance_index(test, risk, tau=8.0, method="uno", y_train=train)


@pytest.mark.parametrize(
    ("columns", "antolini", "adjusted"),
    [
        (range(14), 0.5991111111111111, 0.6040575916230366),
        ([0, 4, 8, 12], 0.04622222222222222, 0.569371727748691),
        ([3, 6, 9], 0.632, 0.62467277486911),
    ],
)
def test_pycoxs_numbers(columns, antolini, adjusted):
    _, test, _, grid, survival = tied_case()
    curves = sg.SurvivalCurves(grid[columns], survival[:, columns])
    got = concordance_td(test, curves, convention="pycox")
    assert got == pytest.approx(antolini, abs=1e-12)
    details = concordance_td(test, curves, convention="pycox", ties="adjusted")
    assert details.value == pytest.approx(adjusted, abs=1e-12)
    assert details.contributions is None
    assert details.convention["interpolation"] == "step"


def test_hazardous_numbers():
    train, test, _, grid, survival = tied_case()
    curves = sg.SurvivalCurves(grid, survival)
    for tau, harrell, uno in (
        (5.0, 0.6867088607594937, 0.6667902911601135),
        (8.0, 0.732174688057041, 0.704693955316423),
    ):
        options = {"y_train": train, "tau": tau, "convention": "hazardous"}
        risk = 1 - curves.at(tau)
        got = concordance_index(test, risk, method="harrell", **options)
        assert got == pytest.approx(harrell, abs=1e-12)
        got = concordance_index(test, risk, method="uno", **options)
        assert got.value == pytest.approx(uno, abs=1e-12)
        assert got.convention["anchors"] == "t <= tau"


def test_the_standard_error_is_that_of_the_contributions():
    train, test, risk, _, _ = tied_case()
    details = concordance_index(test, risk, method="uno", y_train=train)
    assert details.stderr == standard_error(details.contributions)
    assert details.stderr == pytest.approx(np.sqrt((details.contributions**2).sum() * 60 / 59))
    assert float(details) == details.value
    assert details.convention["g_ties"] == "events_first"
