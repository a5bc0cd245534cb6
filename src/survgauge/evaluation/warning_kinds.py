"""Every kind of warning in one table: weight, sentence and advice; and warnings about one cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from string import Formatter
from typing import Any

import numpy as np

from .._tools.text import percent, plain
from .phrases import listed


@dataclass(frozen=True)
class Kind:
    """How much a warning weighs (note, caution, problem), what it says, what to do.

    A sentence is a template for the numbers of a case; where there are several, the number "form"
    says which. Besides Python's formats there are `%` (percent), `list` (a, b and c) and `n WORD`
    (1 word, 2 words). Backticks in advice stand around arguments.
    """

    weight: str
    sentence: str | dict[str, str]
    advice: str

    def message(self, numbers: dict[str, Any]) -> str:
        """Put the numbers of a case into the sentence.

        >>> KINDS["few-clusters"].message({"clusters": 4})
        'there are only 4 clusters, so standard errors are rough and intervals are wide'
        """
        text = self.sentence if isinstance(self.sentence, str) else self.sentence[numbers["form"]]
        return _Formats().format(text, **numbers)


class _Formats(Formatter):
    """Python's formats, and those of `Kind`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "%":
            return percent(value)
        if format_spec == "list":
            return listed(list(value))
        if format_spec.startswith("n "):
            return f"{value} {format_spec[2:]}{'s' * (value != 1)}"
        return str(super().format_field(value, format_spec))


#: Why the data support no later times.
REASONS = {
    "thin-risk-set": "too few test subjects are at risk",
    "g-below-floor": "almost all subjects are censored (G is below its limit)",
    "hidden-subjects": "too many event-free subjects are almost surely censored given the features",
    "past-follow-up": "no subject is followed",
}
_STOPS = (
    "{metrics:list} {stop} at {horizon:g}, because after that {why}; {past} of {subjects} subjects "
    "are {seen} longer (up to {last:g})"
)

