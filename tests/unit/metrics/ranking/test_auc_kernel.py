"""Cumulative/dynamic AUC kernels against O(n^2) oracles written from the formulas."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import survgauge as sg
from survgauge.estimators.estimated_g import EstimatedG
from survgauge.metrics.ranking.auc import CasesAndControls, _points


def auc_design(
    time, event, case_weight, times, weight=None, *, controls="later", censoring="fixed",
    control_weight=None,
):  # fmt: skip
    """What the kernel needs of a setting, with weights of cases and controls as given."""
    n = time.size
    y = sg.Outcomes(time, event, weight)
    copies = np.ones(n) if weight is None else weight
    b = (lambda k: np.ones(1)) if control_weight is None else control_weight
    seen = time if controls == "later" else np.where(event, time, np.nextafter(time, np.inf))
    subjects = CasesAndControls(seen, copies * case_weight * event, copies, None)
    ordered = times.tolist()
    setting = SimpleNamespace(
        subjects=subjects,
        y=y,
        asked=times,
        survivor_weight=lambda t: np.atleast_1d(b(ordered.index(t))),
        stderr="estimated",
        weights=SimpleNamespace(
            estimated=None if censoring == "fixed" else EstimatedG(y, kind=censoring)
        ),
    )
    sums = [[part.sum() for part in subjects.at(t, setting.survivor_weight(t))] for t in ordered]
    setting.cases_total, setting.controls_total = np.array(sums).T
    setting.supported = (setting.cases_total > 0) & (setting.controls_total > 0)
    return setting


def auc_at_times(time, event, case_weight, risk, times, weight=None, **options):
    """`auc_design` and `auc_parts` in one call, for a single model."""
    km_drop = options.pop("km_drop", None)
    design = auc_design(time, event, case_weight, times, weight, **options)
    return auc_parts(design, risk, km_drop=km_drop)


def auc_influence(design, risk):
    """AUC and its derivatives by the frequencies (times n) at all times; NaN where undefined."""
    defined = np.flatnonzero(design.supported).tolist()
    weight = design.y.weight
    column = (risk(k).astype(float) for k in defined) if callable(risk) else risk.astype(float)
    nothing = np.full(weight.size, np.nan)
    points = [
        SimpleNamespace(k=k, value=np.nan, influence=nothing) for k in range(design.asked.size)
    ]
    scale = np.divide(weight.sum(), weight, where=weight > 0, out=np.zeros(weight.size))
    for k, (value, influence) in zip(defined, _points(design, column, True), strict=True):
        points[k] = SimpleNamespace(k=k, value=value, influence=influence * scale)
    return points


def auc_parts(design, risk, km_drop=None):
    """AUC with variances at all times, and their mean over the defined ones."""
    points, weight = auc_influence(design, risk), design.y.weight
    values = np.array([point.value for point in points])
    found = SimpleNamespace(
        values=values,
        variance=np.array([influence_variance(point.influence, weight) for point in points]),
        controls=design.controls_total,
        case_weight=design.cases_total,
    )
    if km_drop is not None:
        drop = np.where(np.isfinite(values), km_drop, 0.0)
        share = drop / drop.sum() if drop.sum() > 0 else np.full(drop.size, np.nan)
        used = [(share[p.k], p) for p in points if np.isfinite(p.value)]
        found.mean = sum(k * p.value for k, p in used) if used else np.nan
        found.mean_influence = sum((k * p.influence for k, p in used), np.zeros(weight.size))
        found.mean_variance = influence_variance(found.mean_influence, weight)
    return found


def influence_variance(influence, weight=None):
    """Variance of an estimate from its centred influences."""
    weight = np.ones(influence.size) if weight is None else weight
    n = weight.sum()
    return (weight * influence**2).sum() / (n * (n - 1)) if n > 1 else np.nan


def order_kernel(risk):
    """K(i, j): 1 where i has the higher risk, 1/2 where equal."""
    return (risk[:, None] > risk[None, :]) + 0.5 * (risk[:, None] == risk[None, :])


def naive_g_left(time, event, weight):
    """G(t_i-) of every subject: events leave before censorings at the same time."""
    left, g = {}, 1.0
    for u in np.unique(time):
        left[u] = g
        at_risk = weight[(time > u) | ((time == u) & ~event)].sum()
        censored = weight[(time == u) & ~event].sum()
        if at_risk != 0:
            g = g * (1 - censored / at_risk)
    return np.array([left[u] for u in time])


def naive_weights(time, event, case_weight, t, weight, controls="later", control_weight=None):
    later = time > t
    if controls == "later_or_censored":
        later = later | ((time == t) & ~event)
    b = np.ones(time.size) if control_weight is None else control_weight
    return weight * np.where(event & (time <= t), case_weight, 0.0), weight * np.where(later, b, 0)


def naive_auc(time, event, case_weight, risk, t, weight, **options):
    a, b = naive_weights(time, event, case_weight, t, weight, **options)
    if a.sum() == 0 or b.sum() == 0:
        return np.nan
    return a @ order_kernel(risk) @ b / (a.sum() * b.sum())


def naive_influence(time, event, case_weight, risk, t, weight, **options):
    """The derivative with respect to each frequency, times n, with G held: by complex steps."""
    return complex_step(
        lambda w: naive_auc(time, event, case_weight, risk, t, w, **options), weight
    )


def complex_step(function, weight):
    n, out = weight.sum(), np.empty(weight.size)
    for i in range(weight.size):
        moved = weight.astype(complex)
        moved[i] += 1e-30j
        out[i] = function(moved).imag / 1e-30 * n
    return out


@st.composite
def data(draw, max_size=14):
    """Outcomes and risks on few distinct values, so that every kind of tie occurs."""
    n = draw(st.integers(2, max_size))
    whole = st.integers(0, 5).map(float)
    time = draw(hnp.arrays(float, n, elements=whole))
    event = draw(hnp.arrays(bool, n))
    risk = draw(hnp.arrays(float, n, elements=st.sampled_from([-1.5, 0.0, 0.1, 0.3, 2.0])))
    weight = draw(hnp.arrays(float, n, elements=st.sampled_from([1.0, 2.0, 3.0])))
    case_weight = draw(hnp.arrays(float, n, elements=st.sampled_from([1.0, 1.25, 2.0, 0.0])))
    return time, event, case_weight, risk, weight


TIMES = np.array([2.0, 0.0, 4.5, 1.0, 3.0, 5.0])  # unsorted on purpose; 5.0 has no controls


@given(data(), st.sampled_from(["later", "later_or_censored"]))
def test_values_and_totals_equal_the_double_sum(sample, controls):
    time, event, case_weight, risk, weight = sample
    parts = auc_at_times(time, event, case_weight, risk, TIMES, weight, controls=controls)
    for k, t in enumerate(TIMES):
        expected = naive_auc(time, event, case_weight, risk, t, weight, controls=controls)
        np.testing.assert_allclose(parts.values[k], expected, atol=1e-14)
        a, b = naive_weights(time, event, case_weight, t, weight, controls)
        assert parts.case_weight[k] == pytest.approx(a.sum(), abs=1e-12)
        assert parts.controls[k] == b.sum()


@given(data(), st.sampled_from(["later", "later_or_censored"]))
def test_influence_is_the_derivative_by_the_frequencies(sample, controls):
    time, event, case_weight, risk, weight = sample
    design = auc_design(time, event, case_weight, TIMES, weight, controls=controls)
    parts = auc_parts(design, risk)
    for point, variance in zip(auc_influence(design, risk), parts.variance, strict=True):
        t = TIMES[point.k]
        expected = naive_influence(time, event, case_weight, risk, t, weight, controls=controls)
        if np.isnan(point.value):
            assert np.isnan(point.influence).all()
            assert np.isnan(variance)
            continue
        np.testing.assert_allclose(point.influence, expected, atol=1e-11)
        n = weight.sum()
        expected_variance = (weight * expected**2).sum() / (n * (n - 1))
        assert variance == pytest.approx(expected_variance, abs=1e-12)


@given(data())
def test_influence_with_estimated_g_is_the_derivative_of_everything(sample):
    time, event, _, risk, weight = sample
    case_weight = inverse(naive_g_left(time, event, weight))
    design = auc_design(time, event, case_weight, TIMES, weight, censoring="estimated")

    def full(w, t):
        return naive_auc(time, event, inverse(naive_g_left(time, event, w)), risk, t, w)

    for point in auc_influence(design, risk):
        if np.isfinite(point.value):
            t = TIMES[point.k]
            expected = complex_step(lambda w, t=t: full(w, t), weight)
            np.testing.assert_allclose(point.influence, expected, atol=1e-10)
            assert abs((weight * point.influence).sum()) < 1e-9


def inverse(g):
    """1/G, and 0 (left out) where G = 0."""
    out = np.zeros(g.size, dtype=g.dtype)
    np.divide(1.0, g, out=out, where=g != 0)
    return out


@given(data(), st.sampled_from(["fixed", "estimated", "hazard"]))
def test_frequencies_equal_copies(sample, censoring):
    time, event, case_weight, risk, weight = sample
    copies = np.repeat(np.arange(time.size), weight.astype(int))
    drop = np.array([0.1, 0.0, 0.2, 0.3, 0.1, 0.1])
    options = {"km_drop": drop, "censoring": censoring}
    weighted = auc_at_times(time, event, case_weight, risk, TIMES, weight, **options)
    long = (x[copies] for x in (time, event, case_weight, risk))
    copied = auc_at_times(*long, TIMES, **options)
    for name in ("values", "variance", "controls", "mean", "mean_variance"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(copied, name), atol=1e-12)
    np.testing.assert_allclose(weighted.mean_influence[copies], copied.mean_influence, atol=1e-11)


@given(data())
def test_reversing_the_risk_gives_the_complement(sample):
    time, event, case_weight, risk, weight = sample
    up = auc_at_times(time, event, case_weight, risk, TIMES, weight)
    down = auc_at_times(time, event, case_weight, -risk, TIMES, weight)
    np.testing.assert_allclose(down.values, 1 - up.values, atol=1e-14)
    np.testing.assert_allclose(down.variance, up.variance, atol=1e-13)


@given(data(), st.randoms(use_true_random=False))
def test_order_of_subjects_and_of_times_does_not_matter(sample, random):
    time, event, case_weight, risk, weight = sample
    rows, columns = list(range(time.size)), list(range(TIMES.size))
    random.shuffle(rows)
    random.shuffle(columns)
    plain = auc_at_times(time, event, case_weight, risk, TIMES, weight)
    shuffled = (x[rows] for x in (time, event, case_weight, risk))
    other = auc_at_times(*shuffled, TIMES[columns], weight[rows])
    np.testing.assert_allclose(other.values, plain.values[columns], atol=1e-14)
    np.testing.assert_allclose(other.variance, plain.variance[columns], atol=1e-13)


@given(data(), st.sampled_from([np.float32, np.float64]))
def test_a_column_per_time_is_one_risk_at_each_time(sample, dtype):
    time, event, case_weight, risk, weight = sample
    matrix = (risk[:, None] * np.cos(np.arange(TIMES.size))).astype(dtype)
    columns = auc_at_times(time, event, case_weight, lambda k: matrix[:, k], TIMES, weight)
    for k in range(TIMES.size):
        single = auc_at_times(time, event, case_weight, matrix[:, k], TIMES[[k]], weight)
        np.testing.assert_allclose(columns.values[k], single.values[0], atol=1e-14)
        np.testing.assert_allclose(columns.variance[k], single.variance[0], atol=1e-14)


@given(data())
def test_control_weights_that_depend_on_the_subject(sample):
    time, event, case_weight, risk, weight = sample
    b = 1.0 + 0.3 * np.arange(time.size)[:, None] * np.linspace(0.1, 1, TIMES.size)
    design = auc_design(time, event, case_weight, TIMES, weight, control_weight=lambda k: b[:, k])
    for point in auc_influence(design, risk):
        t, b_t = TIMES[point.k], b[:, point.k]
        args = (time, event, case_weight, risk, t, weight)
        np.testing.assert_allclose(point.value, naive_auc(*args, control_weight=b_t), atol=1e-14)
        if np.isfinite(point.value):
            expected = naive_influence(*args, control_weight=b_t)
            np.testing.assert_allclose(point.influence, expected, atol=1e-11)


def test_equal_control_weights_cancel():
    rng = np.random.default_rng(3)
    time, event, risk = rng.exponential(size=50), rng.random(50) < 0.6, rng.normal(size=50)
    times = np.array([0.5, 1.0])
    plain = auc_at_times(time, event, np.ones(50), risk, times)
    divided = auc_at_times(
        time, event, np.ones(50), risk, times, control_weight=lambda k: np.full(50, 3)
    )
    np.testing.assert_allclose(divided.values, plain.values, rtol=1e-14)
    np.testing.assert_allclose(divided.variance, plain.variance, rtol=1e-13)


def test_without_censoring_it_is_the_area_under_the_roc_curve():
    rng = np.random.default_rng(0)
    time, risk = rng.exponential(size=300), np.round(rng.normal(size=300), 1)
    t = 0.7
    value = auc_at_times(time, np.ones(300, bool), np.ones(300), risk, np.array([t])).values[0]
    # The ROC curve itself: the share of cases and controls at or above each threshold.
    thresholds = np.concatenate(([np.inf], np.unique(risk)[::-1]))
    hit = [(risk[time <= t] >= c).mean() for c in thresholds]
    false_alarm = [(risk[time > t] >= c).mean() for c in thresholds]
    area = sum(
        (false_alarm[k + 1] - false_alarm[k]) * (hit[k + 1] + hit[k]) / 2
        for k in range(len(hit) - 1)
    )
    assert value == pytest.approx(area, abs=1e-13)


def test_perfect_order_and_constant_risk():
    time, event = np.arange(1.0, 21.0), np.ones(20, bool)
    times = np.array([4.0, 10.5, 19.0])
    perfect = auc_at_times(time, event, np.ones(20), -time, times)
    constant = auc_at_times(time, event, np.ones(20), np.zeros(20), times)
    np.testing.assert_array_equal(perfect.values, 1.0)
    np.testing.assert_array_equal(perfect.variance, 0.0)
    np.testing.assert_array_equal(constant.values, 0.5)
    np.testing.assert_array_equal(constant.variance, 0.0)


def test_infinite_risks_are_ordered():
    """A curve that never falls has median inf, so -inf as risk."""
    time, event = np.arange(1.0, 5.0), np.ones(4, bool)
    risk = np.array([np.inf, -np.inf, 0.0, -np.inf])
    value = auc_at_times(time, event, np.ones(4), risk, np.array([2.0])).values[0]
    assert value == (1 + 1 + 0 + 0.5) / 4


def test_difference_of_two_models_in_one_walk():
    """With a shared design the paired variance is that of the difference of influences."""
    rng = np.random.default_rng(5)
    time, event = rng.exponential(size=80), rng.random(80) < 0.7
    first, second = rng.normal(size=80), rng.normal(size=80)
    times, weight = np.array([0.3, 0.9]), np.ones(80)
    design = auc_design(time, event, np.ones(80), times)
    for a, b in zip(auc_influence(design, first), auc_influence(design, second), strict=True):
        t = times[a.k]
        expected = [
            naive_influence(time, event, np.ones(80), r, t, weight) for r in (first, second)
        ]
        np.testing.assert_allclose(a.influence - b.influence, expected[0] - expected[1], atol=1e-11)


def test_memory_does_not_grow_with_the_number_of_times():
    rng = np.random.default_rng(2)
    n, n_times = 20_000, 60
    time, event, risk = rng.exponential(size=n), rng.random(n) < 0.6, rng.normal(size=n)
    times = np.quantile(time, np.linspace(0.1, 0.9, n_times))
    tracemalloc.start()
    design = auc_design(time, event, np.ones(n), times, censoring="estimated")
    for _, influence in _points(design, (risk + t for t in times), True):
        assert influence.size == n
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * 8 * n  # a few vectors; an n x T matrix alone would be 60


# Recipe (R 4.2.2, riskRegression 2022.11.28, survival 3.5.3), for each of the two sets below:
#   d <- data.frame(time, event, a, b); p <- function(x) matrix(rep(x, 2), ncol = 2)
#   s <- Score(list(a = p(d$a), b = p(d$b)), Surv(time, event) ~ 1, data = d, times = times,
#              metrics = "auc", cens.model = "km", conservative = FALSE)
#   s$AUC$score[, c("AUC", "se")]; s$AUC$contrasts$se
# conservative = TRUE leaves the part of the estimated G out of the standard errors.
R_EVENT = np.array([1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1], dtype=bool)
R_A = "0.36 0.51 0.18 0.2 0.76 0.28 0.79 0.65 0.49 0.27 0.3 0.41 0.18 0.44 0.24 0.5 0.44 0.71"
R_B = "0.3 0.6 0.3 0.2 0.8 0.2 0.3 0.8 0.4 0.3 0.2 0.3 0.2 0.2 0.6 0.6 0.6 0.6"
R_SETS = {
    "distinct": {
        "time": "9.086 17.811 2.661 4.134 2.126 2.083 9.167 0.022 1.358 "
        "0.181 13.757 15.393 3.309 6.962 9.472 11.729 1.301 1.507",
        "times": [2.0, 5.0],
        "auc": [[0.758323765786452, 0.763048780487805], [0.815154994259472, 0.850731707317073]],
        "hazard": [
            [0.114595154251264, 0.136411665049543],
            [0.0961311726034156, 0.0953367501288855],
        ],
        "hazard_contrast": [0.0974307363532945, 0.144238553693717],
        "fixed": [[0.11460260012876, 0.136432325389433], [0.0961558258332145, 0.0953892936686928]],
        "fixed_contrast": [0.0974346286780771, 0.144240724868178],
    },
    "tied": {
        "time": "6 6 2 3 2 2 6 1 1 1 6 6 3 5 6 6 1 2",
        "times": [2.0, 3.0],
        "auc": [[0.8125, 0.765625], [0.88125, 0.8515625]],
        "hazard": [[0.112900768851414, 0.135876650114137], [0.0780808775212591, 0.094566005223188]],
        "hazard_contrast": [0.116016279156251, 0.144344759492872],
        "fixed": [[0.11288259877867, 0.135853059920102], [0.0780743095354437, 0.0945575317186622]],
        "fixed_contrast": [0.116011858894716, 0.144339208304289],
    },
}


@pytest.mark.parametrize("name", R_SETS)
@pytest.mark.parametrize("censoring", ["fixed", "hazard"])
def test_standard_errors_of_risk_regression(name, censoring):
    expected = R_SETS[name]
    time, risk_a, risk_b = (np.array(x.split(), float) for x in (expected["time"], R_A, R_B))
    times = np.array(expected["times"])
    case_weight = 1 / naive_g_left(time, R_EVENT, np.ones(time.size))
    design = auc_design(time, R_EVENT, case_weight, times, censoring=censoring)
    for model, risk in enumerate((risk_a, risk_b)):
        parts = auc_parts(design, risk)
        np.testing.assert_allclose(parts.values, expected["auc"][model], rtol=1e-13)
        np.testing.assert_allclose(np.sqrt(parts.variance), expected[censoring][model], rtol=1e-13)
    pairs = zip(auc_influence(design, risk_a), auc_influence(design, risk_b), strict=True)
    contrast = [influence_variance(b.influence - a.influence) ** 0.5 for a, b in pairs]
    np.testing.assert_allclose(contrast, expected[f"{censoring}_contrast"], rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("censoring", ["fixed", "estimated"])
def test_intervals_cover_the_limit(censoring):
    """95 % intervals of AUC(t) and of the mean contain their limits in 93 to 97 % of 2,000 runs."""
    rng = np.random.default_rng(20)
    times, drop = np.array([0.3, 0.8]), np.array([1.0, 2.0])

    def draw(n):
        x = rng.normal(size=n)
        t, c = rng.exponential(np.exp(-0.7 * x)), rng.exponential(1.5, size=n)
        return np.minimum(t, c), t <= c, x + rng.normal(size=n), np.exp(np.minimum(t, c) / 1.5)

    time, event, risk, known = draw(1_000_000)
    limit = auc_at_times(time, event, known, risk, times, km_drop=drop)
    runs = 2000
    hits = np.zeros(3)
    for _ in range(runs):
        time, event, risk, known = draw(500)
        weights = known if censoring == "fixed" else 1 / sorted_g_left(time, event)
        parts = auc_at_times(time, event, weights, risk, times, km_drop=drop, censoring=censoring)
        error = np.append(parts.values - limit.values, parts.mean - limit.mean)
        hits += np.abs(error) < 1.959964 * np.sqrt(np.append(parts.variance, parts.mean_variance))
    assert (np.abs(hits / runs - 0.95) < 0.02).all(), hits / runs


def sorted_g_left(time, event):
    """G(t-) for distinct times, fast enough for a simulation."""
    order = np.argsort(time)
    factor = 1 - ~event[order] / np.arange(time.size, 0, -1)
    out = np.empty(time.size)
    out[order] = np.concatenate(([1.0], np.cumprod(factor)[:-1]))
    return out
