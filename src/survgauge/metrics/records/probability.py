"""Records of the metrics of predicted probabilities."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...data.predictions import Prediction
from ..grids import equal_steps
from ..probability.brier import skill_at
from ..probability.crps import crps
from ..probability.doubly_robust import brier_terms, integrated_terms, skill_details
from ..probability.log_likelihood import log_likelihood
from ..probability.multi_cause import integrated_states
from ..probability.status_scores import brier_at, integrated_scores
from ..record import EVERYTHING, POSITIVE, Metric
from ..score import Score, Terms
from ..task import Task, supported_end, supported_time


def _brier(task: Task, prediction: Prediction) -> Score | Terms:
    if task.robust:
        return brier_terms(task, prediction)
    return brier_at(
        task.y,
        prediction.curves,
        supported_time(task),
        on_unsupported=task.convention.on_unsupported,
        cause=task.cause,
        **task.ipcw,
    )


def _ipa(task: Task, prediction: Prediction) -> Score:
    if task.robust:
        return skill_details(task, prediction)
    return skill_at(
        task.y,
        prediction.curves,
        supported_time(task),
        None if task.cause is None else task.with_g().baseline().curves,
        on_unsupported=task.convention.on_unsupported,
        cause=task.cause,
        **task.ipcw,
    )


#: Integrated scores by name, and the loss that each integrates.
_INTEGRATED = {"ibs": "squared", "ibll": "log"}


def _integrated(task: Task, prediction: Prediction, *, name: str) -> Score | Terms:
    """Return one of the integrated scores; others that were asked for come from the same pass."""
    if task.robust and name == "ibs":
        return integrated_terms(task, prediction, mean=True)

    def both() -> dict[str, Score]:
        end = supported_end(task)
        losses = [_INTEGRATED[k] for k in _INTEGRATED if k == name or k in task.asked]
        times = equal_steps(end) if task.grid is None else task.grid
        options = {"snap": True, "cause": task.cause}
        options |= task.ipcw
        return integrated_scores(task.y, prediction.curves, times, losses, **options)

    found: dict[str, Score] = task.look_up(prediction, "integrated", both)
    if _INTEGRATED[name] not in found:
        found |= both()
    return found[_INTEGRATED[name]]


def _multi_cause(task: Task, prediction: Prediction, *, loss: str) -> Score:
    end = supported_end(task)
    times = equal_steps(end) if task.grid is None else task.grid
    # Past its end the incidence of the baseline is held.
    tail = "nan" if prediction.curves is None else prediction.curves.tail
    options = {"snap": True, "tail": tail, **task.ipcw}
    return integrated_states(task.y, prediction.incidence, times, loss, **options)


def _crps(task: Task, prediction: Prediction) -> Score:
    weight, tau = task.sample_weight, task.tau
    found = crps(task.y, prediction.curves, tau=tau, sample_weight=weight)
    return _numbered(found, task)


def _log_likelihood(task: Task, prediction: Prediction) -> Score:
    weight = task.sample_weight
    curves = prediction.curves if task.cause is None else prediction.incidence
    found = log_likelihood(task.y, curves, sample_weight=weight)
    return _numbered(found, task)


def _numbered(found: Score, task: Task) -> Score:
    """Name subjects by their numbers in the whole test set."""
    if found.counted is not None:
        found.counted.renumber(task.numbers)
    return found


_CENSORING = "under independent censoring"
_PROBABILITY: dict[str, Any] = {"family": "probability", "needs": "curves"}
_TO_HORIZON: dict[str, Any] = {"reads": "horizon", "stops": "horizon"}
_WEIGHTED: dict[str, Any] = {
    "range": POSITIVE, "weights_by_g": True, "uses_divisor": True, "supports": EVERYTHING,
    "proper": _CENSORING, "reference": "Graf et al. (1999), Statistics in Medicine 18",
    **_PROBABILITY,
}  # fmt: skip
_ROBUST: dict[str, Any] = {
    "range": POSITIVE, "reads_g": True, "default": False, "assumes": "given",
    "proper": "if the distribution or G is right", "reference": "this package", **_PROBABILITY,
}  # fmt: skip

_ALL_CAUSES: dict[str, Any] = {
    "range": POSITIVE, "weights_by_g": True, "uses_divisor": True, "assumes": "independent",
    "supports": ("weights", "entry", "all causes", "entry of a cause"),
    "proper": _CENSORING, "reference": "Alberge et al. (2025), AISTATS", **_PROBABILITY,
}  # fmt: skip

RECORDS: tuple[Metric, ...] = (
    Metric(
        name="brier",
        assumes="given",
        title="Brier score",
        reported=True,
        other_names=("brier_score", "bs"),
        about="Mean squared error of the predicted probability at the time.",
        terms=_brier,
        reads="time",
        **_WEIGHTED,
    ),
    Metric(
        name="ibs",
        assumes="given",
        title="Integrated Brier score",
        reported=True,
        other_names=("integrated_brier", "integrated_brier_score"),
        about="Brier score averaged over all times up to the horizon.",
        terms=partial(_integrated, name="ibs"),
        **_TO_HORIZON,
        **_WEIGHTED,
    ),
    Metric(
        name="ibll",
        assumes="independent",
        title="Integrated log loss",
        other_names=("inbll", "integrated_nbll", "integrated_binomial_log_likelihood"),
        about="Logarithmic loss of the predicted probabilities, averaged over all times up to "
        "the horizon.",
        terms=partial(_integrated, name="ibll"),
        **_TO_HORIZON,
        **_WEIGHTED,
    ),
    Metric(
        name="ipa",
        assumes="given",
        title="Index of prediction accuracy (IPA)",
        supports=EVERYTHING,
        reported=True,
        other_names=(
            "scaled_brier",
            "brier_skill",
            "brier_skill_score",
            "index_of_prediction_accuracy",
        ),
        about="Share of the Brier score of Kaplan-Meier (of a cause, Aalen-Johansen) at the time "
        "that the model saves.",
        compute=_ipa,
        keeps=("at_time",),
        direction="higher",
        range=(float("-inf"), 1.0),
        weights_by_g=True,
        reads="time",
        uses_divisor=True,
        proper="for many subjects, under independent censoring",
        reference="Kattan and Gerds (2018), Diagnostic and Prognostic Research 2",
        default=False,
        **_PROBABILITY,
    ),
    Metric(
        name="crps",
        title="Survival CRPS",
        supports=("weights", "entry"),
        about="Squared distance of each curve from the observed course, added up over time.",
        terms=_crps,
        range=POSITIVE,
        reads="own",
        stops="tau",
        unit="time",
        proper="without censoring",
        reference="Avati et al. (2020), UAI",
        **_PROBABILITY,
    ),
    Metric(
        name="brier_dr",
        title="Brier score, doubly robust",
        about="Brier score at the time, right if the distribution of the event time or G is right.",
        terms=brier_terms,
        reads="time",
        **_ROBUST,
    ),
    Metric(
        name="ibs_dr",
        title="Integrated Brier score, doubly robust",
        about="Integrated Brier score, right if the distribution of the event time or G is right.",
        terms=partial(integrated_terms, mean=True),
        **_TO_HORIZON,
        **_ROBUST,
    ),
    Metric(
        name="crps_dr",
        title="CRPS, doubly robust",
        about="CRPS up to the horizon, right if the distribution of the event time or G is right.",
        terms=partial(integrated_terms, mean=False),
        unit="time",
        **_TO_HORIZON,
        **_ROBUST,
    ),
    Metric(
        name="log_likelihood",
        title="Log-likelihood",
        supports=EVERYTHING,
        other_names=("loglik", "nll", "log_loss", "likelihood"),
        about="Mean logarithm of the predicted density at events and of the survival at censoring.",
        terms=_log_likelihood,
        direction="higher",
        reads="own",
        proper="yes",
        reference="Rindt et al. (2022), AISTATS",
        **_PROBABILITY,
    ),
    Metric(
        name="multi_log_loss",
        title="Log loss of all causes",
        other_names=("multi_cause_score", "proper_scoring_rule", "multiclass_log_loss"),
        about="Logarithmic loss of the predicted probabilities of being event-free and of every "
        "cause, averaged over all times up to the horizon.",
        terms=partial(_multi_cause, loss="log"),
        **_TO_HORIZON,
        **_ALL_CAUSES,
    ),
    Metric(
        name="multi_brier",
        title="Brier score of all causes",
        other_names=("multiclass_brier",),
        about="Squared error of the predicted probabilities of being event-free and of every "
        "cause, added up and averaged over all times up to the horizon.",
        terms=partial(_multi_cause, loss="squared"),
        **_TO_HORIZON,
        **_ALL_CAUSES,
    ),
)
