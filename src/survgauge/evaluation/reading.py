"""Outcomes and predictions as `evaluate` reads them: of one kind of event, or of a cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    read = y_train is not None and not isinstance(y_train, Reference)
    if cause is None:
        y = Outcomes.of(y_test, "y_test", copy=False, entry=True)
        return y, Outcomes.of(y_train, "y_train", copy=False, entry=True) if read else y_train
    for argument, given in (("y_test", y_test), ("y_train", y_train)):
        if isinstance(given, Outcomes) and given.entry is not None:
            raise InputError(
                f"{argument} has delayed entry, which goes with one kind of event only: leave out "
                "cause, or give outcomes of subjects who are observed from the beginning"
            )
    if read and not isinstance(y_test, Outcomes):
        train = Outcomes.of(y_train, "y_train", copy=False, causes=True)
        if train.causes is not None:
            return with_causes(y_test, "y_test", train.causes), train
    y = Outcomes.of(y_test, "y_test", copy=False, causes=True)
    if y.causes is None:
        raise InputError("cause goes with outcomes of several causes; y_test has one kind of event")
    return y, with_causes(y_train, "y_train", y.causes) if read else y_train


def read_predictions(
    named: Mapping[str, Any], y: Outcomes, cause: int | str | None
) -> dict[str, Prediction]:
    """Read what the models predict: of one kind of event, or of a cause."""
    if cause is None or y.causes is None:  # `read_outcomes` sees to the causes
        return {str(name): Prediction.of(obj, len(y), str(name)) for name, obj in named.items()}
    code = cause_code(cause, y.causes)
    return {
        str(name): Prediction.of_cause(obj, len(y), str(name), y.causes, code)
        for name, obj in named.items()
    }
