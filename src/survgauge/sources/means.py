"""One metric at a time: any mean over subjects, whatever function computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from ..metrics.details import Details
from ..metrics.support import PAST_KEY, SupportSum
from ..metrics.time.terms import TimeErrorDetails
from .moments import Moments

#: How conventions name a G that comes from the subjects of the call.
_TEST_G = ("test outcomes", "reverse Kaplan-Meier of the test outcomes")


class StreamedMean:
    """A metric that is a mean over subjects, from chunks of them.

    For metrics outside `evaluate`, such as `coverage_details` or `time_error_details` with another
    loss. What the chunks share must be fixed: give `y_train` to metrics that take one. A chunk on
    which the metric is undefined is an error here, since a function says no more than that.

    Parameters
    ----------
    metric : callable
        Like `coverage_details`: ``metric(y_true, predicted, **options)`` gives a value with
        contributions.
    **options
        Passed on with every chunk.

    Examples
    --------
    >>> import survgauge as sg
    >>> curves = sg.SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    >>> one, two = (StreamedMean(sg.coverage_details, level=0.8) for _ in range(2))
    >>> one.update(([2, 4], [1, 0]), curves[:2])
    >>> two.update(([6, 9.9], [1, 1]), curves[2:])
    >>> one.merge(two)
    >>> round(one.result().value, 4), sg.coverage(([2, 4, 6, 9.9], [1, 0, 1, 1]), curves, 0.8) > 0.7
    (0.7083, True)
    """

    def __init__(self, metric: Callable[..., Any], **options: Any) -> None:
        self.metric, self.options = metric, options
        self.moments = Moments(2)
        self.convention: dict[str, Any] = {}
        self.support = SupportSum()
        self.rows = 0

    def update(self, y_true: Any, predicted: Any) -> None:
        """Score a chunk."""
        y = Outcomes.of(y_true, "y_true")
        details = self.metric(y, predicted, **self.options)
        if str(details.convention.get("censoring", "")).startswith(_TEST_G):
            raise InputError(
                "metric weights by 1/G, and G of the test subjects cannot be had from a chunk of "
                "them: pass censoring='train' with y_train, or a KaplanMeier"
            )
        support = dict(details.support)
        if isinstance(details, TimeErrorDetails):
            share = details.weight if details.share is None else details.share
            values = np.stack((details.weight * details.loss, share))
            if PAST_KEY in support:
                support[PAST_KEY] *= details.value * details.normalizer
        elif isinstance(details, Details) and details.psi is not None:
            values = np.stack((details.psi * y.weight.sum() + details.value * y.weight, y.weight))
        else:
            raise InputError(
                "metric must give contributions of the subjects; "
                f"{getattr(self.metric, '__name__', 'it')} has none on this chunk"
            )
        if y.weighted:
            present = y.weight > 0
            self.moments.update(values[:, present] / y.weight[present], y.weight[present])
        else:
            self.moments.update(values)
        self.convention = self.convention or details.convention
        self.support.add(support, self.rows, float(y.weight.sum()))
        self.rows += len(y)

    def merge(self, other: StreamedMean) -> None:
        """Add the subjects of another part."""
        told = self.convention, other.convention
        if self.metric != other.metric or (all(told) and told[0] != told[1]):
            raise InputError("parts must have the same metric and options to be merged")
        self.moments.merge(other.moments)
        self.support.merge(other.support)
        self.convention = self.convention or other.convention
        self.rows += other.rows

    def result(self) -> StreamedDetails:
        """Return the metric of all subjects."""
        if not self.rows:
            raise UndefinedMetricError("no subject has come yet")
        support = self.support.result(float(self.moments.total[0]))
        return StreamedDetails(
            self.moments.ratio(0), self.convention, support, None, None, self.moments
        )


@dataclass(frozen=True)
class StreamedDetails(Details):
    """A value with its convention, support and standard error, without the subjects."""

    moments: Moments | None = None

    @property
    def stderr(self) -> float:
        """Analytic standard error."""
        if self.moments is None:
            return float("nan")
        return self.moments.stderr(self.moments.ratio_pull(0))
