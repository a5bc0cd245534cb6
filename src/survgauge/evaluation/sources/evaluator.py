"""`Evaluator`: predictions that come batch by batch, kept in memory."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...data.intervals import IntervalOutcomes
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import InputError, did_you_mean
from ...estimators.reference import Reference
from ...metrics.checks import with_causes
from ...metrics.conventions import SETTINGS
from ...metrics.registry import REGISTRY
from .. import Evaluation, evaluate
from ..evaluated import chosen_metrics
from ..reading import joined, joined_predictions, read_predictions

#: What `evaluate` takes once per subject, which a batch cannot know, and what batches bring.
_OF_SUBJECTS = (
    "predictions", "y_test", "by", "sample_weight", "cluster", "X_test", "X_train", "conditional",
)  # fmt: skip


class Evaluator:
    """Evaluation of predictions that come batch by batch: `update`, `compute`, `reset`.

    Batches are kept, as NumPy arrays, and `compute` hands all of them to `evaluate`: the numbers
    are the same, whatever the batches. (Predictions that do not fit into memory go to
    `evaluate_stream`.)

    Parameters
    ----------
    y_train : outcomes, optional
        Reference set, as for `evaluate`.
    **settings
        Anything else that `evaluate` takes but what has one entry per subject: `metrics`, `tau`,
        `time`, `unit`, `confidence`, ... (``confidence=None`` is quickest).

    Examples
    --------
    >>> evaluator = Evaluator(([1, 3, 4, 6, 9, 11], [1, 1, 0, 1, 1, 0]), metrics=["mae_po"])
    >>> evaluator.update([3, 5], ([2, 5], [1, 0]))
    >>> evaluator.update([6, 9], ([7, 8], [1, 1]))
    >>> len(evaluator), round(evaluator.compute().rows()[0]["value"], 2)
    (4, 1.34)
    >>> evaluator.reset()
    >>> len(evaluator)
    0
    """

    def __init__(self, y_train: Any = None, **settings: Any) -> None:
        known = [n for n in inspect.signature(evaluate).parameters if n not in _OF_SUBJECTS]
        known += SETTINGS
        for name in settings:
            if name not in known:
                raise InputError(
                    f"{name} is no setting of an Evaluator{did_you_mean(name, known)}; settings "
                    f"are {', '.join(known)}"
                )
        cause = settings.get("cause")
        is_read = y_train is None or isinstance(y_train, Reference | IntervalOutcomes)
        metrics = settings.get("metrics")
        kind = _outcomes_of(y_train, metrics)
        chosen_metrics(metrics, 0, cause=cause, outcomes=kind)  # now, not after an epoch
        several = None if cause is None else True
        self.y_train = y_train
        if not is_read:
            entry = cause is None
            unit = settings.get("unit", "")
            self.y_train = Outcomes.of(y_train, "y_train", causes=several, entry=entry, unit=unit)
        self.settings = settings
        self.reset()

    def reset(self) -> None:
        """Leave all batches behind, to begin anew."""
        self._outcomes: list[Any] = []
        self._predictions: dict[str, list[Prediction]] = {}

    def __len__(self) -> int:
        return sum(len(y) for y in self._outcomes)

    def update(self, predictions: Mapping[str, Any] | Any, y: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        predictions : mapping of name to predictions
            As for `evaluate`: curves, one time per subject or `RiskScores`, also as tensors, of the
            same models in every batch. A single prediction is called "model". Curves must have the
            same grid of times in all batches, or a grid for each subject.
        y : outcomes
            Outcomes of the batch, such as a ``(time, event)`` pair of tensors, `Outcomes` with
            delayed entry, or `IntervalOutcomes`.
        """
        label = f"batch {len(self._outcomes) + 1}"
        outcomes = self._read(y)
        named = predictions if isinstance(predictions, Mapping) else {"model": predictions}
        unit = self.settings.get("unit", "")
        read = read_predictions(named, outcomes, self.settings.get("cause"), unit)
        # A copy: loops write the next batch where this one is.
        batch = {name: prediction[np.arange(len(outcomes))] for name, prediction in read.items()}
        if self._outcomes:
            self._check_alike(batch, label)
        self._outcomes.append(outcomes)
        for name, prediction in batch.items():
            self._predictions.setdefault(name, []).append(prediction)

    def _read(self, y: Any) -> Any:
        """Read the outcomes of a batch, which need not have events of every cause."""
        if self._outcomes and isinstance(y, IntervalOutcomes) != isinstance(
            self._outcomes[0], IntervalOutcomes
        ):
            raise InputError(
                "y must be of one kind in all batches, Outcomes or IntervalOutcomes; got "
                f"{type(y).__name__} after {type(self._outcomes[0]).__name__}"
            )
        if isinstance(y, IntervalOutcomes):
            return y
        if self.settings.get("cause") is None:
            return Outcomes.of(y, entry=True, unit=self.settings.get("unit", ""))
        train = self.y_train.given if isinstance(self.y_train, Reference) else self.y_train
        known = None if train is None else train.causes
        return with_causes(y, "y", known) if known else Outcomes.of(y, causes=True)

    def _check_alike(self, batch: dict[str, Prediction], label: str) -> None:
        """Refuse a batch of other models, or with predictions of another kind."""
        if set(batch) != set(self._predictions):
            raise InputError(
                f"predictions of {label} must be those of the models of batch 1, "
                f"{sorted(self._predictions)}; got {sorted(batch)}"
            )
        for name, prediction in batch.items():
            first = self._predictions[name][0]
            if _kind(prediction) != _kind(first):
                advice = ""
                if _kind(prediction)[3:] == _kind(first)[3:] != ():  # only the grids differ
                    read = first.curves.interpolation  # type: ignore[union-attr]
                    advice = (
                        f": choose one grid, sg.SurvivalCurves(grid, curves.at(grid), {read!r})"
                    )
                raise InputError(
                    f"predictions of {name!r} must be alike in all batches, and curves on the same "
                    f"grid of times; batch 1 has {_described(first)}, {label} has "
                    f"{_described(prediction)}" + advice
                )

    def compute(self) -> Evaluation:
        """Evaluate all batches together; more may follow."""
        if not self._outcomes:
            raise InputError("there is nothing to compute: give a batch to `update` first")
        predictions = {name: joined_predictions(parts) for name, parts in self._predictions.items()}
        return evaluate(predictions, joined(self._outcomes), y_train=self.y_train, **self.settings)


def _outcomes_of(y_train: Any, metrics: Any) -> str:
    """Say which outcomes will come: those of the training set, or of the first metric."""
    if y_train is not None or not isinstance(metrics, str | list | tuple) or not metrics:
        return "interval" if isinstance(y_train, IntervalOutcomes) else "right"
    known = REGISTRY.get(metrics if isinstance(metrics, str) else metrics[0])
    return "right" if known is None else known.outcomes


def _kind(prediction: Prediction) -> tuple[Any, ...]:
    """What has to be the same in all batches."""
    curves = prediction.curves
    if curves is None:
        return (prediction.kind,)
    grid = curves.times.tobytes() if curves.shared_grid else "own"
    return "curves", curves.times.shape[-1], grid, curves.interpolation, curves.tail


def _described(prediction: Prediction) -> str:
    return prediction.kind if prediction.curves is None else repr(prediction.curves)
