"""Models by name; a model's module is imported when it is built, not when it is listed."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from ..._tools.extras import installed
from ...errors import InputError, MissingExtraError, one_of
from ...estimators.learners import LEARNERS, ModelFacts
from .tabpfn_weights import find_weights, present_weights


def _facts(name: str, entry: dict[str, Any]) -> ModelFacts:
    """Read an entry of ``models.json``; what an extra brings is needed, too."""
    if name in LEARNERS:
        return LEARNERS[name]
    extra = entry.get("extra")
    needs = entry.pop("needs", ["sklearn", extra] if extra else ["sklearn"])
    return ModelFacts(name, **entry, needs=tuple(needs))


_TABLE = json.loads(Path(__file__).with_name("models.json").read_text(encoding="utf-8"))
#: All models by name: the paper's and like ones, and after them those of several causes.
FACTS = {name: _facts(name, entry) for name, entry in _TABLE.items()}


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
