"""Models by name; a model's module is imported when it is built, not when it is listed."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from ..._tools.extras import installed
from ...errors import InputError, MissingExtraError, one_of
from ...estimators.learners import LEARNERS, ModelFacts


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


#: Where TabPFN keeps its weights, if not in the cache of the platform.
FOLDER_VARIABLE = "TABPFN_MODEL_CACHE_DIR"
_PATTERN = "*classifier*.ckpt"


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


def weights_folder() -> Path:
    """Folder in which TabPFN keeps its weights."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tabpfn"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", "~")).expanduser() / "tabpfn"
    cache = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(cache) if cache else Path.home() / ".cache") / "tabpfn"


def present_weights() -> Path | None:
    """Weights on this machine, of the newest version if there are several."""
    folder = weights_folder()
    found = sorted(folder.glob(_PATTERN)) if folder.is_dir() else []
    return found[-1] if found else None


def find_weights(path: str | os.PathLike[str] | None = None) -> Path:
    """Take the file that the user names, or the weights on this machine; nothing is downloaded."""
    if path is not None:
        named = Path(path).expanduser()
        if not named.is_file():
            raise InputError(f"weights must be a file with TabPFN's weights; {named} is none")
        return named
    found = present_weights()
    if found is None:
        raise InputError(
            f"model 'tabpfn' needs weights, and {weights_folder()} holds no {_PATTERN}; accept "
            "their licence and fetch them with TabPFN itself, then name the file (weights=...) or "
            f"its folder ({FOLDER_VARIABLE})"
        )
    return found
