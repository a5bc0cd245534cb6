"""What estimators of other libraries predict: curves, times or risks, and how to ask them.

A risk that is taken for a time turns every ranking round, and a search then picks the worst model.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from .._tools.arrays import vector
from ..errors import InputError
from .adapters import are_curves, as_curves_named, as_incidence
from .curves import SurvivalCurves
from .outcomes import Outcomes
from .predictions import Prediction, RiskScores

#: What an estimator may give.
KINDS = ("curves", "time", "risk")
#: Methods whose names say what they give, the most telling first.
_NAMED = (
    ("predict_curves", "curves"),
    ("predict_survival_function", "curves"),
    ("predict_time", "time"),
    ("predict_risk", "risk"),
)
#: Objectives that learn an order: their ``predict`` is never a time.
_RANKS = ("survival:cox", "rank:", "cox", "lambdarank", "rank_xendcg", "pairlogit", "queryrmse")
_PARAMETERS = ("objective", "loss_function", "loss")


def predict(estimator: Any, X: Any, predicts: str | None = None) -> Prediction:
    """Ask an estimator for the most that it can say: curves, times, or a risk.

    `predicts` ("curves", "time" or "risk") asks for just that: by the method that is named so, or
    by plain ``predict``, which then gives it.
    """
    final, X, n, name = _asked(estimator, X)
    for method, kind in _NAMED:
        if predicts in (None, kind) and _can(final, method):
            return Prediction.of(_said(getattr(final, method)(X), kind, name), n, name)
    if not hasattr(final, "predict"):
        methods = ", ".join(method for method, kind in _NAMED if predicts in (None, kind))
        raise InputError(f"{name} must have {methods} or predict")
    known = meaning_of_predict(final)
    if predicts is not None and known is not None and predicts != known:
        article = "" if predicts == "curves" else "a "
        raise InputError(
            f"predicts={predicts!r} asks for {article}{predicts}, but {name}.predict gives a "
            f"{known} and no other method of {name} gives {article}{predicts}"
        )
    given = final.predict(X)
    if isinstance(given, RiskScores) or are_curves(given):  # says itself what it is
        return Prediction.of(given, n, name)
    meaning = predicts or known or ("time" if _is_plain_regressor(final) else None)
    if meaning is None:
        raise InputError(
            f"{name}.predict may give times or risks, and does not say which; name the method "
            "predict_time or predict_risk, return RiskScores, or give "
            'predicts="time" or predicts="risk" to the scorer'
        )
    return Prediction.of(_said(given, meaning, name), n, name)


def predict_cause(
    estimator: Any, X: Any, causes: tuple[str, ...], cause: int, predicts: str | None = None
) -> Prediction:
    """Ask an estimator for its incidence curves, of which metrics see one cause, or for a risk.

    ``predict_incidence`` gives `IncidenceCurves`; ``predict_cumulative_incidence`` with the times
    in ``time_grid_`` is read as hazardous has it.
    """
    final, X, n, name = _asked(estimator, X)
    if predicts in (None, "curves"):
        if hasattr(final, "predict_incidence"):
            return Prediction.of_cause(final.predict_incidence(X), n, name, causes, cause)
        if hasattr(final, "predict_cumulative_incidence") and hasattr(final, "time_grid_"):
            given = final.predict_cumulative_incidence(X)
            curves = as_incidence(given, final.time_grid_, layout="hazardous", causes=causes)
            return Prediction.of_cause(curves, n, name, causes, cause)
    if predicts in (None, "risk") and hasattr(final, "predict_risk"):
        return Prediction.of(_said(final.predict_risk(X), "risk", name), n, name)
    raise InputError(
        f"{name} must have predict_incidence, which gives IncidenceCurves of all causes, or "
        "predict_risk, a risk of the cause that is asked about"
    )


def _asked(estimator: Any, X: Any) -> tuple[Any, Any, int, str]:
    """Return the last step of an estimator, what comes to it, of how many subjects, its name."""
    *before, final = unwrapped(estimator)
    for step in before:
        X = step.transform(X)
    return final, X, int(np.shape(X)[0]), type(final).__name__


def outcomes_for(estimator: Any, y: Any) -> Outcomes:
    """Read outcomes, also as the labels of Cox's objective: times that are negative if censored."""
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    if kind in ("f", "i") and objective_of(unwrapped(estimator)[-1]) == "survival:cox":
        label = vector(y, "y")
        return Outcomes(np.abs(label), label > 0)
    return Outcomes.of(y, entry=True)


def _can(estimator: Any, method: str) -> bool:
    """Whether the estimator has this method, and is made so that it works."""
    if not hasattr(estimator, method):
        return False
    if method == "predict_curves":
        return bool(getattr(estimator, "gives_curves", True))
    return method != "predict_survival_function" or has_survival_function(estimator)


