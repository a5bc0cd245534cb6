"""Bad input, support and conventions of the time errors; numbers are in tests/property."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import survgauge as sg

Y = ([2.0, 4.0, 6.0, 8.0, 9.0], [1, 0, 1, 1, 0])
P = [3.0, 3.0, 5.0, 9.0, 10.0]
TRAIN = ([1.0, 3.0, 5.0, 7.0], [1, 0, 1, 1])


def test_no_events_in_the_reference_is_undefined():
    censored = ([1.0, 2.0], [0, 0])
    for method in ("margin", "ipcw_t", "po", "pop_po", "expected"):
        with pytest.raises(sg.UndefinedMetricError, match="y_train has no events"):
            sg.mae(Y, P, y_train=censored, method=method)
    assert sg.mae(Y, P, y_train=censored, method="hinge") > 0


def test_no_events_in_the_test_set():
    y = ([2.0, 4.0], [0, 0])
    for method in ("uncensored", "ipcw_d"):
        with pytest.raises(sg.UndefinedMetricError, match="no subject to average over: 0 events"):
            sg.mae(y, [1.0, 2.0], y_train=TRAIN, method=method)
    assert sg.mae(y, [1.0, 2.0], y_train=TRAIN) > 0


BAD = {
    "nan": ([np.nan, 1, 1, 1, 1], {"method": "po"}, "predicted must be finite times; got nan"),
    "inf": ([np.inf, 1, 1, 1, 1], {"method": "po"}, "predicted must be finite times; got inf"),
    "nan, within": ([np.nan, 1, 1, 1, 1], {}, "predicted must be finite; got nan for row 1"),
    "inf, within": ([1, 1, np.inf, 1, 1], {}, "predicted must be finite; got inf for row 3"),
    "length": ([1, 2], {}, "one entry per subject: y_true has 5, predicted has 2"),
    "text": (["a"] * 5, {}, "predicted must be numbers"),
    "method": (P, {"method": "magic"}, "method must be one of 'uncensored', 'hinge'"),
    "loss": (P, {"loss": "magic"}, "loss must be one of"),
    "tail": (P, {"tail": "magic"}, "tail must be one of"),
    "area": (P, {"area": "magic"}, "area must be one of"),
    "normalize": (P, {"normalize": "magic"}, "normalize must be one of"),
    "tau": (P, {"tau": -3}, "tau must be finite and positive"),
    "censoring": (P, {"censoring": 0.5, "method": "ipcw_d"}, "censoring must be 'test', 'train'"),
    "sample weight": (P, {"sample_weight": [1, 2]}, "sample_weight must have one entry"),
    "zero weight": (P, {"sample_weight": np.zeros(5)}, "sample_weight must have a positive sum"),
    "no truth": (P, {"method": "true"}, "true_time must be given"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    predicted, options, message = BAD[case]
    with pytest.raises(sg.InputError, match=message):
        sg.time_error(Y, predicted, **options)


def test_mae_has_its_own_loss():
    with pytest.raises(TypeError, match="unexpected keyword argument 'loss'"):
        sg.mae(Y, P, loss="squared")


def test_curves_with_infinite_medians_are_named_and_a_horizon_helps():
    survival = np.array([[1, 0.2], [1, 1], [1, 0.1], [1, 0.3], [1, 1]])
    curves = sg.SurvivalCurves([0, 10], survival)
    with pytest.raises(
        sg.UndefinedMetricError,
        match=r"median of 2 curve\(s\) .*in rows 2 and 5 ",
    ):
        sg.mae(Y, curves, method="po")
    assert np.isfinite(sg.mae(Y, curves, method="po", tau=9.0))
    assert np.isfinite(sg.mae(Y, curves))  # which has a horizon


def test_curves_give_the_median_to_absolute_and_the_mean_to_squared_losses():
    survival = np.array([[0.9, 0.4, 0.0]] * 5)
    curves = sg.SurvivalCurves([1, 5, 9], survival, interpolation="step")
    assert sg.mae(Y, curves) == sg.mae(Y, curves.median())
    assert sg.mse(Y, curves) == sg.mse(Y, curves.mean())
    assert sg.rmse(Y, curves) == pytest.approx(np.sqrt(sg.mse(Y, curves)))
    assert sg.mse(Y, curves, tau=6.0) == pytest.approx(sg.mse(Y, curves.rmst(6.0), tau=6.0))


def test_true_times_and_given_censoring():
    truth = [2.0, 6.0, 6.0, 8.0, 12.0]
    assert sg.mae(Y, P, method="true", true_time=truth) == pytest.approx(np.mean([1, 3, 1, 1, 2]))
    g = sg.KaplanMeier.fit_censoring(TRAIN)
    by_name = sg.mae(Y, P, y_train=TRAIN, method="ipcw_d", censoring="train")
    assert sg.mae(Y, P, method="ipcw_d", censoring=g) == by_name
    by_function = sg.mae(Y, P, method="ipcw_d", censoring=lambda t, side: g.at(t, side))
    assert by_function == by_name
    with pytest.raises(sg.InputError, match="probabilities in"):
        sg.mae(Y, P, method="ipcw_d", censoring=lambda t, side: t)


def test_support_counts_what_the_reference_does_not_cover():
    details = sg.time_error(Y, P, y_train=TRAIN, method="po")
    support = details.support
    assert support["censored_past_reference"] == 1
    assert support["events_past_reference"] == 1
    assert support["tail_share"] is None
    share = support["share of the result from subjects censored past the reference"]
    assert 0 < share < 1
    lost = sg.time_error(Y, P, y_train=TRAIN, method="ipcw_t").support["notes"]
    assert lost == {"excluded: no later event in the reference": 1}
    ends_censored = ([1.0, 3.0, 5.0], [1, 1, 0])
    given = {"y_train": ends_censored, "censoring": "train"}
    lost = sg.time_error(Y, P, method="ipcw_d", **given).support
    assert lost["notes"] == {"excluded: events with G(t-) = 0": 2}
    assert lost["largest_weight"] == 1.0
    zero = sg.time_error(([0.0, 2.0], [1, 1]), [1.0, 2.0], loss="log").support["notes"]
    assert zero == {"excluded: the log loss needs positive times": 1}
    capped = sg.time_error(Y, P, y_train=TRAIN, tau=100.0).support["notes"]
    assert capped.get("imputed times above tau, set to tau", 0) >= 0


def test_the_convention_is_part_of_the_result():
    details = sg.time_error(Y, P, method="ipcw_d", normalize="events", tau=7.0)
    assert details.convention["normalize"] == "events"
    assert details.convention["tau"] == 7.0
    assert details.convention["reference"] == "test outcomes, in sample"
    curves = sg.SurvivalCurves([1, 20], np.array([[0.9, 0.1]] * 5), tail="hold")
    shown = sg.time_error(Y, curves).convention
    assert (shown["point"], shown["curve_tail"]) == ("median", "hold")
    scaled = sg.time_error(Y, curves, loss="normalised", method="po").convention
    assert scaled["scale"] == 9.0


def test_weights_change_the_average_only():
    w = np.array([1.0, 2.0, 0.0, 1.0, 3.0])
    got = sg.time_error(Y, P, y_train=TRAIN, sample_weight=w, method="po")
    plain = sg.time_error(Y, P, y_train=TRAIN, method="po")
    np.testing.assert_allclose(got.loss, plain.loss)
    want = (plain.loss * plain.weight * w).sum() / (plain.weight * w).sum()
    assert got.value == pytest.approx(want)


def test_a_constant_prediction_makes_expected_and_ipcw_d_equal():
    """Kaplan-Meier is the IPCW estimate of the distribution, so the two means agree in sample."""
    y = ([2.0, 4.0, 6.0, 8.0, 9.0, 9.5], [1, 0, 1, 1, 0, 1])
    p = np.full(6, 5.0)
    assert sg.mae(y, p, method="expected") == pytest.approx(sg.mae(y, p, method="ipcw_d"))


def test_contributions_give_the_jackknife_standard_error():
    rng = np.random.default_rng(0)
    t, c = rng.exponential(5, 150), rng.exponential(8, 150)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    p = rng.uniform(1, 9, 150)
    train = ([1.0, 3.0, 5.0, 7.0, 20.0], [1, 0, 1, 1, 1])
    for method in ("po", "ipcw_d", "uncensored", "margin", "expected"):
        details = sg.time_error(y, p, y_train=train, method=method)
        keep = ~np.eye(150, dtype=bool)
        loo = np.array([sg.mae(y[k], p[k], y_train=train, method=method) for k in keep])
        jackknife = np.sqrt(149 / 150 * ((loo - loo.mean()) ** 2).sum())
        # Leaving one out of the last moves G there by more than its derivative says.
        near = 0.05 if method == "ipcw_d" else 0.03
        assert details.stderr == pytest.approx(jackknife, rel=near), method


@pytest.mark.parametrize("given", ["frequency", "sample_weight"])
@pytest.mark.parametrize("method", ["po", "pop_po", "margin", "expected", "dr", "hinge", "ipcw_t"])
def test_who_counts_for_nothing_has_no_time_to_spoil_the_average(method, given):
    """Without its own weight nobody is left at the time of the first: its pseudo-value is -inf."""
    time, event, weight, p = [3.0, 1.0, 3.0], [0, 0, 1], [0.0, 3.0, 1.0], [1.7, 0.9, 1.9]
    counted = sg.Outcomes(time, event, weight if given == "frequency" else None)
    weights = {"sample_weight": weight} if given == "sample_weight" else {}
    kept = [1, 2]
    others = sg.Outcomes([1.0, 3.0], [0, 1], [3.0, 1.0] if given == "frequency" else None)
    fewer = {name: np.array(w)[kept] for name, w in weights.items()}
    found = sg.mae(counted, p, method=method, **weights)
    assert found == pytest.approx(sg.mae(others, np.array(p)[kept], method=method, **fewer))


def test_frequencies_give_the_standard_error_of_replicated_rows():
    counts = np.array([3, 1, 2, 1, 2])
    y, p = sg.Outcomes(*Y, weight=counts), np.array(P)
    repeated = sg.time_error(
        (np.repeat(Y[0], counts), np.repeat(Y[1], counts)), np.repeat(p, counts), y_train=TRAIN
    )
    weighted = sg.time_error(y, p, y_train=TRAIN)
    assert weighted.value == pytest.approx(repeated.value)
    assert weighted.stderr == pytest.approx(repeated.stderr)


def test_one_reference_serves_many_calls():
    reference = sg.Reference(TRAIN)
    for tau in (None, 6.0):
        assert sg.mae(Y, P, y_train=reference, tau=tau) == sg.mae(Y, P, y_train=TRAIN, tau=tau)


def test_the_base_install_is_enough():
    """Import and use in a process where nothing but NumPy and SciPy can be imported."""
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pandas", "sklearn", "torch", "matplotlib", "pyarrow",
                                  "lifelines", "sksurv", "rich", "joblib"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import survgauge as sg
y = ([2, 4, 6, 8], [1, 0, 1, 1])
sg.mae(y, [3, 3, 3, 3]); sg.surrogate_times(y); sg.KaplanMeier.fit(y).mean()
c = sg.as_curves(([1.0, 5.0], [[0.9, 0.2]] * 4)); c.mean(); sg.mse(y, c)
ev = sg.evaluate({"a": c}, y, metrics=["mae_po"]); ev.to_dict()
print("scipy.stats" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_import_is_lazy():
    code = (
        "import sys, survgauge; "
        "print([m for m in sys.modules if m.split('.')[0] in "
        "('scipy', 'pandas', 'sklearn', 'torch', 'matplotlib')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_expected_at_the_end_of_the_tail_is_the_time_itself():
    """The tail ends at 2/(1 - 2/3) = 6 up to rounding: nothing must be read off the rounding."""
    train = ([0.0, 0.0, 2.0], [0, 1, 0])
    error = sg.time_error(([6.0], [0]), [1.0], y_train=train, method="expected", loss="log")
    assert error == pytest.approx(np.log(6.0))


def test_a_negative_doubly_robust_mean_square_has_no_root():
    y = ([3.9, 3.4, 0.6, 11.0, 1.9, 5.5], [0, 0, 1, 1, 0, 0], [2, 3, 1, 2, 2, 2])
    train, predicted = ([1.7, 0.6], [1, 1]), [0.8, 2.5, 5.1, 19.9, 0.7, 0.4]
    given = (sg.Outcomes(*y), predicted)
    assert sg.mse(*given, y_train=train, method="dr") < 0
    with pytest.raises(sg.UndefinedMetricError, match="no square root"):
        sg.rmse(*given, y_train=train, method="dr")


# -- no method named: within the supported horizon -------------------------------------------------


def _drawn(seed, n=150):
    rng = np.random.default_rng(seed)
    t, c = rng.weibull(1.4, (2, n)) * 300, rng.uniform(0, 500, (2, n))
    test, train = (sg.Outcomes(np.minimum(a, b), a <= b) for a, b in zip(t, c, strict=True))
    grid = np.linspace(0, 600, 40)
    scale = rng.uniform(150, 500, (n, 1))
    return test, train, sg.SurvivalCurves(grid, np.exp(-((grid / scale) ** 1.4))), rng


@pytest.mark.parametrize("tau", [None, 120.0, 1e4])
@pytest.mark.parametrize("reference", [True, False])
def test_unless_a_method_is_named_errors_are_those_within_the_supported_horizon(tau, reference):
    for seed in range(3):
        y, train, curves, rng = _drawn(seed)
        w = rng.uniform(0, 3, len(y)) * (rng.uniform(size=len(y)) > 0.1)
        own_g = sg.KaplanMeier.fit_censoring(train)
        for predicted in (curves, curves.median()):
            for more in ({}, {"sample_weight": w}, {"censoring": own_g}, {"floor": 0.2}):
                given = {"y_train": train if reference else None, "tau": tau, **more}
                (score,) = sg.evaluate(predicted, y, metrics="mae_within", **given).scores
                details = sg.time_error(y, predicted, **given)
                assert sg.mae(y, predicted, **given) == pytest.approx(score.value, rel=1e-12)
                assert details.value == pytest.approx(score.value, rel=1e-12)
                assert details.stderr == pytest.approx(score.stderr, rel=1e-12)
                assert details.convention["tau"] == score.until
                stopped = {**given, "tau": score.until, "method": "dr"}
                mse = sg.mse(y, predicted, **stopped)
                assert sg.mse(y, predicted, **given) == pytest.approx(mse, rel=1e-12)
                assert sg.rmse(y, predicted, **given) == pytest.approx(np.sqrt(mse), rel=1e-12)


def test_the_horizon_is_where_ten_are_at_risk_and_said_in_the_convention():
    y, train, curves, _ = _drawn(0)
    tenth_last = np.sort(y.time)[-10]  # G stays above 0.05 there
    assert sg.KaplanMeier.fit_censoring(y).at(tenth_last, "left") > 0.05
    found = sg.time_error(y, curves, y_train=train)
    assert found.convention["tau"] == tenth_last
    assert found.convention["horizon"] == "last time that the data support"
    assert repr(found) == repr(found.value)  # it prints as a float
    late = sg.time_error(y, curves, y_train=train, tau=2 * tenth_last)
    assert late.value == found.value
    assert late.convention["horizon"] == (
        f"last time that the data support, before tau {2 * tenth_last:g}"
    )
    early = sg.time_error(y, curves, y_train=train, tau=100.0)
    assert (early.convention["tau"], early.convention["horizon"]) == (100.0, "tau")


def test_a_named_method_is_its_definition_without_a_horizon():
    y, train, curves, _ = _drawn(1)
    for method in ("po", "dr", "ipcw_d", "margin"):
        found = sg.time_error(y, curves, y_train=train, method=method)
        assert found.convention["tau"] is None
        assert "horizon" not in found.convention
    at_zero = sg.Outcomes([0.0, 0.0], [1, 1])
    with pytest.raises(sg.UndefinedMetricError, match="supports no time above 0"):
        sg.mae(at_zero, [1.0, 2.0])
    assert sg.mae(at_zero, [1.0, 2.0], method="uncensored") == 1.5


@pytest.mark.parametrize("method", ["uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po"])
@pytest.mark.parametrize("seed", range(3))
def test_the_preset_of_survivaleval_has_its_time_errors(method, seed):
    """By the settings that `tests/peer` compares with the package itself."""
    rng = np.random.default_rng(seed)
    died, lost = np.ceil(rng.exponential(8, 80)), np.ceil(rng.uniform(0, 25, 80))
    y = sg.Outcomes(np.minimum(died, lost), died <= lost)
    like = sg.Convention(area="trapezoid", normalize="events", censoring="train")
    for error in (sg.mae, sg.mse):
        ask = {"y_train": y[40:], "method": method}
        preset = error(y[:40], died[:40] + 1, convention="survivaleval", **ask)
        assert float(preset) == float(error(y[:40], died[:40] + 1, convention=like, **ask))
