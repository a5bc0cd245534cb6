"""Where G, the distribution of the censoring time, comes from: one rule for all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import InputError, one_of
from .nonparametric import KaplanMeier

#: Sets of subjects that G can be estimated from.
G_SETS = ("test", "train")


@dataclass(frozen=True)
class WholeG:
    """G of a whole test set, where only a part of its subjects is at hand (streams)."""

    km: KaplanMeier


def g_source(censoring: Any, trained: bool, usual: str = "test") -> str:
    """Say where G comes from: "test", "train", or "given" by the caller.

    Parameters
    ----------
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        What the caller asked for; None: the `usual` source.
    trained : bool
        Whether there are training outcomes.
    usual : {"test", "train"}
        The convention's source; without training outcomes it is the test subjects.

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
    if callable(censoring) or isinstance(censoring, KaplanMeier):
        return "given"
    raise InputError(
        "censoring must be 'test', 'train', a KaplanMeier or a function G(t, side); "
        f"got {type(censoring).__name__}"
    )
