"""What all metrics of one evaluation share: outcomes, reference, horizon, time of interest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._arrays import Floats, Ints
from ..errors import InputError
from ..outcomes import Outcomes
from ..reference import Reference
from .conventions import Convention, convention_of
from .ipcw import CensoringWeights, check_policy


@dataclass(frozen=True)
class Problem:
    """Outcomes and settings; `horizon` and `time` are resolved once for all metrics."""

    y: Outcomes
    reference: Reference | None
    convention: Convention
    horizon: float
    time: float
    on_unsupported: str = "truncate"
    tau: float | None = None
    censoring: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        y: Outcomes,
        y_train: Any = None,
        *,
        convention: str | Convention | None = None,
        min_g: float = 0.05,
        min_at_risk: int = 10,
        time: float | None = None,
        tau: float | None = None,
        on_unsupported: str = "truncate",
        censoring: Any = None,
        **options: Any,
    ) -> Problem:
        """Resolve the horizon and the time of interest from the data."""
        check_policy(on_unsupported)
        preset = convention_of(convention)
        reference = None if y_train is None else Reference.of(y_train)
        weights = CensoringWeights(y, reference, censoring, preset)
        horizon = supported_until(weights, min_g, min_at_risk)
        if time is None:
            known = (reference or Reference(y)).y
            events = known.time[known.event]
            time = float(np.median(events)) if events.size else float("nan")
        elif not (np.isfinite(time) and time > 0):
            raise InputError(f"time must be finite and positive; got {time}")
        return cls(
            y, reference, preset, horizon, float(time), on_unsupported, tau, censoring, options
        )

    def subset(self, rows: Ints | Any) -> Problem:
        """Return the same question for some of the subjects; horizon and time stay."""
        return replace(self, y=self.y[rows])

    def resampled(self, rows: Ints, counts: Floats, reference: Reference | None) -> Problem:
        """Return the same question for subjects drawn `counts` times."""
        y = Outcomes(self.y.time[rows], self.y.event[rows], counts)
        return replace(self, y=y, reference=reference)

    @property
    def ipcw(self) -> dict[str, Any]:
        """Arguments of the metrics that weight by 1/G."""
        return {
            "y_train": self.reference,
            "convention": self.convention,
            "censoring": self.censoring,
        }


def supported_until(weights: CensoringWeights, min_g: float, min_at_risk: int) -> float:
    """Largest time with G(t-) >= `min_g` and at least `min_at_risk` test subjects at risk.

    Where no time qualifies, the range that is identified at all.
    """
    y = weights.y
    order = np.sort(y.time)
    if y.weighted:
        by_time = np.argsort(y.time)
        at_risk = np.cumsum(y.weight[by_time][::-1])[::-1]
        enough = np.flatnonzero(at_risk >= min_at_risk)
    else:
        enough = np.arange(max(order.size - min_at_risk + 1, 0))
    end = float(order[enough[-1]]) if enough.size else weights.identified_until
    end = min(end, weights.identified_until)
    if weights.km is None:
        return end
    # G(t-) falls below the floor just after the first time at which G does.
    low = np.flatnonzero(weights.km.survival < min_g)
    return min(end, float(weights.km.times[low[0]])) if low.size else end
