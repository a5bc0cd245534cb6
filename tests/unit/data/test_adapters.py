from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.adapters import is_flat


class Step:
    def __init__(self, x, y):
        self.x, self.y = np.array(x, float), np.array(y, float)


def test_pairs_and_curves_pass_through():
    pair = ([1.0, 2.0], [[0.9, 0.4]])
    curves = sg.as_curves(pair)
    assert curves.interpolation == "linear"
    assert sg.as_curves(curves) is curves


def test_frames_have_times_in_the_index():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[1.0, 1.0], [0.8, 0.5], [0.3, 0.2]], index=[0.0, 2.0, 5.0])
    curves = sg.as_curves(frame)
    assert (len(curves), curves.interpolation) == (2, "step")
    assert list(curves.at(2.0)) == [0.8, 0.5]
    with pytest.raises(sg.InputError, match="transpose"):
        sg.as_curves(frame[[1, 0]].set_axis([0, 1], axis=1).T)
    with pytest.raises(sg.InputError, match="index must hold the times"):
        sg.as_curves(frame.set_axis(["a", "b", "c"]))


def test_step_functions_share_or_merge_their_grids():
    same = sg.as_curves([Step([1, 2], [0.9, 0.5]), Step([1, 2], [0.8, 0.1])])
    assert list(same.times) == [1, 2]
    merged = sg.as_curves([Step([1, 3], [0.9, 0.5]), Step([2, 3], [0.8, 0.1])])
    assert list(merged.times) == [1, 2, 3]
    assert list(merged.at(1.5)) == [0.9, 1.0]
    as_array = np.empty(1, dtype=object)
    as_array[0] = Step([1, 2], [0.9, 0.5])
    assert len(sg.as_curves(as_array)) == 1
    with pytest.raises(sg.InputError, match="end at the same time"):
        sg.as_curves([Step([1, 3], [0.9, 0.5]), Step([2, 4], [0.8, 0.1])])


class Untouched(sg.SurvivalCurves):
    """Curves that nobody reads one by one."""

    def __getitem__(self, rows):
        raise AssertionError("read one by one")


def test_curves_are_not_read_one_by_one_to_tell_what_they_are():
    assert not is_flat(Untouched([1, 2], [[0.9, 0.5], [0.8, 0.1]]))


def test_what_cannot_be_curves_is_refused():
    with pytest.raises(sg.InputError, match=r"got ndarray of shape \(2, 2\)"):
        sg.as_curves(np.ones((2, 2)))
    with pytest.raises(sg.InputError, match=r"\(2, 2\): probabilities go with their times"):
        sg.as_curves(np.ones((2, 2)))
    with pytest.raises(sg.InputError, match=r"\(3, 1\): one time per subject has shape \(3,\)"):
        sg.as_curves(np.ones((3, 1)))
    with pytest.raises(sg.InputError, match="got int"):
        sg.as_curves(3)


def test_real_lifelines_frames():
    lifelines = pytest.importorskip("lifelines")
    from lifelines.datasets import load_rossi

    rossi = load_rossi()
    cox = lifelines.CoxPHFitter().fit(rossi, "week", "arrest")
    frame = cox.predict_survival_function(rossi.iloc[:7])
    curves = sg.as_curves(frame)
    assert len(curves) == 7
    np.testing.assert_allclose(curves.at(20.0), frame.loc[20.0].to_numpy(), rtol=1e-12)


def test_quantile_predictions():
    quantiles = np.array([[1.0, 4.0, 9.0], [2.0, 2.0, 8.0]])
    curves = sg.curves_from_quantiles([0.1, 0.5, 0.9], quantiles)
    np.testing.assert_allclose(curves.median(), [4.0, 2.0], rtol=1e-12)
    np.testing.assert_allclose(curves.quantile(0.9), [9.0, 8.0])
    shuffled = sg.curves_from_quantiles([0.9, 0.1, 0.5], quantiles[:, [2, 0, 1]])
    np.testing.assert_array_equal(shuffled.median(), curves.median())
    with pytest.raises(sg.InputError, match=r"do not fall .* row 1 "):
        sg.curves_from_quantiles([0.1, 0.5], [[4.0, 1.0]])
    with pytest.raises(sg.InputError, match="strictly between 0 and 1"):
        sg.curves_from_quantiles([0.0, 0.5], [[1.0, 2.0]])
    with pytest.raises(sg.InputError, match="column per level: 2"):
        sg.curves_from_quantiles([0.1, 0.5], [[1.0]])


