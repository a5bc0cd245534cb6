"""Learners of event times behind one protocol: what each is, and what can go wrong with it.

Nothing is imported here but the standard library, so that listing models costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import SurvgaugeError


@dataclass(frozen=True)
class ModelFacts:
    """One line of the table of models."""

    #: What `build` and plans call it.
    name: str
    #: What it is.
    title: str
    #: ``module:class`` inside `survgauge`; empty for models that are not in the table.
    home: str = ""
    #: Gives survival curves; if not, `predict_curves` is refused.
    curves: bool = True
    #: Predictions depend on the features.
    individual: bool = True
    #: Predicts a time itself, rather than one read off a curve.
    time: bool = False
    #: Curves are defined in continuous time; None without curves.
    continuous: bool | None = False
    #: Takes outcomes of several causes and predicts the incidence of each.
    incidence: bool = False
    #: Fitting or predicting draws random numbers (the model has a `random_state`).
    random: bool = False
    #: What to install: ``pip install 'survgauge[<extra>]'``.
    extra: str = "sklearn"
    #: Packages that must be importable.
    needs: tuple[str, ...] = ("sklearn",)


#: The learners of this folder, which a blend is made of; `survgauge.bench.models` has more.
LEARNERS: dict[str, ModelFacts] = {
    facts.name: facts
    for facts in (
        ModelFacts(
            "gbm_c",
            "Gradient boosting, component-wise least squares",
            "estimators.learners.trees:ComponentwiseBoosting",
        ),
        ModelFacts(
            "gbm_tree",
            "Gradient boosting, regression trees",
            "estimators.learners.trees:TreeBoosting",
            random=True,
        ),
        ModelFacts(
            "rsf",
            "Random survival forest",
            "estimators.learners.trees:SurvivalForest",
            random=True,
            extra="sksurv",
            needs=("sklearn", "sksurv"),
        ),
    )
}


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
