"""Absent subjects in calibration metrics, and monotone cubics on own grids that start late."""

import numpy as np
import pytest

import survgauge as sg


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    scale = 10 * np.exp(0.5 * rng.standard_normal(n))
    time, end = scale * rng.weibull(1.5, n), rng.uniform(0, 25, n)
    return np.minimum(time, end), time <= end, scale


def curves(scale, grids, interpolation="linear", tail="exponential"):
    grids = np.asarray(grids)
    return sg.SurvivalCurves(grids, np.exp(-((grids / scale[:, None]) ** 1.5)), interpolation, tail)


CALLS = {
    "km_calibration": lambda y, c: sg.km_calibration(y, c),
    "d_calibration": lambda y, c: sg.d_calibration(y, c),
    "d_calibration chi2": lambda y, c: sg.d_calibration(y, c, method="chi2"),
    "ici": lambda y, c: sg.integrated_calibration_index(y, c, 6.0),
    "slope": lambda y, c: sg.calibration_slope(y, c, 6.0),
    "one_calibration": lambda y, c: sg.one_calibration(y, c, 6.0, groups=4),
    "one_calibration dn": lambda y, c: sg.one_calibration(y, c, 6.0, groups=4, method="dn"),
}


def told(result):
    """Value, with standard error and limits where there are any."""
    names = ("value", "ici", "p_value", "statistic", "stderr")
    found = [float(getattr(result, name)) for name in names if hasattr(result, name)]
    distribution = getattr(result, "distribution", None)
    return found if distribution is None else [*found, *distribution.limits(0.95)]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("own_grids", [False, True])
@pytest.mark.parametrize("extreme", [1e-3, 1e3])
def test_subjects_of_weight_zero_change_no_calibration_metric(name, own_grids, extreme):
    time, event, scale = draw(120)
    absent = np.arange(0, 120, 5)
    scale[absent] *= extreme
    time[absent[0]] = 500.0  # long after the others
    end = np.where(np.arange(120) % 5 == 0, 30.0, 60.0) if own_grids else np.full(120, 60.0)
    grids = np.linspace(0.0, 1.0, 41) * end[:, None]
    given = curves(scale, grids if own_grids else grids[0])
    weight = np.ones(120)
    weight[absent] = 0
    rows = np.flatnonzero(weight)
    found = told(CALLS[name](sg.Outcomes(time, event, weight), given))
    want = told(CALLS[name](sg.Outcomes(time[rows], event[rows]), given[rows]))
    assert np.isfinite(want).all()
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("tail", ["linear", "exponential", "hold"])
def test_km_calibration_of_late_cubics_is_that_of_a_loop(tail):
    time, event, scale = draw(8, 3)
    starts = np.linspace(1.0, 8.0, 8)
    grids = starts[:, None] + np.linspace(0.0, 30.0, 7)
    given = curves(scale, grids, "pchip", tail)
    stop, total, last = float(time.max()), 0.0, 1.0
    nodes = np.unique(np.concatenate(([0.0], time, grids[grids < stop])))
    single = [given[[i]] for i in range(8)]
    points, weights = np.polynomial.legendre.leggauss(12)
    for a, b in zip(nodes[:-1], nodes[1:], strict=True):
        here = event & (time == a)
        if here.any():
            last *= 1 - here.sum() / (time >= a).sum()
        t = a + (points + 1) * (b - a) / 2
        mean = np.mean([one.at(t)[0] for one in single], axis=0)
        total += float(np.sum(weights * (mean - last) ** 2)) * (b - a) / 2
    assert sg.km_calibration((time, event), given) == pytest.approx(total / stop, rel=2e-3)


@pytest.mark.parametrize("seed", range(6))
def test_km_calibration_without_events_has_no_interval(seed):
    time = np.random.default_rng(seed).exponential(8, 24)
    grid = np.linspace(0, 300, 161)
    curves = sg.SurvivalCurves(grid, np.tile(np.exp(-grid / 10), (24, 1)))
    ev = sg.evaluate({"m": curves}, (time, np.zeros(24)), metrics=["km_calibration"])
    row = ev.rows()[0]
    assert row["value"] > 0
    assert np.isnan(row["low"])
    assert np.isnan(row["high"])
