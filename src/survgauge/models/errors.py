"""What can go wrong with a model: the message names the model and the cause."""

from __future__ import annotations

from ..errors import SurvgaugeError


class ModelError(SurvgaugeError, ValueError):
    """A model failed; `model` is its name, `cause` says why."""

    doing = "failed"

    def __init__(self, model: str, cause: str) -> None:
        super().__init__(f"{model} {self.doing}: {cause}")
        self.model, self.cause = model, cause

    def __reduce__(self) -> tuple[type[ModelError], tuple[str, str]]:
        # Workers of a parallel run send errors home by pickling them.
        return type(self), (self.model, self.cause)


class FitError(ModelError):
    """A model cannot be fitted to these data.

    >>> str(FitError("aft", "y has no event"))
    'aft cannot be fitted: y has no event'
    """

    doing = "cannot be fitted"


class PredictionError(ModelError):
    """A fitted model gives no usable prediction for these rows."""

    doing = "cannot predict"


class FitWarning(UserWarning):
    """A model was fitted, but not quite as asked."""


def describe(error: BaseException) -> str:
    """Type and message of an error on one line, without the help texts some libraries append."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
