"""Under delayed entry metrics are unbiased and intervals cover; ignoring it biases them."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details

pytestmark = pytest.mark.slow

RUNS, N, AT, TAU = 1500, 500, 5.0, 12.0
GRID = np.append(np.linspace(0.5, 15.0, 30), [20.0, 30.0, 60.0])
TIMES = np.linspace(0.5, 10.0, 20)
NAMES = ("brier", "ibs", "auc", "uno", "harrell", "mae_dr", "mae_ipcw_d", "crps", "oe")
#: Their limit depends on how many are censored; that of the others does not.
CENSORED = ("harrell", "crps", "oe")
#: What ignoring delayed entry shifts by more than a tenth.
SHIFTED = ("brier", "ibs", "mae_dr", "mae_ipcw_d", "crps", "oe")


def draw(
    rng: np.random.Generator,
    n: int,
    censored: bool = True,
    *,
    median: float = 11.0,
    latest: float = 10.0,
    last: float = 25.0,
) -> tuple[sg.Outcomes, sg.SurvivalCurves]:
    """Subjects who are seen from some time on, and a model that is somewhat off."""
    x = rng.normal(size=8 * n)
    time = 10 * np.exp(-0.6 * x) * rng.weibull(1.5, x.size)
    end = rng.uniform(3, last, x.size)
    entry = rng.uniform(0, latest, x.size)
    keep = np.flatnonzero(np.minimum(time, end) > entry)[:n]
    seen = np.minimum(time, end) if censored else time
    y = sg.Outcomes(seen[keep], (time <= end)[keep] | (not censored), entry=entry[keep])
    scale = median * np.exp(-0.4 * x[keep])
    return y, sg.SurvivalCurves(GRID, np.exp(-((GRID / scale[:, None]) ** 1.5)))


def scores(y: sg.Outcomes, curves: sg.SurvivalCurves) -> np.ndarray:
    """Value and standard error of each metric."""
    risk = -curves.median()
    found = [
        sg.brier_score(y, curves, [AT]).details,
        sg.integrated_brier_score(y, curves, TIMES),
        cumulative_dynamic_auc_details(y, curves, [AT]),
        sg.concordance_index(y, risk, method="uno", tau=TAU),
        sg.concordance_index(y, risk, tau=TAU),
        sg.time_error(y, curves, method="dr", tau=TAU),
        sg.time_error(y, curves, method="ipcw_d", tau=TAU),
        sg.crps(y, curves, tau=TAU),
        sg.observed_expected(y, curves, AT),
    ]
    return np.array([(one.value, one.stderr) for one in found])


def limits(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Values for very many subjects, and of the same subjects with their entries ignored."""
    truth = scores(*draw(rng, 60_000, censored=False))[:, 0]
    y, curves = draw(rng, 60_000)
    known = [NAMES.index(name) for name in CENSORED]
    truth[known] = scores(y, curves)[known, 0]
    return truth, scores(sg.Outcomes(y.time, y.event), curves)[:, 0]


def test_unbiased_and_covered() -> None:
    rng = np.random.default_rng(19)
    truth, ignored = limits(rng)
    shift = dict(zip(NAMES, ignored / truth - 1, strict=True))
    assert min(abs(shift[name]) for name in SHIFTED) > 0.1, shift
    runs = np.array([scores(*draw(rng, N)) for _ in range(RUNS)])
    values, errors = runs[..., 0], runs[..., 1]
    assert (abs(values.mean(axis=0) / truth - 1) < 0.02).all()
    np.testing.assert_allclose(errors.mean(axis=0), values.std(axis=0), rtol=0.08)
    covered = (abs(values - truth) < 1.959964 * errors).mean(axis=0)
    assert ((covered > 0.93) & (covered < 0.97)).all(), dict(zip(NAMES, covered, strict=True))


#: A scenario in which ignoring entry shifts Cox's coefficients by a sixth.
LATE = {"latest": 20.0, "last": 40.0}
#: A model whose risks are far too low, so that ICI is more than noise.
LOW = {"median": 16.0}


def by_risk_sets(y: sg.Outcomes, curves: sg.SurvivalCurves) -> np.ndarray:
    """Value and standard error of what compares those at risk together."""
    found = [
        sg.calibration_slope_cox(y, curves, AT),
        sg.royston_d(y, -curves.median()),
        sg.concordance_td(y, curves, tau=TAU),
        sg.concordance_td(y, curves, tau=TAU, method="ipcw"),
    ]
    return np.array([(one.value, one.stderr) for one in found])


