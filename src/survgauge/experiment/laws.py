"""Laws of a fold: event and censoring times given features, fitted once for all models."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.curves import SurvivalCurves
from ..errors import InputError
from ..reference.conditional import Conditional
from .imports import imported

#: Kaplan-Meier for everybody: nothing is fitted.
KM = "km"
#: Laws with a name of their own, and the functions that fit them.
NAMED_LAWS = {"blend": "survgauge.blending:conditional"}
#: Goes up when a named law comes to different curves, so that stored ones are not taken for them.
LAWS_VERSION = 4
#: Where the censoring distribution of a metric comes from: G of a set, or the law's own model.
MODEL = "model"


@dataclass(frozen=True)
class LawSpec:
    """A law that metrics of a plan ask for: a name, or ``module:function`` of your own.

    A function of your own is called like `survgauge.conditional`, with (X_train, y_train, X_test)
    and ``random_state=``, and returns a `survgauge.Conditional`.

    Examples
    --------
    >>> LawSpec("blend").label
    'law blend'
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or (self.name not in NAMED_LAWS and ":" not in self.name):
            names = ", ".join(repr(name) for name in (KM, *NAMED_LAWS))
            raise InputError(f"law must be one of {names} or 'module:function'; got {self.name!r}")

    @property
    def label(self) -> str:
        """What progress and failures call it."""
        return f"law {self.name}"

    def identity(self) -> dict[str, Any]:
        """What its curves depend on besides the fold."""
        return {"law": self.name, "version": LAWS_VERSION}

    def fit(self, X_train: Any, y_train: Any, X_test: Any, y_test: Any, seed: int) -> Conditional:
        """Fit, and predict for the test subjects; named ones as `evaluate` does, on both sets."""
        function = imported(NAMED_LAWS.get(self.name, self.name), "law")
        more = {"y_test": y_test} if self.name in NAMED_LAWS else {}
        found = function(X_train, y_train, X_test, random_state=seed, **more)
        if not isinstance(found, Conditional) or len(found) != len(X_test):
            raise InputError(
                f"law {self.name!r} must return a Conditional with a curve for each of "
                f"{len(X_test)} test subjects; got {found!r}"
            )
        return found


def chosen(fitted: Conditional, settings: Mapping[str, Any]) -> Conditional | None:
    """Return the part of a fitted law that a metric asks for; None: there is no such part.

    Without ``censoring = "model"`` a metric takes the law of event times alone, and G from a set of
    subjects. A setting ``tail`` takes the place of the law's own.
    """
    law = fitted.law
    if law is not None and "tail" in settings:
        # A law may have times past the end of follow-up, which stand for a tail of its own.
        seen = law.times <= fitted.how.get("follow_up", np.inf)
        law = SurvivalCurves(
            law.times[seen], law.survival[:, seen], law.interpolation, settings["tail"]
        )
    censoring = fitted.censoring if settings.get("censoring") == MODEL else None
    if law is None and censoring is None:
        return None
    return Conditional(law, censoring, fitted.how)


def pack_law(fitted: Conditional, seconds: float) -> bytes:
    """Curves as the bytes of a compressed NumPy file, with how they were made."""
    about = {"how": fitted.how, "seconds": seconds}
    arrays: dict[str, Any] = {"about": np.array(json.dumps(about, default=str))}
    for part, curves in (("law", fitted.law), ("censoring", fitted.censoring)):
        if curves is not None:
            arrays[f"{part}_times"], arrays[f"{part}_survival"] = curves.times, curves.survival
            arrays[f"{part}_shape"] = np.array([curves.interpolation, curves.tail])
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def unpack_law(content: bytes) -> Conditional:
    """Read what `pack_law` wrote.

    >>> law = SurvivalCurves([1, 2], [[0.5, 0.25]], "step", "hold")
    >>> unpack_law(pack_law(Conditional(law, how={"law": "mine"}), 0.1))
    Conditional(1 subjects, law: mine, censoring: Kaplan-Meier)
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        about = json.loads(str(arrays["about"]))
        parts: dict[str, SurvivalCurves | None] = {"law": None, "censoring": None}
        for part in ("law", "censoring"):
            if f"{part}_survival" in arrays:
                interpolation, tail = (str(word) for word in arrays[f"{part}_shape"])
                given = arrays[f"{part}_times"], arrays[f"{part}_survival"]
                parts[part] = SurvivalCurves(*given, interpolation, tail)
    return Conditional(parts["law"], parts["censoring"], about["how"])
