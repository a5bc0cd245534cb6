"""Where G, the distribution of the censoring time, comes from: one rule for all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from .._tools.arrays import Floats, vector
from .._tools.calls import called
from ..errors import InputError, one_of
from .kaplan_meier import KaplanMeier

#: Sets of subjects that G can be estimated from.
G_SETS = ("test", "train")
#: A smaller G from a caller's function is taken for 0: nobody could stand for so many subjects, and
#: the squares of such weights are no numbers.
SMALLEST_G = 1e-50


@dataclass(frozen=True)
class WholeG:
    """G of a whole test set, where only a part of its subjects is at hand."""

    km: KaplanMeier
    #: The same with tied events at risk of censoring, where the convention wants that.
    flipped: KaplanMeier | None = None


def g_source(censoring: Any, trained: bool, usual: str = "test") -> str:
    """Say where G comes from: "test", "train", or "given" by the caller.

    `usual` is the source of the convention; without training outcomes it is the test subjects.

    Examples
    --------
    >>> g_source(None, trained=True), g_source(None, True, "train"), g_source(None, False, "train")
    ('test', 'train', 'test')
    """
    if censoring is None:
        return "train" if usual == "train" and trained else "test"
    if isinstance(censoring, str):
        one_of("censoring", censoring, G_SETS)
        if censoring == "train" and not trained:
            raise InputError(
                "censoring='train' takes G from the training outcomes, but y_train is missing; "
                "give y_train, or leave censoring out to take G from the test subjects"
            )
        return censoring
    if isinstance(censoring, WholeG):
        return "test"
    if isinstance(censoring, KaplanMeier):
        return "given"
    if callable(censoring):
        _check_function(censoring)
        return "given"
    raise InputError(
        "censoring must be 'test', 'train', a KaplanMeier or a function G(t, side); "
        f"got {type(censoring).__name__}"
    )


def _check_function(censoring: Any) -> None:
    """Refuse a function that cannot be called as G is."""
    try:
        known = signature(censoring)
    except (TypeError, ValueError):  # some built-in functions do not tell
        return
    try:
        known.bind(None, "left")
    except TypeError as error:
        name = getattr(censoring, "__name__", type(censoring).__name__)
        raise InputError(
            "censoring must be a function G(t, side): it is called with t, an array with one time "
            "for each subject, and side, 'left' for G(t-) or 'right' for G(t), and returns one "
            f"probability for each subject; {name}{known} cannot be called so ({error})"
        ) from error


def ask_g(censoring: Any, t: Floats, side: str) -> Floats:
    """G of each subject at one time each, from a caller's function, checked.

    >>> ask_g(lambda t, side: np.exp(-t), np.array([0.0, 1.0, 500.0]), "left").round(3)
    array([1.   , 0.368, 0.   ])
    """
    name = "censoring(t, side)"
    values = vector(called(censoring, name, t, side), name, length=t.size)
    if values.min() < 0 or values.max() > 1:
        raise InputError(
            "censoring(t, side) must return probabilities in [0, 1]; "
            f"got {values.min():g} to {values.max():g}"
        )
    return np.where(values < SMALLEST_G, 0.0, values)