def test_slope_royston_and_antolini() -> None:
    rng = np.random.default_rng(22)
    many, censored, ignored = [], [], []
    for _ in range(4):
        many.append(by_risk_sets(*draw(rng, 25_000, censored=False, **LATE))[:, 0])
        y, curves = draw(rng, 25_000, **LATE)
        censored.append(by_risk_sets(y, curves)[:, 0])
        ignored.append(by_risk_sets(sg.Outcomes(y.time, y.event), curves)[:, 0])
    truth, seen = np.mean(many, axis=0), np.mean(censored, axis=0)
    truth[0] = 1.5  # the model has two thirds of the true coefficient
    truth[1:3] = seen[1:3]  # D and Antolini's C depend on how many are censored
    shift = np.mean(ignored, axis=0) / truth - 1
    assert (shift[:2] > 0.1).all(), shift
    assert (shift[2:] > 0.02).all(), shift
    assert abs(seen[0] / 1.5 - 1) < 0.01
    runs = np.array([by_risk_sets(*draw(rng, N, **LATE)) for _ in range(RUNS)])
    assert_covered(("slope", "royston", "antolini", "antolini_ipcw"), runs, truth)


def assert_covered(names: tuple[str, ...], runs: np.ndarray, truth: np.ndarray) -> None:
    """Values are right on average, standard errors are their spread, and intervals cover."""
    values, errors = runs[..., 0], runs[..., 1]
    bias = dict(zip(names, values.mean(axis=0) / truth - 1, strict=True))
    assert max(map(abs, bias.values())) < 0.02, bias
    np.testing.assert_allclose(errors.mean(axis=0), values.std(axis=0), rtol=0.08)
    covered = (abs(values - truth) < 1.959964 * errors).mean(axis=0)
    told = dict(zip(names, covered, strict=True))
    assert ((covered > 0.93) & (covered < 0.97)).all(), told


def at_a_time(y: sg.Outcomes, curves: sg.SurvivalCurves) -> tuple[np.ndarray, tuple[float, ...]]:
    """Intercept and slope at a time with their standard errors; ICI with its interval."""
    weak = sg.weak_calibration(y, curves, AT)
    ici = sg.integrated_calibration_index(y, curves, AT)
    found = [(one.value, one.stderr) for one in (weak.intercept, weak.slope)]
    return np.array(found), (ici.ici, *ici.interval())


def test_calibration_at_a_time() -> None:
    rng = np.random.default_rng(23)
    many, ignored = [], []
    for _ in range(8):
        found, ici = at_a_time(*draw(rng, 60_000, censored=False, **LOW))
        many.append([*found[:, 0], ici[0]])
    y, curves = draw(rng, 60_000, **LOW)
    found, ici = at_a_time(sg.Outcomes(y.time, y.event), curves)
    truth, ignored = np.mean(many, axis=0), np.array([*found[:, 0], ici[0]])
    assert (abs(ignored / truth - 1) > 0.1).all(), ignored / truth - 1
    # A slope by a link that bends is 2 % too large for 500 subjects, and less for more.
    drawn = [at_a_time(*draw(rng, 2 * N, **LOW)) for _ in range(RUNS)]
    assert_covered(("intercept", "slope_at"), np.array([one for one, _ in drawn]), truth[:2])
    value, low, high = np.array([one for _, one in drawn]).T
    assert abs(value.mean() / truth[2] - 1) < 0.02
    assert 0.93 < np.mean((low <= truth[2]) & (truth[2] <= high)) < 0.97


def test_ici_of_a_true_model() -> None:
    """Where the curve is the diagonal, ICI is noise, and the result expects a little more of it."""
    rng, drawn = np.random.default_rng(24), []
    for _ in range(600):
        ici = sg.integrated_calibration_index(*true_model(rng, 3 * N), AT)
        drawn.append((ici.ici, ici.expected_if_calibrated, ici.interval()[0]))
    value, expected, low = np.array(drawn).T
    assert 0.85 < value.mean() / expected.mean() < 1.02
    assert np.mean(low == 0) > 0.95


def scored_by_g(
    y: sg.Outcomes, curves: sg.SurvivalCurves, train: sg.Outcomes
) -> tuple[np.ndarray, np.ndarray]:
    """IBLL, IPA and net benefit; then AUC at three times and its mean."""
    auc = sg.cumulative_dynamic_auc(y, curves, [3.0, 5.0, 8.0], stderr="auto")
    found = [
        sg.integrated_binomial_log_likelihood(y, curves, TIMES),
        sg.brier_skill(y, curves, [AT], y_train=train).details,
        sg.brier_skill(y, curves, TIMES, y_train=train).details,
    ]
    gain = sg.net_benefit(y, curves, AT, thresholds=[0.2])
    pairs = [(one.value, one.stderr) for one in found]
    pairs.append((float(gain.values[0]), float(gain.stderr[0])))
    ranks = np.stack((np.append(auc.values, auc.mean), np.append(auc.stderr, auc.details.stderr)))
    return np.array(pairs), ranks.T


