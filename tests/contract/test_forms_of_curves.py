"""Every public function that takes curves takes them in every form, with equal results."""

import inspect

import numpy as np
import pytest

import survgauge as sg

pytest.importorskip("pandas")
pytest.importorskip("sklearn")  # some public names need it to be looked at

GRID = np.linspace(0.0, 60.0, 31)
#: Arguments after outcomes and curves, by the names of the parameters that need a value.
NEEDED = {"time": 6.0, "times": [3.0, 6.0, 9.0], "kind": "martingale"}
#: These take a metric first, or many models, and read curves through the same door.
ELSEWHERE = {"skill", "evaluate", "evaluate_stream", "evaluate_dask"}
CURVES = ("curves", "risk_or_curves", "predicted")


class Step:
    """A step function as scikit-survival gives it."""

    def __init__(self, x, y):
        self.x, self.y = x, y


def taking_curves():
    for name in sorted(sg.__all__):
        function = getattr(sg, name)
        if not inspect.isfunction(function) or name in ELSEWHERE:
            continue
        parameters = list(inspect.signature(function).parameters)
        if parameters[:1] == ["y_true"] and parameters[1] in CURVES:
            yield name


def arguments(name):
    y_train = {"y_train": draw()[0]} if name in TRAINED else {}
    required = [  # in their order, as they follow outcomes and curves
        key
        for key, p in list(inspect.signature(getattr(sg, name)).parameters.items())[2:]
        if key in ("time", "times") or (p.default is inspect.Parameter.empty and key in NEEDED)
    ]
    return [NEEDED[key] for key in required], y_train


TRAINED = {
    name
    for name in taking_curves()
    if name.startswith(("mae", "mse", "rmse", "time_error")) or name == "brier_skill"
}


def draw():
    rng = np.random.default_rng(0)
    scale = 10 * np.exp(0.5 * rng.standard_normal(60))
    time, end = scale * rng.weibull(1.5, 60), rng.uniform(0, 25, 60)
    survival = np.exp(-((GRID / scale[:, None]) ** 1.5))
    return sg.Outcomes(np.minimum(time, end), time <= end), survival


def flat(result):
    """All numbers of a result."""
    if isinstance(result, dict):
        return np.concatenate([flat(value) for value in result.values()])
    for name in ("values", "value", "p_value", "ici", "mean", "residuals", "brier", "predicted"):
        if hasattr(result, name) and not callable(getattr(result, name)):
            return np.ravel(np.asarray(getattr(result, name), dtype=float))
    if isinstance(result, sg.WeakCalibration):
        result = result.intercept, result.slope
    if isinstance(result, tuple):
        return np.concatenate([flat(value) for value in result])
    return np.ravel(np.asarray(result, dtype=float))


def forms():
    survival = draw()[1]
    yield "pair", (GRID, survival), "linear"
    yield "lists", (GRID.tolist(), survival.tolist()), "linear"
    yield "steps", [Step(GRID, row) for row in survival], "step"
    array = np.empty(len(survival), dtype=object)
    array[:] = [Step(GRID, row) for row in survival]
    yield "array of steps", array, "step"


@pytest.mark.parametrize("name", list(taking_curves()))
def test_every_form_of_curves_gives_the_numbers_of_survival_curves(name):
    y, survival = draw()
    function, (more, options) = getattr(sg, name), arguments(name)
    want = {
        how: flat(function(y, sg.SurvivalCurves(GRID, survival, how), *more, **options))
        for how in ("linear", "step")
    }
    assert np.isfinite(want["linear"]).any()
    for form, given, how in forms():
        found = flat(function(y, given, *more, **options))
        np.testing.assert_array_equal(found, want[how], err_msg=form)


@pytest.mark.parametrize("name", list(taking_curves()))
def test_frames_of_curves_give_the_numbers_of_survival_curves(name):
    pandas = pytest.importorskip("pandas")
    y, survival = draw()
    function, (more, options) = getattr(sg, name), arguments(name)
    want = flat(function(y, sg.SurvivalCurves(GRID, survival, "step"), *more, **options))
    frame = pandas.DataFrame(survival.T, index=GRID)
    np.testing.assert_array_equal(flat(function(y, frame, *more, **options)), want)


def test_the_list_of_functions_that_take_curves_is_not_empty():
    names = set(taking_curves())
    assert {"d_calibration", "km_calibration", "brier_score", "crps", "mae"} <= names
    assert len(names) >= 20