@pytest.mark.parametrize("distribution", ["normal", "logistic", "extreme"])
def test_aft_curves_follow_their_distribution(distribution):
    from scipy import stats

    own = {"normal": stats.norm, "logistic": stats.logistic, "extreme": stats.gumbel_l}
    grid = np.linspace(0, 50, 26)
    curves = sg.curves_from_aft([5.0, 30.0], 0.7, grid, distribution=distribution)
    with np.errstate(divide="ignore"):
        z = (np.log(grid) - np.log([[5.0], [30.0]])) / 0.7
    np.testing.assert_allclose(curves.survival, own[distribution].sf(z), rtol=1e-9, atol=1e-300)
    with pytest.raises(sg.InputError, match="time must be positive"):
        sg.curves_from_aft([0.0], 1.0, grid)
    with pytest.raises(sg.InputError, match="scale must be finite and positive"):
        sg.curves_from_aft([1.0], -1.0, grid)


def survival_data(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    t, c = rng.exponential(10 * np.exp(-X[:, 0])), rng.exponential(20, n)
    return X, sg.Outcomes(np.minimum(t, c), t <= c)


def test_real_scikit_survival_objects():
    linear_model = pytest.importorskip("sksurv.linear_model")
    X, y = survival_data()
    model = linear_model.CoxPHSurvivalAnalysis().fit(X[:80], y[:80].to_structured())
    functions = model.predict_survival_function(X[80:])
    curves = sg.as_curves(functions)
    assert (len(curves), curves.interpolation) == (40, "step")
    np.testing.assert_allclose(curves.at(5.0), [f(5.0) for f in functions], rtol=1e-12)
    ev = sg.evaluate({"cox": functions, "risk": sg.RiskScores(model.predict(X[80:]))}, y[80:],
                     y_train=y[:80], metrics=["harrell", "ibs", "mae_po"])  # fmt: skip
    by_cell = {(r["model"], r["metric"]): r["value"] for r in ev.rows()}
    assert by_cell["cox", "harrell"] > 0.55
    assert by_cell["risk", "harrell"] == pytest.approx(by_cell["cox", "harrell"], abs=0.02)
    assert ("risk", "ibs") not in by_cell


def test_pycox_style_frames_and_numpy_float32():
    pd = pytest.importorskip("pandas")
    _, y = survival_data(40)
    grid = np.linspace(0, 30, 16, dtype=np.float32)
    frame = pd.DataFrame(np.exp(-grid[:, None] / np.linspace(5, 15, 40, dtype=np.float32)), grid)
    ev = sg.evaluate({"net": frame}, y, metrics=["mae_po", "ibs", "antolini"])
    assert all(np.isfinite(r["value"]) for r in ev.rows())


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    _, y = survival_data(40)
    time = torch.tensor(y.time, requires_grad=True)
    event = torch.tensor(y.event)
    predicted = torch.full((40,), 7.0, requires_grad=True)
    assert sg.mae((time, event), predicted) == sg.mae(y, np.full(40, 7.0))
    grid = torch.linspace(0, 30, 16)
    survival = torch.exp(-grid / torch.linspace(5, 15, 40)[:, None])
    assert np.isfinite(sg.integrated_brier_score((time, event), sg.SurvivalCurves(grid, survival)))


def test_real_xgboost_aft():
    xgboost = pytest.importorskip("xgboost")
    X, y = survival_data()
    upper = np.where(y.event, y.time, np.inf)
    matrix = xgboost.DMatrix(X[:80])
    matrix.set_float_info("label_lower_bound", y.time[:80])
    matrix.set_float_info("label_upper_bound", upper[:80])
    parameters = {
        "objective": "survival:aft",
        "aft_loss_distribution": "normal",
        "aft_loss_distribution_scale": 1.0,
        "max_depth": 2,
        "nthread": 1,
    }
    model = xgboost.train(parameters, matrix, num_boost_round=20)
    times = model.predict(xgboost.DMatrix(X[80:]))
    curves = sg.curves_from_aft(times, 1.0, np.linspace(0, 60, 61))
    ev = sg.evaluate({"times": times, "curves": curves}, y[80:], y_train=y[:80],
                     metrics=["mae_po", "harrell", "ibs"])  # fmt: skip
    assert {r["metric"] for r in ev.rows() if r["model"] == "times"} == {"mae_po", "harrell"}


def test_polars_columns():
    pl = pytest.importorskip("polars")
    _, y = survival_data(40)
    frame = pl.DataFrame({"time": y.time, "event": y.event})
    assert sg.mae(frame, pl.Series(np.full(40, 7.0))) == sg.mae(y, np.full(40, 7.0))


def test_a_pair_in_the_wrong_order_is_told_so():
    with pytest.raises(sg.InputError, match="exchange the two"):
        sg.as_curves(([[0.9, 0.4], [0.8, 0.1]], [1.0, 2.0]))
