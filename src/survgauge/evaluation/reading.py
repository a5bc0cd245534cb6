"""Outcomes and predictions as `evaluate` reads them: of one kind of event, or of a cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.causes import cause_code
from ..data.outcomes import Outcomes
from ..data.predictions import Prediction
from ..errors import InputError
from ..metrics.one_cause import with_causes
from ..reference.reference import Reference
from .interval_call import refuse_intervals


def read_outcomes(y_test: Any, y_train: Any, cause: int | str | None) -> tuple[Outcomes, Any]:
    """Read both outcomes, where they are: a copy would be held through every metric.

    With a cause both have the same causes. Codes need not hold all of them, if the other outcomes
    do or have their names.
    """
    refuse_intervals(y_train)
    y_test, y_train = _some_entries(y_test), _some_entries(y_train)
    read = y_train is not None and not isinstance(y_train, Reference)
    if cause is None:
        y = Outcomes.of(y_test, "y_test", copy=False, entry=True)
        return y, Outcomes.of(y_train, "y_train", copy=False, entry=True) if read else y_train
    if read and not isinstance(y_test, Outcomes):
        train = Outcomes.of(y_train, "y_train", copy=False, causes=True, entry=True)
        if train.causes is not None:
            return with_causes(y_test, "y_test", train.causes, entry=True), train
    y = Outcomes.of(y_test, "y_test", copy=False, causes=True, entry=True)
    if y.causes is None:
        raise InputError("cause goes with outcomes of several causes; y_test has one kind of event")
    return y, with_causes(y_train, "y_train", y.causes, entry=True) if read else y_train


def _some_entries(obj: Any) -> Any:
    """Return outcomes whose entries are all 0 without entries, which is the same."""
    if isinstance(obj, Outcomes) and obj.entry is not None and not obj.entry.any():
        return obj[np.arange(len(obj))]
    return obj


def named_models(predictions: Any) -> Mapping[str, Any]:
    """Return predictions by the names of the models, at least one of them."""
    named = predictions if isinstance(predictions, Mapping) else {"model": predictions}
    if not named:
        raise InputError("predictions must hold at least one model; got an empty mapping")
    return named


def by_text(named: Mapping[Any, Any]) -> dict[str, Any]:
    """Return predictions by names as text, which are distinct.

    >>> by_text({1: [2.0], "b": [3.0]})
    {'1': [2.0], 'b': [3.0]}
    """
    found = {str(name): obj for name, obj in named.items()}
    if len(found) < len(named):
        raise InputError(f"predictions must have distinct names; got {[str(k) for k in named]}")
    return found


def read_predictions(
    named: Mapping[str, Any], y: Outcomes, cause: int | str | None
) -> dict[str, Prediction]:
    """Read what the models predict: of one kind of event, or of a cause."""

    def read(obj: Any, name: str) -> Prediction:
        if cause is None or y.causes is None:  # `read_outcomes` sees to the causes
            return Prediction.of(obj, len(y), name)
        return Prediction.of_cause(obj, len(y), name, y.causes, cause_code(cause, y.causes))

    return {name: read(obj, name) for name, obj in by_text(named).items()}
