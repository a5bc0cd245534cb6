"""Charts as plain data: what the displays computed, described for the page's script."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import InputError, UndefinedMetricError
from .calibration import d_calibration, one_calibration, smooth_calibration
from .errors import by_status, over_time, predicted_actual
from .follow_up import subjects, support, surrogates
from .probabilities import auc, brier, mean_curves
from .scores import differences, metrics
from .specs import Spec

if TYPE_CHECKING:
    from ...evaluation import Evaluation

Maker = Callable[[Any, dict[str, int]], Spec | None]
#: What each section shows.
_MAKERS: dict[str, tuple[Maker, ...]] = {
    "errors": (predicted_actual, by_status, over_time),
    "probabilities": (brier, auc, mean_curves),
    "calibration": (d_calibration, one_calibration, smooth_calibration),
    "subjects": (subjects,),
    "support": (support, surrogates),
}


def from_table(data: dict[str, Any]) -> dict[str, list[Spec]]:
    """Charts that need nothing but the table: values and differences."""
    return {"metrics": metrics(data), "differences": differences(data)}


def from_evaluation(ev: Evaluation) -> dict[str, list[Spec]]:
    """Charts that need the predictions too; what the data do not allow is left out."""
    if not ev.predictions:
        return {}
    colour = {name: k for k, name in enumerate(ev.models)}
    return {
        section: [spec for make in makers if (spec := _attempt(make, ev, colour)) is not None]
        for section, makers in _MAKERS.items()
    }


def _attempt(make: Maker, ev: Evaluation, colour: dict[str, int]) -> Spec | None:
    try:
        return make(ev, colour)
    except (InputError, UndefinedMetricError):
        return None
