"""Models by name; a model's module is imported when it is built, not when it is listed."""

from __future__ import annotations

from dataclasses import asdict
from importlib import import_module
from typing import Any

from ..._tools.extras import installed
from ...errors import InputError, MissingExtraError, one_of
from ...estimators.learners import LEARNERS, ModelFacts
from .tabpfn_weights import find_weights, present_weights

_AFT: dict[str, Any] = {"extra": "lifelines", "needs": ("sklearn", "lifelines", "pandas")}
_NETWORK: dict[str, Any] = {"random": True, "extra": "torch", "needs": ("sklearn", "torch")}
_BOOST: dict[str, Any] = {"extra": "hazardous", "needs": ("sklearn", "hazardous")}
_SKSURV: dict[str, Any] = {"extra": "sksurv", "needs": ("sklearn", "sksurv")}
_XGBOOST: dict[str, Any] = {"random": True, "extra": "xgboost", "needs": ("sklearn", "xgboost")}
_CATBOOST: dict[str, Any] = {"random": True, "extra": "catboost", "needs": ("sklearn", "catboost")}
_HERE, _NETS = "bench.models.", "bench.models.torch_models:"
#: All models by name: the paper's and like ones, and after them those of several causes.
FACTS: dict[str, ModelFacts] = {
    facts.name: facts
    for facts in (
        ModelFacts(
            "lr", "Linear regression on the uncensored rows", f"{_HERE}classical:LinearTime",
            curves=False, time=True, continuous=None,
        ),
        ModelFacts(
            "km", "Kaplan-Meier", f"{_HERE}classical:KaplanMeierModel", individual=False
        ),
        ModelFacts(
            "coxph", "Cox proportional hazards, Breslow baseline", f"{_HERE}classical:CoxPH",
            continuous=True,
        ),
        ModelFacts(
            "aft", "Accelerated failure time, Weibull", f"{_HERE}classical:WeibullAFT",
            time=True, continuous=True, **_AFT,
        ),
        *LEARNERS.values(),
        ModelFacts(
            "coxnet", "Cox with an elastic net penalty, Breslow baseline",
            f"{_HERE}sksurv_models:Coxnet", continuous=True, **_SKSURV,
        ),
        ModelFacts(
            "extra_trees", "Extremely randomised survival trees",
            f"{_HERE}sksurv_models:ExtraTrees", random=True, **_SKSURV,
        ),
        ModelFacts(
            "svm", "Survival support vector machine, Cox model of its score",
            f"{_HERE}sksurv_models:SurvivalSVM", continuous=True, random=True, **_SKSURV,
        ),
        ModelFacts(
            "xgboost_cox", "XGBoost, Cox's likelihood, Breslow baseline",
            f"{_HERE}xgboost_models:XGBoostCox", **_XGBOOST,
        ),
        ModelFacts(
            "xgboost_aft", "XGBoost, accelerated failure time",
            f"{_HERE}xgboost_models:XGBoostAFT", time=True, continuous=True, **_XGBOOST,
        ),
        ModelFacts(
            "catboost_cox", "CatBoost, Cox's likelihood, Breslow baseline",
            f"{_HERE}catboost_models:CatBoostCox", **_CATBOOST,
        ),
        ModelFacts(
            "catboost_aft", "CatBoost, accelerated failure time",
            f"{_HERE}catboost_models:CatBoostAFT", time=True, continuous=True, **_CATBOOST,
        ),
        ModelFacts(
            "tabpfn", "TabPFN, classification of intervals (weights of your own)",
            f"{_HERE}tabpfn:TabPFNSurvival", random=True, extra="tabpfn",
            needs=("sklearn", "tabpfn"),
        ),
        ModelFacts("mtlr", "Multi-task logistic regression", f"{_NETS}MTLR", **_NETWORK),
        ModelFacts(
            "deephit", "DeepHit, one or several causes", f"{_NETS}DeepHit",
            incidence=True, **_NETWORK,
        ),
        ModelFacts(
            "deepsurv", "DeepSurv, a Cox network, Breslow baseline", f"{_NETS}DeepSurv",
            **_NETWORK,
        ),
        ModelFacts("sca", "Survival cluster analysis", f"{_NETS}SCA", continuous=True, **_NETWORK),
        ModelFacts(
            "smdn", "Survival mixture density network", f"{_NETS}SurvivalMDN",
            time=True, continuous=True, **_NETWORK,
        ),
        ModelFacts(
            "aalen_johansen", "Aalen-Johansen, several causes",
            f"{_HERE}competing:AalenJohansenModel", individual=False, incidence=True,
        ),
        ModelFacts(
            "cause_specific_cox", "A Cox model of each cause, combined to incidence",
            f"{_HERE}competing:CauseSpecificCox", continuous=True, incidence=True,
        ),
        ModelFacts(
            "survival_boost", "Boosted trees for several causes (hazardous' SurvivalBoost)",
            f"{_HERE}competing:SurvivalBoostModel",
            continuous=True, incidence=True, random=True, **_BOOST,
        ),
    )
}  # fmt: skip


def build(name: str, **params: Any) -> Any:
    """Make a model, unfitted.

    Parameters
    ----------
    name : str
        One of ``lr km coxph aft gbm_c gbm_tree rsf coxnet extra_trees svm xgboost_cox xgboost_aft
        catboost_cox catboost_aft tabpfn mtlr deephit deepsurv sca smdn``, or, for outcomes of
        several causes, ``aalen_johansen cause_specific_cox deephit survival_boost``.
    params
        Its parameters; what is left out is as in the paper.

    Returns
    -------
    SurvivalModel
        With ``fit(X, y)``, ``predict_curves(X)`` and ``predict_time(X)``; of several causes with
        ``predict_incidence(X)``.

    Examples
    --------
    >>> model = build("km").fit([[0], [0], [0]], ([2, 3, 4], [1, 0, 1]))
    >>> model.predict_time([[0], [0]])
    array([4., 4.])
    """
    one_of("name", name, FACTS, "models.available()")
    facts = FACTS[name]
    if not all(installed(package) for package in facts.needs):
        raise MissingExtraError(f"model {name!r}", facts.extra)
    cls = model_class(name)
    known = cls().get_params(deep=False)
    unknown = [key for key in params if key not in known]
    if unknown:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"model {name!r} has no parameter {unknown[0]!r}; {has}")
    if name == "tabpfn":
        find_weights(params.get("weights"))
    return cls(**params)


def model_class(name: str) -> Any:
    """Class of a registered model."""
    module, _, attribute = FACTS[name].home.partition(":")
    return getattr(import_module(f"survgauge.{module}"), attribute)


def available() -> list[dict[str, Any]]:
    """All models, with what each needs and whether it is installed.

    Returns
    -------
    list of dict
        Keys: name, title, curves, individual, time, continuous, incidence, random, extra,
        installed. `continuous` is None for a model without curves. TabPFN counts as installed if
        its weights are on this machine too.

    Examples
    --------
    >>> [row for row in available() if row["name"] == "km"][0]["individual"]
    False
    """
    rows = []
    for facts in FACTS.values():
        row = asdict(facts)
        del row["home"]
        here = all(map(installed, row.pop("needs")))
        row["installed"] = here and (facts.name != "tabpfn" or present_weights() is not None)
        rows.append(row)
    return rows
