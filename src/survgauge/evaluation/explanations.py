"""What each warning means and what to do: for the report, and checked against the docs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..metrics.registry import REGISTRY


@dataclass(frozen=True)
class Explanation:
    """How much a warning weighs (note, caution, problem), what it means, what to do."""

    weight: str
    meaning: str
    advice: str


EXPLANATIONS: dict[str, Explanation] = {
    "in-sample-reference": Explanation(
        "caution",
        "no training outcomes (`y_train`) were given, so the test outcomes are their own "
        "reference set",
        "pass the training outcomes",
    ),
    "cause-never-trained": Explanation(
        "caution",
        "the training outcomes (`y_train`) have no event of the cause that is asked about, so what "
        "is estimated from them, the baseline first of all, knows nothing of it",
        "check that the causes have the same codes in both sets, or give other training outcomes",
    ),
    "g-below-floor": Explanation(
        "note",
        "metrics with a horizon, such as Uno's C and the IBS, stop where G(t-), the probability of "
        "not being censored yet, falls below 0.05",
        "usually nothing; `min_g` changes the limit",
    ),
    "hidden-subjects": Explanation(
        "note",
        "metrics with a horizon stop where more than a tenth of the subjects are expected to be "
        "event-free with a probability below 0.1 of not being censored yet given their features: "
        "what happens to them later rests on the learnt distribution alone",
        "usually nothing; a later `tau` cannot be supported by these data",
    ),
    "watch-ends": Explanation(
        "note",
        "metrics of interval-censored outcomes with a horizon stop where fewer than 10 test "
        "subjects are watched, or after more than a quarter of them were lost without an event",
        "usually nothing; `min_at_risk` changes the first limit, and an earlier `tau` is heeded",
    ),
    "one-law": Explanation(
        "note",
        "inside intervals one law of the event time stands for all subjects, which favours "
        "predictions near the average",
        "judge by the log-likelihood, which needs no law, or pass `conditional` with a law per "
        "subject",
    ),
    "late-first-visits": Explanation(
        "caution",
        "a seventh or more of the events come before the earliest visit of anybody, where "
        "Turnbull's estimate of the test subjects is a guess",
        "pass the training outcomes or `conditional` with a law per subject, and judge by the "
        "log-likelihood, which needs no law",
    ),
    "thin-risk-set": Explanation(
        "note",
        "metrics with a horizon, such as Uno's C and the IBS, stop where fewer than 10 test "
        "subjects are at risk",
        "usually nothing; `min_at_risk` changes the limit",
    ),
    "past-follow-up": Explanation(
        "note",
        "metrics with a horizon, such as Uno's C and the IBS, stop where the follow-up ends",
        "usually nothing",
    ),
    "time-past-horizon": Explanation(
        "caution",
        "a time of interest of Brier, AUC, 1-calibration and ICI lies after the last time that "
        "the data support, which is used instead",
        "pass an earlier `time`",
    ),
    "tau-past-horizon": Explanation(
        "caution",
        "`tau` lies after the last time that the data support: metrics with a horizon, and "
        "those at the time `tau`, are taken at that time instead",
        "give an earlier `tau`",
    ),
    "tau-past-follow-up": Explanation(
        "caution",
        "`tau` lies after the end of the follow-up of the reference set, so nothing is known of "
        "the times in between",
        "give a `tau` inside the follow-up",
    ),
    "follow-up-differs": Explanation(
        "caution",
        "training and test subjects were followed for different lengths of time (log-rank test of "
        "the censoring times below 0.001, mean follow-up 10 % apart); this is not tested under "
        "`sample_weight`",
        "give a `tau` inside both follow-ups, and look at `mae_ipcw_d`",
    ),
    "dependent-censoring": Explanation(
        "problem",
        "censoring depends on the features (`X_test`). Metrics that assume that it does not have "
        "no interval and no test",
        "give `X_train` too (or `conditional`): then most metrics are computed from distributions "
        "given the features",
    ),
    "dependence-modelled": Explanation(
        "caution",
        "censoring depends on the features. Metrics are computed from distributions given the "
        "features; those that assume independent censoring have no interval and no test",
        "rely on the metrics that have intervals, and read the sentence on dependence that nobody "
        "recorded",
    ),
    "member-of-blend": Explanation(
        "caution",
        "a model's median times are nearly those of a learner that the law given the features is "
        "made of, which favours the model in doubly robust errors",
        "take a law without that learner: `sg.conditional(..., members=[...])`",
    ),
    "mean-weight": Explanation(
        "caution",
        "the weights 1/G differ from 1 on average by more than 5 %: G does not describe the test "
        "subjects, or some of them live past the follow-up",
        "give `tau`, or a G that describes the test subjects (`censoring=`)",
    ),
    "small-groups": Explanation(
        "caution",
        "some groups of `by` have fewer than 30 subjects or 10 events",
        "do not rely on their numbers; put small groups together, and make bands of a measurement",
    ),
    "few-events": Explanation(
        "caution",
        "there are fewer than 30 subjects or 10 events",
        "do not rely on the intervals",
    ),
    "too-few-to-tell": Explanation(
        "caution",
        "an interval over more than four fifths of the metric's range, or, where that has no end, "
        "whose upper limit is more than 50 times the lower, is left out",
        "do not rely on the value; evaluate on more subjects",
    ),
    "tail-times": Explanation(
        "caution",
        "more than 10 % of the predicted medians are extrapolated beyond the curve",
        'predict curves up to later times, give `tau`, or compare with `tail="hold"`',
    ),
    "tail-decides": Explanation(
        "problem",
        "two models compare differently if curves and the reference set go on otherwise past "
        "their last time, so the assumed tails decide, not the data; such errors have no interval",
        "give `tau`",
    ),
    "past-curve": Explanation(
        "problem",
        "a metric reads curves after their last predicted time; above 5 % it has no value",
        "predict up to the time named, give an earlier `time`, or leave the metric out",
    ),
    "coarse-grid": Explanation(
        "caution",
        "curves have fewer than 10 predicted times within the follow-up, so medians, means, "
        "integrated scores, CRPS and D-calibration depend on what is assumed between them",
        "predict at more times, such as 50 or all event times, and compare models on the same "
        "times",
    ),
    "time-units": Explanation(
        "problem",
        "predicted or training times are more than 5 times as long or short as the observed ones",
        "count all times in the same unit, such as days",
    ),
    "past-reference": Explanation(
        "problem",
        "subjects are censored after the last reference time, so their pseudo-observations "
        "multiply an assumed tail by the size of the reference set",
        "give `tau`",
    ),
    "far-surrogates": Explanation(
        "caution",
        "pseudo-observations reach more than twice as far as the follow-up",
        "give `tau`, or look at `mae_margin` and `mae_expected` too",
    ),
    "law-tail": Explanation(
        "caution",
        "more than 10 % of a doubly robust error comes from times after the last one that the law "
        "of the event time knows, where its tail is assumed",
        "give `tau`",
    ),
    "law-alone": Explanation(
        "caution",
        "more than 10 % of the subjects are observed after the time at which G falls below "
        "`floor`, and what lies beyond rests on the law of the event time alone",
        "give `tau`, or a law given features (`conditional=`)",
    ),
    "robust-differs": Explanation(
        "caution",
        "the doubly robust and the 1/G-weighted error of a model differ by more than their "
        "intervals allow, so the law of the event time or G does not describe the test subjects",
        "give `tau`, or a law given features (`conditional=`)",
    ),
    "unseen-times": Explanation(
        "caution",
        "more than 10 % of the reference set are event-free when its follow-up ends, so errors "
        "after that time are missing",
        "give `tau`",
    ),
    "negative-times": Explanation(
        "problem",
        "predicted times are below zero",
        "if these are risk scores, wrap them in `RiskScores`",
    ),
    "excluded": Explanation(
        "note",
        "subjects are left out because the method says nothing about them; the message has the "
        "reason and their number",
        "usually nothing, if they are few",
    ),
    "changed": Explanation(
        "note",
        "estimated times above `tau` were set to `tau`",
        "nothing",
    ),
    "infinite": Explanation(
        "caution",
        "the model gave probability 0 to something that happened",
        "smooth the curves, or use another metric",
    ),
    "undefined-metric": Explanation(
        "caution",
        "the metric has no value on these data, for the reason in the message; the table has NaN",
        "fix the cause named in the message, or leave the metric out",
    ),
    "not-applicable": Explanation(
        "note",
        "the metric does not apply to predictions of this kind: step curves have no density and "
        "may give probability 0 to an event, and equal predictions have no calibration slope; a "
        "default metric that applies to no model is left out",
        "nothing, unless the metric is needed",
    ),
    "negative-score": Explanation(
        "problem",
        "a mean of losses is below zero: Simpson's rule (convention `pycox`) has negative weights "
        "on uneven times, and a doubly robust error may rest on a few events with large weights",
        "take evenly spaced times or another convention; for doubly robust errors, give `tau`",
    ),
    "large-weight": Explanation(
        "caution",
        "one subject stands for more than 20 subjects, because G is small at its time",
        "for errors in time, give `tau`; for scores of probabilities and ranks, raise `min_g`",
    ),
    "c-below-half": Explanation(
        "problem",
        "the value is significantly below 0.5, so the order may be upside down",
        "check the sign of the risk: higher must mean an earlier event",
    ),
    "metric-skipped": Explanation(
        "note",
        "above 100,000 subjects, and in streams, antolini is not one of the default metrics",
        "name it in the `metrics` of `evaluate`, or call `concordance_td(..., approximate=True)`",
    ),
    "assumes-independence": Explanation(
        "note",
        "under an assumed dependence (`dependence`), metrics that know independent censoring only "
        "are not among the default ones",
        "leave `dependence` out to have them",
    ),
    "knows-no-entry": Explanation(
        "note",
        "where subjects enter late, metrics that know no delayed entry are not among the default "
        "ones",
        "give `landmark` to have all metrics for those at risk at one time",
    ),
    "from-landmark": Explanation(
        "note",
        "the evaluation is about who is at risk at the landmark, and time is counted from it",
        "nothing; leave `landmark` out for everybody from the beginning",
    ),
    "empty-landmark": Explanation(
        "note",
        "nobody is at risk at one of the landmarks",
        "choose landmarks at which subjects have entered and are still observed",
    ),
    "landmark-past-horizon": Explanation(
        "note",
        "from one of the landmarks on, the data do not support one of the horizons, which has no "
        "numbers there",
        "ask for shorter horizons; `min_g` and `min_at_risk` change the limits",
    ),
    "thin-first-risk-sets": Explanation(
        "caution",
        "under delayed entry few subjects are at risk at first, so numbers about early times rest "
        "on them alone",
        "ask about later times, or give `landmark`; `min_at_risk` changes the limit",
    ),
    "other-values": Explanation(
        "caution",
        "`--event-value` names one of several values of the event column, and all others count as "
        "censored, which is wrong for events that compete with it",
        "give `--cause` instead, with one prediction file per cause; or leave it, if the other "
        "values are all kinds of censoring",
    ),
    "entry-on-one-side": Explanation(
        "caution",
        "subjects enter late in one of the test and training outcomes only, and the others count "
        "as observed from the beginning",
        "give `entry` of both, unless the others were really observed from the beginning",
    ),
    "denies-entry": Explanation(
        "caution",
        "a model said that subjects could not be event-free when they entered, and they were",
        "look at how the model was fitted: one that ignores delayed entry, or counts time from "
        "another origin, does this",
    ),
    "fractional-frequencies": Explanation(
        "caution",
        "weights of the outcomes that are not whole numbers are taken as frequencies, so their "
        "size sets every standard error",
        "pass sampling weights as `sample_weight`",
    ),
    "thin-groups": Explanation(
        "caution",
        "1-calibration expects fewer than 3 events or 3 survivors in a group of risk, even with "
        "one group, so its p-value is rough",
        "give a `time` by which more subjects have the event and others are still observed",
    ),
    "few-clusters": Explanation(
        "caution",
        "there are fewer than 10 clusters, so standard errors are rough and intervals are wide",
        "do not rely on the intervals",
    ),
    "few-replicates": Explanation(
        "caution",
        "there are too few bootstrap draws for an interval",
        "raise `n_boot`",
    ),
}


#: How much warnings weigh, gravest first.
WEIGHTS = ("problem", "caution", "note")
#: Shares from which on a caution is a problem, and below which a problem is a caution.
_MUCH, _LITTLE = 0.5, 0.05


def graded(code: str, affected: float | None = None) -> str:
    """Say how much a warning weighs, given the share of what it is about that is affected.

    A caution about half of the subjects or more is a problem, and a problem with less than a
    twentieth is a caution. A code of a newer version is a caution.

    >>> graded("tail-times", 0.2), graded("tail-times", 0.6), graded("past-curve", 0.02)
    ('caution', 'problem', 'caution')
    """
    usual = EXPLANATIONS[code].weight if code in EXPLANATIONS else "caution"
    if affected is None or usual == "note":
        return usual
    if usual == "problem":
        return usual if affected >= _LITTLE else "caution"
    return "problem" if affected >= _MUCH else usual


def advice_for(code: str, metric: str | None, support: dict[str, Any]) -> str:
    """Say what to do about a warning; nothing that was done already.

    Where the clock of the metric stops already, an earlier `tau` is advised, not just any.

    >>> advice_for("tail-times", "mae_po", {"tau": None, "horizon": 2177.3})
    'predict curves up to later times, give tau (for example 2100), or compare with tail="hold"'
    >>> advice_for("law-alone", "mae_within", {"tau": None, "horizon": 2177.3})
    'give an earlier tau than 2177.3, or a law given features (conditional=)'
    """
    return marked_advice(code, metric, support).replace("`", "")


def marked_advice(code: str, metric: str | None, support: dict[str, Any]) -> str:
    """Return the same with arguments between backticks."""
    if code not in EXPLANATIONS:
        return ""
    known = REGISTRY.get(metric or "")
    tau, horizon = support.get("tau"), support["horizon"] or 0.0
    stop = horizon if known is not None and known.within_horizon else None
    stop = stop if tau is None else tau
    example = f" (for example {_round_down(horizon)})" if horizon > 0 else ""
    better = f"give `tau`{example}" if stop is None else f"give an earlier `tau` than {stop:.6g}"
    advice = EXPLANATIONS[code].advice.replace("give `tau`", better)
    if code == "mean-weight" and support.get("delayed_entry"):
        advice += "; weights below 1 may also say that who entered early is not followed "
        advice += "that long: ask at an earlier `time`, or give `landmark`"
    return advice


def _round_down(value: float) -> str:
    """Two digits, not above the value: a time to suggest.

    >>> _round_down(2296.0), _round_down(0.0437)
    ('2200', '0.043')
    """
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.floor(value / step + 1e-9) * step:.6g}"


def explain(code: str) -> Explanation:
    """Explain a code; every code of `evaluate` has an entry.

    >>> explain("tail-decides").weight
    'problem'
    """
    return EXPLANATIONS[code]