def test_log_loss_accuracy_and_auc_of_several_times() -> None:
    rng = np.random.default_rng(25)
    train = draw(rng, 5_000)[0]
    many = [scored_by_g(*draw(rng, 60_000, censored=False), train) for _ in range(6)]
    truth, ranked = (np.mean([one[k][:, 0] for one in many], axis=0) for k in (0, 1))
    y, curves = draw(rng, 60_000)
    plain = sg.Outcomes(y.time, y.event)
    ignored, _ = scored_by_g(plain, curves, sg.Outcomes(train.time, train.event))
    assert (abs(ignored[:, 0] / truth - 1) > 0.1).all(), ignored[:, 0] / truth - 1
    drawn = [scored_by_g(*draw(rng, N), train) for _ in range(RUNS)]
    names = ("ibll", "ipa", "ipa_mean", "net_benefit")
    assert_covered(names, np.array([one for one, _ in drawn]), truth)
    values, errors = np.moveaxis(np.array([one for _, one in drawn]), -1, 0)
    # As `evaluate` has it, intervals are symmetric in the logit.
    logit = np.stack((np.log(values / (1 - values)), errors / (values * (1 - values))), axis=-1)
    covered = abs(logit[..., 0] - np.log(ranked / (1 - ranked))) < 1.959964 * logit[..., 1]
    assert (abs(values.mean(axis=0) / ranked - 1) < 0.02).all()
    share = covered.mean(axis=0)
    assert ((share > 0.93) & (share < 0.97)).all(), share


def true_model(rng: np.random.Generator, n: int) -> tuple[sg.Outcomes, sg.SurvivalCurves]:
    """Subjects, four in five of whom enter late, and the curves that they were drawn from."""
    x = rng.normal(size=8 * n)
    scale = 10 * np.exp(-0.6 * x)
    time, end = scale * rng.weibull(1.5, x.size), rng.uniform(3, 25, x.size)
    entry = rng.uniform(0, 10, x.size) * (rng.random(x.size) < 0.8)
    keep = np.flatnonzero(np.minimum(time, end) > entry)[:n]
    y = sg.Outcomes(np.minimum(time, end)[keep], (time <= end)[keep], entry=entry[keep])
    grid = np.append(np.linspace(0.1, 15, 150), [17.0, 20.0, 25.0, 30.0, 40.0, 60.0])
    return y, sg.SurvivalCurves(grid, np.exp(-((grid / scale[keep, None]) ** 1.5)))


def test_calibration_of_a_true_model() -> None:
    rng = np.random.default_rng(20)
    p_values, distances, expected, low = [], [], [], []
    for _ in range(600):
        y, curves = true_model(rng, 400)
        p_values.append([sg.one_calibration(y, curves, t).p_value for t in (5.0, 8.0)])
        found = sg.km_calibration(y, curves, tau=12.0)
        distances.append(found.value)
        assert found.distribution is not None
        expected.append(found.distribution.expected_if_calibrated)
        low.append(found.distribution.limits(0.95)[0])
    size = (np.array(p_values) < 0.05).mean(axis=0)
    assert ((size > 0.03) & (size < 0.075)).all(), size
    assert abs(np.mean(distances) / np.mean(expected) - 1) < 0.2
    assert np.mean(np.array(low) == 0) > 0.95


def test_pseudo_observations_are_right_given_entry_and_features() -> None:
    """In groups of features and of entries they have the mean of the true times."""
    rng, tau, runs = np.random.default_rng(21), 10.0, []
    for _ in range(300):
        x = rng.normal(size=3_200)
        time = 10 * np.exp(-0.6 * x) * rng.weibull(1.5, x.size)
        end, entry = rng.uniform(3, 25, x.size), rng.uniform(0, 9, x.size)
        keep = np.flatnonzero(np.minimum(time, end) > entry)[:400]
        time, end, entry, x = time[keep], end[keep], entry[keep], x[keep]
        y = sg.Outcomes(np.minimum(time, end), time <= end, entry=entry)
        gap = sg.pseudo_observations(y, tau=tau) - np.minimum(time, tau)
        runs.append([gap[part].mean() for part in (x < 0, x >= 0, entry > 4, entry <= 4)])
    assert (np.abs(np.mean(runs, axis=0)) < 0.02).all()
