"""What the numbers of another library's ``predict`` mean: a time, a risk, or nobody can tell.

A risk that is taken for a time turns every ranking round, and a search then picks the worst model.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

#: Objectives that learn an order: their ``predict`` is never a time.
_RANKS = ("survival:cox", "rank:", "cox", "lambdarank", "rank_xendcg", "pairlogit", "queryrmse")
_PARAMETERS = ("objective", "loss_function", "loss")


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
    asked = None if isinstance(estimator, type) else getattr(estimator, "get_params", None)
    if callable(asked):
        with suppress(Exception):  # somebody else's object: it may refuse in any way
            known = asked()
            found = [known[name] for name in _PARAMETERS if isinstance(known.get(name), str)]
            return str(found[0]).lower() if found else ""
    return ""


def ranks_only(estimator: Any) -> bool:
    """Whether its objective is one that learns an order, not a time."""
    return objective_of(estimator).startswith(_RANKS)


def is_hazard(estimator: Any) -> bool:
    """Whether its objective is Cox's: ``predict`` is a hazard ratio, higher meaning sooner."""
    return objective_of(estimator).startswith(("survival:cox", "cox"))


def meaning_of_predict(estimator: Any) -> str | None:
    """Tell whether ``predict`` gives a "time" or a "risk"; None where it could be either.

    Known as a risk: scikit-survival's estimators (but those that say they predict times) and
    boosters with Cox's objective. Known as a time: XGBoost's ``survival:aft``, and scikit-learn's
    regressors, which predict what they were fitted to. An estimator that holds a booster with Cox's
    objective may give either.
    """
    if type(estimator).__module__.partition(".")[0] == "sksurv":
        return "time" if getattr(estimator, "_predict_risk_score", True) is False else "risk"
    if is_hazard(estimator):
        return "risk"
    if ranks_only(estimator):
        return None
    if any(ranks_only(part) for part in getattr(estimator, "__dict__", {}).values()):
        return None
    if objective_of(estimator) == "survival:aft" or _is_regressor(estimator):
        return "time"
    return None


def _is_regressor(estimator: Any) -> bool:
    """Whether scikit-learn counts it among its regressors."""
    try:
        from sklearn.base import is_regressor

        return bool(is_regressor(estimator))
    except (ImportError, AttributeError, TypeError):
        return getattr(estimator, "_estimator_type", None) == "regressor"
