"""What calibration metrics are given: checked once, with the words that every result carries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Bools, Floats, one_number, shown, vector
from ...data.adapters import is_flat
from ...data.curve_checks import ROUNDING
from ...data.curves import SurvivalCurves
from ...data.intervals import IntervalOutcomes
from ...data.outcomes import Outcomes
from ...errors import InputError, UndefinedMetricError, numbered, one_of
from ..checks import check_curves
from ..one_cause import OneCause
from ..past_curve import share_past

PROBABILITIES = ("survival", "event")
CONVENTIONS = ("survgauge", "survivaleval")
#: Predictions closer than this to 0 or 1 have no usable complementary log-log.
CERTAIN = 1e-10


def own_survival(y: Outcomes, curves: Any) -> Floats:
    """S_i(t_i), each subject's predicted probability of surviving its own observed time."""
    s = check_curves(curves, y).at_own(y.time)
    refuse_unknown(s, "their own time")
    return s


def survival_at(
    y: Outcomes,
    predicted: Any,
    time: Any,
    probability: str,
    argument: str = "curves",
    *,
    from_entry: bool = True,
) -> Floats:
    """S_i(time) from curves, or from probabilities that the caller already has.

    Under delayed entry curves are read given being event-free then, unless `from_entry` is False.
    """
    one_of("probability", probability, PROBABILITIES)
    if isinstance(predicted, SurvivalCurves):
        s = check_curves(predicted, y, from_entry=from_entry).at(checked_time(time))
        refuse_unknown(s, f"time {time}")
        return s
    if not is_flat(predicted):
        raise InputError(
            f"{argument} must be curves (anything that `as_curves` reads) or probabilities at "
            f"`time`, one per subject; got {type(predicted).__name__}"
        )
    s = vector(predicted, argument, length=len(y), like="y_true")
    bad = np.flatnonzero((s < -ROUNDING) | (s > 1 + ROUNDING))
    if bad.size:
        raise InputError(
            f"{argument} must be probabilities between 0 and 1; got {s[bad[0]]:g} for "
            f"{numbered(bad)}"
        )
    s = np.clip(s, 0.0, 1.0)
    return s if probability == "survival" else 1.0 - s


def checked_time(time: Any) -> float:
    """Return one finite time that is not negative."""
    value = one_number(time)
    if not (np.isfinite(value) and value >= 0):
        raise InputError(f"time must be one finite number, not negative; got {shown(time)}")
    return value


def refuse_unknown(s: Floats, where: str) -> None:
    """Refuse probabilities that a curve does not give."""
    if np.isnan(s.sum()):
        bad = np.flatnonzero(np.isnan(s))
        raise UndefinedMetricError(
            f"the curves of {numbered(bad)} say nothing about {where}: it lies past "
            "their grid and they have tail='nan'; choose another tail or leave the subjects out"
        )


def log_log(s: Floats) -> tuple[Floats, int]:
    """log(-log S) with S moved into [1e-10, 1 - 1e-10], and how many had to be moved."""
    moved = int(((s < CERTAIN) | (s > 1 - CERTAIN)).sum())
    x = np.clip(s, CERTAIN, 1 - CERTAIN)
    np.log(x, out=x)
    np.negative(x, out=x)
    return np.log(x, out=x), moved


def present_rows(y: Outcomes, s: Floats) -> tuple[Outcomes, Floats]:
    """Leave out subjects of weight zero together with their predictions."""
    rows = y.present()
    return (y, s) if rows is y else (rows, s[y.weight > 0])


def taking_part(y: Outcomes, time: float) -> Bools:
    """Who is present and, under delayed entry, entered before a time: (n,)."""
    present = y.weight > 0
    if y.entry is None:
        return present
    present &= (y.entry < time) | (y.entry == 0)
    if not present.any():
        raise UndefinedMetricError(f"no subject of y_true entered before time {time:g}")
    return present


def refuse_past_follow_up(y: Outcomes | IntervalOutcomes, time: float) -> None:
    """Refuse a time that nobody was observed up to."""
    last = float(y.time.max())
    if time > last:
        raise UndefinedMetricError(
            f"time {time:g} lies past the last test time {last:g}: nothing was observed there"
        )


def read_past(y: Outcomes, curves: Any, at: Floats | float) -> dict[str, float]:
    """Share of the curves that end before they are read, for the support; {} for probabilities."""
    if not isinstance(curves, SurvivalCurves):
        return {}
    return {"past_curve": share_past(curves, at, y.weight if y.weighted else None)}


def description(
    y: Outcomes, curves: Any, asked: OneCause | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What every result says: how curves were read, and who was there."""
    convention: dict[str, Any] = {"convention": "survgauge", "reference": "test outcomes"}
    if isinstance(curves, SurvivalCurves):
        convention |= {"interpolation": curves.interpolation, "curve_tail": curves.tail}
    if y.entry is not None:
        convention["entry"] = "curves given being event-free at entry"
    events = int(y.event.sum())
    support = {"subjects": len(y), "events": events, "censored": len(y) - events}
    if asked is not None and asked.competes is not None:
        convention["cause"] = asked.name
        present = len(y) == len(asked.y) or asked.y.weight > 0
        support["competing"] = int((asked.competes & present).sum())
    return convention, support