KINDS: dict[str, Kind] = {
    # -- the data --
    "in-sample-reference": Kind(
        "caution",
        {
            "": "no training outcomes were given, so the test outcomes serve as the reference set",
            "scorer": "{estimator} does not keep the outcomes it was trained on, so each test fold "
            "is its own reference set for {metrics}; wrap the model in sg.models.from_sklearn(...),"
            " or pass y_train to the scorer",
        },
        "pass the training outcomes",
    ),
    "cause-never-trained": Kind(
        "caution",
        "the training outcomes have no event of {cause}, so the baseline predicts that it never "
        "happens, and times of censored subjects are estimated without it",
        "check that the causes have the same codes in both sets, or pass other training outcomes",
    ),
    "few-events": Kind(
        "caution",
        "there are only {events} events{of} among {subjects} subjects, so intervals are rough",
        "do not rely on the intervals",
    ),
    "few-clusters": Kind(
        "caution",
        "there are only {clusters} clusters, so standard errors are rough and intervals are wide",
        "do not rely on the intervals",
    ),
    "fractional-frequencies": Kind(
        "caution",
        "the weights of y_test are not whole numbers but are taken as frequencies: a weight of 2 "
        "means two subjects, and weights 100 times as large make standard errors a tenth as large",
        "pass sampling weights as `sample_weight`",
    ),
    "small-groups": Kind(
        "caution",
        "numbers of groups with fewer than 30 subjects or 10 events ({small} of {groups}: {named}) "
        "are rough, and these groups take no part in the test of whether groups differ",
        "do not rely on their numbers; merge small groups, and cut measurements into wider bands",
    ),
    "other-values": Kind(
        "caution",
        "column {column!r} holds {values} values ({named}), and all but {event} count as censored",
        "give `--cause` instead, with one prediction file per cause; or leave it, if the other "
        "values are all kinds of censoring",
    ),
    "time-units": Kind(
        "problem",
        {
            "predicted": "the predicted times are typically {typical:g}, the observed ones "
            "{observed:g}: check that both are counted in the same unit (days, months, years)",
            "training": "the times of the training set are typically {typical:g}, those of the "
            "test subjects {observed:g}: check that both are counted in the same unit",
        },
        "count all times in the same unit, such as days",
    ),
    # -- where the support ends --
    "thin-risk-set": Kind("note", _STOPS, "usually nothing; `min_at_risk` changes the limit"),
    "g-below-floor": Kind("note", _STOPS, "usually nothing; `min_g` changes the limit"),
    "hidden-subjects": Kind(
        "note", _STOPS, "usually nothing; a later `tau` cannot be supported by these data"
    ),
    "past-follow-up": Kind("note", _STOPS, "usually nothing"),
    "watch-ends": Kind(
        "note",
        _STOPS,
        "nothing; `min_at_risk` changes the first limit, and an earlier `tau` takes precedence",
    ),
    "time-past-horizon": Kind(
        "caution",
        {
            "kept": "time of interest after {horizon:g}, the last that the data support: "
            "{times:list}",
            "replaced": "time of interest after {horizon:g}, the last that the data support and "
            "that is used instead: {times:list}",
        },
        "pass an earlier `time`",
    ),
    "tau-past-horizon": Kind(
        "caution",
        "tau is {tau:g}, but the data support times only up to {horizon:g}, because after that "
        "{why}; metrics with a horizon stop at {horizon:g}, other errors in time and the CRPS at "
        "tau (see the column until)",
        "set an earlier `tau`",
    ),
    "tau-past-follow-up": Kind(
        "caution",
        "tau is {tau:g}, but the reference set is followed only up to {end:g}, so nothing is known "
        "about the times in between",
        "set a `tau` inside the follow-up",
    ),
    # -- censoring --
    "follow-up-differs": Kind(
        "caution",
        "up to {until:.4g} the test subjects were followed for {test:.3g} on average and the "
        "training subjects for {train:.3g} (p < 0.001), so the estimated times of censored "
        "subjects (po, margin, ipcw_t, expected) come from a training set that was followed "
        "differently",
        "set a `tau` inside both follow-ups, and look at `mae_ipcw_d`",
    ),
    "dependent-censoring": Kind(
        "problem",
        "{why}",
        "pass `X_train` too (or `conditional`): then most metrics are computed from distributions "
        "given the features",
    ),
    "dependence-modelled": Kind(
        "caution",
        "{why}",
        "rely on the metrics that have intervals, and read the sentence on unrecorded dependence",
    ),
    "mean-weight": Kind(
        "caution",
        {
            "other": "the weights 1/G are {mean:.2f} on average instead of 1, so G does not "
            "describe how the test subjects were censored",
            "unseen": "the weights 1/G are {mean:.2f} on average instead of 1, because the events "
            "that were seen stand for only {mean:%} of the subjects; errors of the others, who "
            "outlive the follow-up, are missing",
            "entry": "the weights 1/G are {mean:.2f} on average instead of 1, because those who "
            "entered early are hardly followed until then, or few subjects are left late in the "
            "follow-up",
            "late": "the weights 1/G are {mean:.2f} on average instead of 1, because few subjects "
            "are left late in the follow-up",
        },
        "set `tau`, or a G that describes the test subjects (`sg.Convention(censoring=...)`)",
    ),
    "large-weight": Kind(
        "caution",
        "one subject stands for {largest:.1f} subjects, because G is small at its time",
        "for errors in time, set `tau`; for scores of probabilities and ranks, raise `min_g`",
    ),
    "member-of-blend": Kind(
        "caution",
        "its median times are nearly those of {member!r}, a member of the distribution given the "
        "features, which favours it in doubly robust errors",
        "take a distribution without that learner: `sg.conditional(..., members=[...])`",
    ),
    # -- delayed entry and landmarks --
    "knows-no-entry": Kind(
        "note",
        "default metrics that support no delayed entry{of} are left out: {metrics}",
        "set `landmark` to have all metrics for those at risk at one time",
    ),
    "thin-first-risk-sets": Kind(
        "caution",
        "fewer than {least:g} subjects are at risk {until}, because entry is delayed; {subjects} "
        "subjects with {events} events are observed in these risk sets alone, so numbers about "
        "that time are rough, and all others describe the subjects who are event-free then",
        "ask about later times, or set `landmark`; `min_at_risk` changes the limit",
    ),
    "entry-on-one-side": Kind(
        "caution",
        "{late} has delayed entry and {other} has none, so all of its subjects count as observed "
        "from the beginning",
        "pass `entry` for both, unless the others were really observed from the beginning",
    ),
    "denies-entry": Kind(
        "caution",
        "the model predicts {denied} for {count} of {late} subjects who enter late and event-free",
        "look at how the model was fitted: one that ignores delayed entry, or counts time from "
        "another origin, does this",
    ),
    "from-landmark": Kind(
        "note",
        "time is counted from the landmark {landmark:g}; {present} of {subjects} subjects are at "
        "risk then, and the others are left out",
        "nothing; omit `landmark` to evaluate all subjects from the beginning",
    ),
    "empty-landmark": Kind(
        "note",
        "nobody is at risk at landmark {landmark:g}, so it has no numbers",
        "choose landmarks at which subjects have entered and are still observed",
    ),
    "landmark-past-horizon": Kind(
        "note",
        "at landmark {landmark:g} the data support {end:g} since then, not the horizon "
        "{horizon:g}, so that it has no numbers",
        "ask for shorter horizons; `min_g` and `min_at_risk` change the limits",
    ),
    # -- intervals of visits --
    "one-distribution": Kind(
        "note",
        "within their intervals all subjects share one distribution of the event time, Turnbull's",
        "judge by the log-likelihood, which needs none, or pass `conditional` with a distribution "
        "per subject",
    ),
    "late-first-visits": Kind(
        "caution",
        "roughly {share:%} of the events come before the earliest visit ({first:g}), where "
        "Turnbull's estimate of the test subjects is a guess; intervals of expected errors, the "
        "Brier score and its integral cover the truth less often than they should",
        "pass the training outcomes or `conditional` with a distribution per subject, and judge by "
        "the log-likelihood, which needs none",
    ),
    # -- curves and predicted times --
    "coarse-grid": Kind(
        "caution",
        "the curves have {count:n predicted time} up to {end:g} (the reference set has {events} "
        "event times), and medians, means, integrated scores, CRPS and D-calibration depend on the "
        "{between} that are assumed between them",
        "predict at more times, such as 50 or all event times, and compare models on the same "
        "times",
    ),
    "past-curve": Kind(
        "problem",
        "{why}",
        "predict up to the time named, pass an earlier `time`, or leave the metric out",
    ),
    "tail-times": Kind(
        "caution",
        "the curves of {share:%} of the subjects end above one half, so their medians are "
        "extrapolated beyond the curve; differences in mean absolute errors may come from that "
        "alone",
        'predict curves up to later times, set `tau`, or compare with `tail="hold"`',
    ),
    "negative-times": Kind(
        "problem",
        "{count} of the predicted times are below zero",
        "if these are risk scores, wrap them in `RiskScores`",
    ),
    # -- errors past the follow-up --
    "tail-decides": Kind(
        "problem",
        "the comparison of {models:list} by {error} depends on how curves and the reference set "
        "are extended past their last time, so assumed tails decide, not the data",
        "set `tau`",
    ),
    "past-reference": Kind(
        "problem",
        "{past} subjects are censored after the last reference time {last:g}, so their "
        "pseudo-observations multiply an assumed tail by the size of the reference set",
        "set `tau`",
    ),
    "far-surrogates": Kind(
        "caution",
        "pseudo-observations reach {reach:g}, although the follow-up ends at {last:g}, so they "
        "depend on the assumed tail of Kaplan-Meier",
        "set `tau`, or look at `mae_margin` and `mae_expected` too",
    ),
    "unseen-times": Kind(
        "caution",
        "{share:%} of the reference set are event-free when the follow-up ends at {last:g}; errors "
        "after that time are missing, so the value is too small",
        "set `tau`",
    ),
    "distribution-tail": Kind(
        "caution",
        "{share:%} of the error comes from times after the last one that the distribution of the "
        "event time supports, where its tail is assumed",
        "set `tau`",
    ),
    "distribution-alone": Kind(
        "caution",
        "{share:%} of the subjects are observed after the time at which G reaches its floor, and "
        "what lies beyond rests on the distribution of the event time alone",
        "set `tau`, or a distribution given features (`conditional=`)",
    ),
    "robust-differs": Kind(
        "caution",
        "{robust} is {value:.4g} and {weighted} {other:.4g}; they differ by more than their "
        "intervals allow, so the distribution of the event time or G does not describe the test "
        "subjects",
        "set `tau`, or a distribution given features (`conditional=`)",
    ),
    # -- single numbers --
    "undefined-metric": Kind(
        "caution", "{why}", "fix the cause named in the message, or leave the metric out"
    ),
    "not-applicable": Kind("note", "{why}", "nothing, unless the metric is needed"),
    "metric-skipped": Kind(
        "note",
        "{name} is left out, because it {why}",
        "name it in the `metrics` of `evaluate`, or call `concordance_td` on a sample of subjects",
    ),
    "excluded": Kind(
        "note", "{count:n subject} left out ({why})", "usually nothing, if they are few"
    ),
    "changed": Kind("note", "{why} ({count:n subject})", "nothing"),
    "infinite": Kind(
        "caution",
        "the model gave probability 0 to what was observed: its curve is flat at an event, "
        "or still at 1, or already at 0",
        "smooth the curves, or use another metric",
    ),
    "negative-score": Kind(
        "problem",
        "{why}",
        "take evenly spaced times or another convention; for doubly robust errors, set `tau`",
    ),
    "thin-groups": Kind(
        "caution",
        "too few events or survivors are expected by the time in {thin} of {groups} groups of "
        "risk, so the p-value is rough",
        "pass a `time` by which more subjects have the event and others are still observed",
    ),
    "c-below-half": Kind(
        "problem",
        {
            "": "the value {value:.3f} is significantly below 0.5, so the order may be upside down",
            "scorer": "{name} of {estimator} is {value:.3f} on this fold, significantly below 0.5: "
            "is a risk read as a time, or a time as a risk? Then give predicts='risk' or "
            "predicts='time' to the scorer",
        },
        "check the sign of the risk: higher must mean an earlier event",
    ),
    "too-few-to-tell": Kind(
        "caution",
        "there are too few subjects to tell: the interval would reach from {low:.4g} to "
        "{high:.4g}, so it is left out",
        "do not rely on the value; evaluate on more subjects",
    ),
    "few-replicates": Kind(
        "caution",
        "n_boot is {draws}, but bootstrap intervals need at least {least} draws, so there are none",
        "raise `n_boot`",
    ),
}


