"""The door of methods for censored subjects: arguments become a `Setting`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tools.arrays import LARGEST, flag, positive, vector
from ..data.entry import refuse_entry
from ..data.outcomes import Outcomes
from ..data.sampling import sampled
from ..data.tails import check_tail
from ..errors import one_of
from .cause_law import cause_times
from .conditional import check_conditional, check_floor
from .dependence import dependence_of, refuse_features
from .dependent_g import assumed_g
from .g_source import g_source
from .kaplan_meier import AREAS
from .reference import Reference
from .setting import Setting


def make_setting(
    y_true: Any,
    y_train: Any = None,
    *,
    area: str = "step",
    tail: str = "linear",
    tau: float | None = None,
    weighted: bool = True,
    censoring: Any = None,
    true_time: Any = None,
    sample_weight: Any = None,
    start: int = 0,
    conditional: Any = None,
    floor: float = 0.1,
    dependence: Any = None,
    cause: int | str | None = None,
    entry: bool = False,
) -> Setting:
    """Validate what the methods look at, with the clock stopped at `tau`.

    Delayed entry is refused unless `entry` says that the caller knows of it.
    """
    one_of("area", area, AREAS)
    check_tail(tail)
    tau = None if tau is None else positive(tau, "tau")
    several = cause is not None
    given = Outcomes.of(y_true, "y_true", causes=several or None, entry=entry)
    y, mass = sampled(given, sample_weight)
    if y_train is None:
        reference = Reference(y, causes=several)
    else:
        reference = Reference.of(y_train, several, entry)
    assumed, causes = dependence_of(dependence), y.causes
    times = None if cause is None else cause_times(y, reference, cause, tau, area, assumed)
    y = y.any_cause()
    if assumed is not None:
        refuse_features(conditional)
        refuse_entry(y.entry, "y_true")
        refuse_entry(reference.whole.y.entry, "y_train")
    weighed = y if mass is None else y.reweighted(mass)
    known = None if y_train is None else reference
    censoring = assumed_g(assumed, censoring, weighed, known)
    source = g_source(censoring, y_train is not None)
    truth = None
    if true_time is not None:
        truth = vector(true_time, "true_time", length=len(y), minimum=0.0, largest=LARGEST)
        truth = truth if tau is None else np.minimum(truth, tau)
    if mass is not None and tau is not None and y.entry is not None:
        mass = np.where(y.entry < tau, mass, 0.0)  # who enters later is absent
    return Setting(
        y.restricted(tau),
        reference.restricted(tau),
        in_sample=y_train is None or reference.in_sample,
        area=area,
        tail=tail,
        tau=tau,
        weighted=flag(weighted, "weighted"),
        censoring=None if isinstance(censoring, str) else censoring,
        true_time=truth,
        g_from=source,
        mass=mass,
        start=start,
        conditional=check_conditional(conditional, len(y), causes),
        floor=check_floor(floor),
        dependence=assumed,
        cause=times,
    )
