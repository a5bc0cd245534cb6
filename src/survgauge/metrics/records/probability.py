"""Records of the metrics of predicted probabilities."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...data.predictions import Prediction
from ..details import Details
from ..grids import equal_steps
from ..probability.accuracy import accuracy_curve
from ..probability.brier_skill import skill_at
from ..probability.densities import crps_details, log_likelihood_details
from ..probability.doubly_robust import brier_terms, integrated_terms, skill_details
from ..probability.multi_cause import integrated_states
from ..probability.status_scores import brier_curve, integrated_scores
from ..problem import Problem
from ..record import POSITIVE, UNIT, Metric
from ..supported import supported_end, supported_time
from ..terms import Terms


def _brier(problem: Problem, prediction: Prediction) -> Details | Terms:
    if problem.robust:
        return brier_terms(problem, prediction, supported_time(problem))
    return brier_curve(
        problem.y,
        prediction.curves,
        [supported_time(problem)],
        on_unsupported=problem.on_unsupported,
        follow_up=problem.follow_up,
        cause=problem.cause,
        **problem.ipcw,
    ).details


def _ipa(problem: Problem, prediction: Prediction) -> Details:
    if problem.robust:
        baseline = problem.with_g().baseline()
        return skill_details(problem, prediction, baseline, supported_time(problem))
    return skill_at(
        problem.y,
        prediction.curves,
        supported_time(problem),
        None if problem.cause is None else problem.with_g().baseline().curves,
        on_unsupported=problem.on_unsupported,
        follow_up=problem.follow_up,
        cause=problem.cause,
        **problem.ipcw,
    )


def _brier_dr(problem: Problem, prediction: Prediction) -> Terms:
    return brier_terms(problem, prediction, supported_time(problem))


def _ibs_dr(problem: Problem, prediction: Prediction) -> Terms:
    return integrated_terms(problem, prediction, supported_end(problem), mean=True)


def _crps_dr(problem: Problem, prediction: Prediction) -> Terms:
    return integrated_terms(problem, prediction, supported_end(problem), mean=False)


#: Integrated scores by name, and the loss that each integrates.
_INTEGRATED = {"ibs": "squared", "ibll": "log"}


def _integrated(problem: Problem, prediction: Prediction, *, name: str) -> Details | Terms:
    """Return one of the integrated scores; others that were asked for come from the same pass."""
    if problem.robust and name == "ibs":
        return integrated_terms(problem, prediction, supported_end(problem), mean=True)

    def both() -> dict[str, Details]:
        end = supported_end(problem)
        losses = [_INTEGRATED[k] for k in _INTEGRATED if k == name or k in problem.asked]
        times = equal_steps(end) if problem.grid is None else problem.grid
        options = {"follow_up": problem.follow_up, "snap": True, "cause": problem.cause}
        options |= problem.ipcw
        return integrated_scores(problem.y, prediction.curves, times, losses, **options)

    found: dict[str, Details] = problem.look_up(prediction, "integrated", both)
    if _INTEGRATED[name] not in found:
        found |= both()
    return found[_INTEGRATED[name]]


def _all_causes(problem: Problem, prediction: Prediction) -> dict[str, Any]:
    """Options of a score of all causes; past its end the incidence of the baseline is held."""
    tail = "nan" if prediction.curves is None else prediction.curves.tail
    return {"follow_up": problem.follow_up, "tail": tail, **problem.ipcw}


def _multi_cause(problem: Problem, prediction: Prediction, *, loss: str) -> Details:
    end = supported_end(problem)
    times = equal_steps(end) if problem.grid is None else problem.grid
    options = {"snap": True, **_all_causes(problem, prediction)}
    return integrated_states(problem.y, prediction.incidence, times, loss, **options)


def _accuracy_in_time(problem: Problem, prediction: Prediction) -> Details:
    return accuracy_curve(
        problem.y,
        prediction.incidence,
        [supported_time(problem)],
        on_unsupported=problem.on_unsupported,
        **_all_causes(problem, prediction),
    ).details


def _crps(problem: Problem, prediction: Prediction) -> Details:
    weight, tau = problem.sample_weight, problem.tau
    found = crps_details(problem.y, prediction.curves, tau=tau, sample_weight=weight)
    return _numbered(found, problem)


def _log_likelihood(problem: Problem, prediction: Prediction) -> Details:
    weight = problem.sample_weight
    curves = prediction.curves if problem.cause is None else prediction.incidence
    found = log_likelihood_details(problem.y, curves, sample_weight=weight)
    return _numbered(found, problem)


def _numbered(found: Details, problem: Problem) -> Details:
    """Name subjects by their numbers in the whole test set."""
    if found.counted is not None:
        found.counted.renumber(problem.numbers)
    return found


_GRAF = "Graf et al. (1999), Statistics in Medicine 18"
_CENSORING = "under independent censoring"
_PROBABILITY: dict[str, Any] = {"family": "probability", "needs": "curves"}
_ROBUST: dict[str, Any] = {
    "range": POSITIVE, "reads_g": True, "default": False, "assumes": "given",
    "proper": "if the law or G is right", "reference": "this package", **_PROBABILITY,
}  # fmt: skip

_ALL_CAUSES: dict[str, Any] = {
    "range": POSITIVE, "weights_by_g": True, "uses_divisor": True, "causes": "needs",
    "assumes": "independent",
    "takes_entry": True,
    "proper": _CENSORING, "reference": "Alberge et al. (2025), AISTATS", **_PROBABILITY,
}  # fmt: skip

RECORDS = (
    Metric(
        name="brier",
        assumes="given",
        title="Brier score",
        takes_entry=True,
        reported=True,
        other_names=(
            "brier_score",
            "bs",
        ),
        about="Mean squared error of the predicted probability at the time.",
        terms=_brier,
        range=POSITIVE,
        weights_by_g=True,
        takes_dependence=True,
        reads="time",
        uses_divisor=True,
        proper=_CENSORING,
        reference=_GRAF,
        causes="takes",
        **_PROBABILITY,
    ),
    Metric(
        name="ibs",
        assumes="given",
        title="Integrated Brier score",
        takes_entry=True,
        reported=True,
        other_names=(
            "integrated_brier",
            "integrated_brier_score",
        ),
        about="Brier score averaged over all times up to the horizon.",
        terms=partial(_integrated, name="ibs"),
        range=POSITIVE,
        weights_by_g=True,
        takes_dependence=True,
        reads="horizon",
        stops="horizon",
        uses_divisor=True,
        proper=_CENSORING,
        reference=_GRAF,
        causes="takes",
        **_PROBABILITY,
    ),
    Metric(
        name="ibll",
        assumes="independent",
        title="Integrated log loss",
        takes_entry=True,
        other_names=(
            "inbll",
            "integrated_nbll",
            "integrated_binomial_log_likelihood",
        ),
        about="Logarithmic loss of the predicted probabilities, averaged over all times up to "
        "the horizon.",
        terms=partial(_integrated, name="ibll"),
        range=POSITIVE,
        weights_by_g=True,
        takes_dependence=True,
        reads="horizon",
        stops="horizon",
        uses_divisor=True,
        proper=_CENSORING,
        reference=_GRAF,
        causes="takes",
        **_PROBABILITY,
    ),
    Metric(
        name="ipa",
        assumes="given",
        title="Index of prediction accuracy (IPA)",
        takes_entry=True,
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
        causes="takes",
        **_PROBABILITY,
    ),
    Metric(
        name="crps",
        title="Survival CRPS",
        takes_entry=True,
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
        about="Brier score at the time, right if the law of the event time or G is right.",
        terms=_brier_dr,
        reads="time",
        **_ROBUST,
    ),
    Metric(
        name="ibs_dr",
        title="Integrated Brier score, doubly robust",
        about="Integrated Brier score, right if the law of the event time or G is right.",
        terms=_ibs_dr,
        reads="horizon",
        stops="horizon",
        **_ROBUST,
    ),
    Metric(
        name="crps_dr",
        title="CRPS, doubly robust",
        about="CRPS up to the horizon, right if the law of the event time or G is right.",
        terms=_crps_dr,
        reads="horizon",
        stops="horizon",
        unit="time",
        **_ROBUST,
    ),
    Metric(
        name="log_likelihood",
        title="Log-likelihood",
        takes_entry=True,
        other_names=(
            "loglik",
            "nll",
            "log_loss",
            "likelihood",
        ),
        about="Mean logarithm of the predicted density at events and of the survival at censoring.",
        terms=_log_likelihood,
        direction="higher",
        reads="own",
        proper="yes",
        reference="Rindt et al. (2022), AISTATS",
        causes="takes",
        **_PROBABILITY,
    ),
    Metric(
        name="multi_log_loss",
        title="Log loss of all causes",
        other_names=("multi_cause_score", "proper_scoring_rule", "multiclass_log_loss"),
        about="Logarithmic loss of the predicted probabilities of being event-free and of every "
        "cause, averaged over all times up to the horizon.",
        terms=partial(_multi_cause, loss="log"),
        reads="horizon",
        stops="horizon",
        **_ALL_CAUSES,
    ),
    Metric(
        name="multi_brier",
        title="Brier score of all causes",
        other_names=("multiclass_brier",),
        about="Squared error of the predicted probabilities of being event-free and of every "
        "cause, added up and averaged over all times up to the horizon.",
        terms=partial(_multi_cause, loss="squared"),
        reads="horizon",
        stops="horizon",
        **_ALL_CAUSES,
    ),
    Metric(
        name="accuracy_in_time",
        title="Accuracy in time",
        other_names=("accuracy",),
        about="Share of subjects whose most probable state at the time (event-free, or an event of "
        "a cause) is the one that they are in.",
        terms=_accuracy_in_time,
        direction="higher",
        reads="time",
        default=False,
        **(_ALL_CAUSES | {"proper": "no", "range": UNIT}),
    ),
)
