"""Our calls, and the yardsticks: each function sets up, untimed, and returns the call to time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from data import Data

Setup = Callable[[Data], Callable[[], Any]]
#: The eight time errors that older code knows, which `check.py` compares with.
EIGHT = ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po", "pop_po", "expected")

#: Predicted risk from which on subjects are treated, for metrics of decisions.
THRESHOLD = 0.3


def argsort(data: Data) -> Callable[[], Any]:
    """Yardstick of what sorts: NumPy's argsort of as many times."""
    return lambda: np.argsort(data.train[0])


def curve_pass(data: Data) -> Callable[[], Any]:
    """Yardstick of what reads every point of every curve: squares summed, block by block."""
    curves, rows = data.survival, 1024

    def squares() -> float:
        blocks = range(0, len(curves), rows)
        return sum(float(np.square(curves[start : start + rows]).sum()) for start in blocks)

    return squares


def po(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    return lambda: sg.mae(data.test, data.predicted, y_train=data.train, method="po")


def pseudo(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    return lambda: sg.pseudo_observations(data.test, tau=data.middle)


def kaplan_meier(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    return lambda: sg.KaplanMeier.fit(data.test).survival


def time_errors(data: Data) -> Callable[[], Any]:
    """The question that older code answers too: eight methods, and G of the training set."""
    import survgauge as sg

    given = {"y_train": sg.Reference(data.train), "censoring": "train", "methods": EIGHT}
    sg.time_errors(data.test, data.predicted, **given)  # fits the reference
    return lambda: sg.time_errors(data.test, data.predicted, **given)["po"].value


def curves(data: Data) -> Any:
    import survgauge as sg

    return sg.SurvivalCurves(data.grid, data.survival)


def curves_at_times(data: Data) -> Any:
    """Curves whose grid is the evaluation times, for peers that do not interpolate."""
    import survgauge as sg

    return sg.SurvivalCurves(data.times, data.survival_at_times)


def risk(data: Data) -> Any:
    return data.risk


def medians(data: Data) -> Callable[[], Any]:
    given = curves(data)
    return lambda: given.median()


def harrell(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    def with_standard_error() -> float:
        details = sg.concordance_index(data.test, data.risk)
        return details.value if details.stderr > 0 else float("nan")

    return with_standard_error


def uno(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    options = {"method": "uno", "y_train": data.train, "tau": data.last}
    return lambda: sg.concordance_index(data.test, data.risk, **options)


def antolini(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    given = curves(data)
    return lambda: sg.concordance_td(data.test, given)


def integrated(function: str, predicted: Callable[[Data], Any]) -> Setup:
    """Integral of the Brier score or of the log loss over the evaluation times."""

    def setup(data: Data) -> Callable[[], Any]:
        import survgauge as sg

        metric, given = getattr(sg, function), predicted(data)
        return lambda: metric(data.test, given, data.times, y_train=data.train)

    return setup


def auc(predicted: Callable[[Data], Any], **options: Any) -> Setup:
    def setup(data: Data) -> Callable[[], Any]:
        import survgauge as sg

        given, settings = predicted(data), {"y_train": data.train, **options}
        return lambda: sg.cumulative_dynamic_auc(data.test, given, data.times, **settings).mean

    return setup


def d_calibration(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    given = curves(data)
    return lambda: sg.d_calibration(data.test, given, method="chi2").p_value


def one_calibration(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    given = curves(data)
    return lambda: sg.one_calibration(data.test, given, data.middle, method="dn").p_value


def km_calibration(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    given = curves(data)
    return lambda: sg.km_calibration(data.test, given)


def ici(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    given = curves(data)
    return lambda: sg.integrated_calibration_index_cox(data.test, given, data.middle).ici


def net_benefit(data: Data) -> Callable[[], Any]:
    """A decision curve of 99 thresholds at one time, with standard errors: that of 0.3."""
    import survgauge as sg

    risk = data.event_risk
    return lambda: sg.net_benefit(data.test, risk, data.middle).values[29]


def outcomes_of_causes(data: Data) -> tuple[Any, Any]:
    """Training and test outcomes of two causes."""
    import survgauge as sg

    both = zip((data.train, data.test), data.codes, strict=True)
    train, test = (sg.Outcomes(y[0], codes, causes=["1", "2"]) for y, codes in both)
    return train, test


def incidence(data: Data) -> Any:
    import survgauge as sg

    return sg.IncidenceCurves(data.times, data.incidence)


def of_causes(function: str, **options: Any) -> Setup:
    """A score of incidence curves at the evaluation times."""

    def setup(data: Data) -> Callable[[], Any]:
        import survgauge as sg

        metric, given = getattr(sg, function), incidence(data)
        train, test = outcomes_of_causes(data)

        def value() -> float:
            found = metric(test, given, data.times, y_train=train, **options)
            return float(getattr(found, "mean", found))

        return value

    return setup


def concordance_of_cause(data: Data) -> Callable[[], Any]:
    """C of the first cause, weighted by 1/G of the training set."""
    import survgauge as sg

    risk, (train, test) = data.incidence[:, 0, -1], outcomes_of_causes(data)
    options = {"y_train": train, "tau": data.last, "censoring": "train", "cause": 1}
    return lambda: sg.concordance_index(test, risk, method="uno", **options)


def antolini_of_cause(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    given, (_, test) = incidence(data), outcomes_of_causes(data)
    return lambda: sg.concordance_td(test, given, tau=data.last, cause=1)


def auc_of_cause(data: Data) -> Callable[[], Any]:
    """AUC of the first cause at one time; who had the other event is a control."""
    import survgauge as sg

    risk, (train, test) = data.incidence[:, 0, 49], outcomes_of_causes(data)
    options = {"y_train": train, "censoring": "train", "cause": 1, "controls": "without_event"}
    return lambda: sg.cumulative_dynamic_auc(test, risk, [data.times[49]], **options).mean


def _evaluate(data: Data, prediction: Any, **options: Any) -> Callable[[], Any]:
    import survgauge as sg

    def report() -> int:
        found = sg.evaluate({"model": prediction}, data.test, y_train=data.train, **options)
        return len(found.rows())

    return report


def evaluate(data: Data) -> Callable[[], Any]:
    return _evaluate(data, curves(data))


def evaluate_ten(data: Data) -> Callable[[], Any]:
    """Ten models of the first 1,000 subjects, everything with intervals."""
    import survgauge as sg

    test, train = (tuple(part[:1000] for part in y) for y in (data.test, data.train))
    survival = data.survival[:1000]
    models = {f"model {k}": (data.grid, survival ** (0.8 + 0.05 * k)) for k in range(10)}
    return lambda: len(sg.evaluate(models, test, y_train=train).rows())


def evaluate_single(confidence: float | None) -> Setup:
    """Everything by default, of single-precision curves that nobody has looked at before."""

    def setup(data: Data) -> Callable[[], Any]:
        return _evaluate(data, (data.grid, data.survival32), confidence=confidence)

    return setup


def single_input(data: Data) -> int:
    """Bytes of what `evaluate_single` is given."""
    arrays = (data.survival32, *data.test, *data.train)
    return sum(array.nbytes for array in arrays)


def registered(name: str, needs: str, supports: Collection[str] = ()) -> Setup:
    """One metric of the registry, as `evaluate` computes it, without intervals."""

    def setup(data: Data) -> Callable[[], Any]:
        import survgauge as sg

        given = {"times": data.predicted, "risk": None, "curves": None}[needs]
        if needs == "risk":
            given = sg.RiskScores(data.risk)
        elif needs == "curves":
            given = curves(data)
        train, test, cause = data.train, data.test, None
        if "all causes" in supports:
            (train, test), given, cause = outcomes_of_causes(data), incidence(data), 1

        def value() -> float:
            models = {"model": given}
            options = {"metrics": [name], "confidence": None, "threshold": THRESHOLD}
            found = sg.evaluate(models, test, y_train=train, cause=cause, **options)
            return float(found.rows()[0]["value"])

        return value

    return setup