@dataclass(frozen=True)
class EvaluationWarning:
    """A warning about one cell: a code and numbers for programs, a message for people."""

    code: str
    message: str
    model: str | None = None
    metric: str | None = None
    group: Any = None
    #: Time of interest, where the metric has one.
    time: float | None = None
    #: Share of subjects, events or the error that is affected, where that is known.
    affected: float | None = None
    #: What the message was made of; nothing where an earlier version wrote it.
    numbers: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> EvaluationWarning:
        """Read plain data, in which an earlier version may have written less."""
        given: dict[str, Any] = {field.name: data.get(field.name) for field in fields(cls)}
        return cls(**given | {"numbers": given["numbers"] or {}})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "group": None if self.group is None else str(self.group)}

    def __str__(self) -> str:
        group = None if self.group is None else f"group {self.group}"
        time = None if self.time is None else f"at {self.time:g}"
        where = " ".join(part for part in (group, self.model, self.metric, time) if part)
        return f"[{self.code}] {where + ': ' if where else ''}{self.message}"


def warned(
    code: str,
    model: str | None = None,
    metric: str | None = None,
    group: Any = None,
    time: float | None = None,
    affected: float | None = None,
    **numbers: Any,
) -> EvaluationWarning:
    """Return the warning of a code about a cell; its kind makes a sentence of the numbers.

    >>> warned("negative-times", "cox", "mae_po", count=3).message
    '3 of the predicted times are below zero'
    """
    found = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in numbers.items()
    }
    message = KINDS[code].message(found)
    return EvaluationWarning(code, message, model, metric, group, time, affected, plain(found))