def has_survival_function(estimator: Any) -> bool:
    """Whether ``predict_survival_function`` is there, and works.

    Some of scikit-survival's estimators have it in vain: those that predict times, and a Coxnet
    that was not told to fit a baseline.
    """
    in_vain = getattr(estimator, "fit_baseline_model", True) is False or _regresses_times(estimator)
    return hasattr(estimator, "predict_survival_function") and not in_vain


def refuse_kind(metric: str, needs: str, kind: str, estimator: Any) -> NoReturn:
    """Refuse a metric that needs more than an estimator predicts, and say what may give it."""
    told = f"{metric} needs {needs}, but {type(estimator).__name__} gives {kind} only"
    if getattr(estimator, "fit_baseline_model", True) is False:
        told += "; make it with fit_baseline_model=True, so that it predicts curves"
    raise InputError(told)


def _regresses_times(estimator: Any) -> bool:
    """Whether this is one of scikit-survival's estimators that predict times, fitted or not."""
    says_so = getattr(estimator, "_predict_risk_score", True) is False
    by_loss = getattr(estimator, "loss", None) in ("squared", "ipcwls")
    return is_sksurv(estimator) and (says_so or by_loss)


def _said(given: Any, kind: str, name: str) -> Any:
    """What was predicted, in a form that says what it is."""
    if isinstance(given, RiskScores | SurvivalCurves):
        return given
    if kind == "curves":
        return as_curves_named(given, f"predictions of {name}")
    return RiskScores(np.asarray(given)) if kind == "risk" else np.asarray(given)


def unwrapped(estimator: Any) -> list[Any]:
    """Steps of a pipeline, of the best pipeline of a search, of a search in a pipeline; or itself.

    >>> unwrapped("model")
    ['model']
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    steps = getattr(estimator, "steps", None)
    if not isinstance(steps, list):
        return [estimator]
    used = [step for _, step in steps if step is not None and step != "passthrough"]
    return [*used[:-1], *unwrapped(used[-1])] if used else [estimator]


def objective_of(estimator: Any) -> str:
    """Objective of a boosted model as it names it itself, in lower case; "" where it does not.

    >>> class Boosted:
    ...     objective = "survival:cox"
    >>> objective_of(Boosted())
    'survival:cox'
    """
    for name in _PARAMETERS:
        given = getattr(estimator, name, None)
        if isinstance(given, str):
            return given.lower()
    # CatBoost has its parameters nowhere else.
    known = _parameters(estimator)
    found = [known[name] for name in _PARAMETERS if isinstance(known.get(name), str)]
    return str(found[0]).lower() if found else ""


def _parameters(estimator: Any) -> dict[str, Any]:
    """Parameters of an estimator and of those in it, as scikit-learn asks for them."""
    asked = None if isinstance(estimator, type) else getattr(estimator, "get_params", None)
    if callable(asked):
        with suppress(Exception):  # somebody else's object: it may refuse in any way
            return dict(asked())
    return {}


def ranks_only(estimator: Any) -> bool:
    """Whether its objective is one that learns an order, not a time."""
    return objective_of(estimator).startswith(_RANKS)


def holds_ranking(estimator: Any) -> bool:
    """Whether it holds, as a parameter or an attribute, an estimator that learns an order."""
    held = [*getattr(estimator, "__dict__", {}).values(), *_parameters(estimator).values()]
    return any(ranks_only(part) for part in held)


def is_sksurv(estimator: Any) -> bool:
    """Whether it is one of scikit-survival's estimators, or made from one."""
    return any(kind.__module__.partition(".")[0] == "sksurv" for kind in type(estimator).__mro__)


def meaning_of_predict(estimator: Any) -> str | None:
    """Tell whether ``predict`` gives a "time" or a "risk"; None where that is not certain.

    Certain risks: scikit-survival's estimators (but those that say they predict times) and
    boosters with Cox's objective. Certain times: XGBoost's ``survival:aft``, and estimators with a
    method ``predict_time``.
    """
    if is_sksurv(estimator):
        return "time" if _regresses_times(estimator) else "risk"
    objective = objective_of(estimator)
    if objective.startswith(("survival:cox", "cox")):
        return "risk"
    if objective == "survival:aft" or hasattr(estimator, "predict_time"):
        return "time"
    return None


def _is_plain_regressor(estimator: Any) -> bool:
    """Whether scikit-learn counts it among its regressors, and nothing in it learns an order.

    A regressor predicts what it was fitted to, so its predictions are taken for times unless the
    caller says otherwise.
    """
    if ranks_only(estimator) or holds_ranking(estimator):
        return False
    try:
        from sklearn.base import is_regressor

        return bool(is_regressor(estimator))
    except (ImportError, AttributeError, TypeError):
        return getattr(estimator, "_estimator_type", None) == "regressor"
