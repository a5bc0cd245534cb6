"""What each warning means and what to do: for the report, and checked against the docs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """How much a warning weighs (note, caution, problem), what it means, what to do."""

    weight: str
    meaning: str
    advice: str


EXPLANATIONS: dict[str, Explanation] = {
    "in-sample-reference": Explanation(
        "caution",
        "no `y_train`: the test outcomes are their own reference set",
        "pass the training outcomes",
    ),
    "g-below-floor": Explanation(
        "note",
        "metrics that weight by 1/G stop where G(t-) falls below 0.05: few are uncensored then",
        "usually nothing; `min_g` changes it",
    ),
    "thin-risk-set": Explanation(
        "note",
        "they stop where fewer than 10 test subjects are at risk",
        "usually nothing; `min_at_risk` changes it",
    ),
    "past-follow-up": Explanation(
        "note",
        "they stop where the follow-up ends",
        "usually nothing",
    ),
    "time-past-horizon": Explanation(
        "caution",
        "the time of Brier, AUC, 1-calibration and ICI lies past the horizon, used instead",
        "pass an earlier `time`",
    ),
    "tau-past-horizon": Explanation(
        "caution",
        "`tau` lies past the last time that the data support: metrics that weight by 1/G, and "
        "those at the time `tau`, are taken at that time instead",
        "give an earlier `tau`",
    ),
    "tau-past-follow-up": Explanation(
        "caution",
        "`tau` lies past the follow-up of the reference set: up to it nobody was observed",
        "give a `tau` inside the follow-up",
    ),
    "follow-up-differs": Explanation(
        "caution",
        "training and test subjects were followed for different lengths of time (log-rank test of "
        "the censoring times below 0.001, mean follow-up 10 % apart); not tested under "
        "`sample_weight`",
        "give a `tau` inside both follow-ups, and look at `mae_ipcw_d`",
    ),
    "dependent-censoring": Explanation(
        "problem",
        "censoring depends on the features (`X_test`): weights 1/G and surrogates assume that it "
        "does not",
        "pass a G that depends on the subject (`censoring=`), and do not rely on the intervals",
    ),
    "member-of-blend": Explanation(
        "caution",
        "a model's median times are nearly those of a learner that the law given the features is "
        "made of, which favours the model in doubly robust errors",
        "take a law without that learner: `sg.conditional(..., members=[...])`",
    ),
    "mean-weight": Explanation(
        "caution",
        "weights 1/G that are not 1 on average (by more than 5 %): G does not describe the test "
        "subjects, or part of them lives past the follow-up",
        'take G of the test subjects (`censoring="test"`), give `tau`',
    ),
    "small-groups": Explanation(
        "caution",
        "groups of `by` with under 30 subjects or 10 events",
        "do not rely on their numbers",
    ),
    "few-events": Explanation(
        "caution", "under 30 subjects or 10 events", "do not rely on the intervals"
    ),
    "tail-times": Explanation(
        "caution",
        "more than 10 % of the predicted times are extrapolated past the curves' last time",
        'give `tau`, or compare with `tail="hold"`',
    ),
    "tail-decides": Explanation(
        "problem",
        "two models compare differently when no time is read past the curves' last",
        "give `tau`: without it the tail decides, not the data",
    ),
    "past-curve": Explanation(
        "problem",
        "a metric reads curves past the model's last predicted time; above 5 % it has no value",
        "predict up to the time named, give an earlier `time`, or leave the metric out",
    ),
    "coarse-grid": Explanation(
        "caution",
        "curves at fewer than 10 times within the follow-up: medians, means, integrated scores, "
        "CRPS and D-calibration depend on what is assumed between the times",
        "predict at more times, such as 50 or all event times; compare models on the same times",
    ),
    "time-units": Explanation(
        "problem",
        "predicted or training times are more than 5 times as long or short as the observed ones",
        "count all times in the same unit, such as days",
    ),
    "past-reference": Explanation(
        "problem",
        "subjects censored after the last reference time: N times an arbitrary tail",
        "give `tau`",
    ),
    "far-surrogates": Explanation(
        "caution",
        "pseudo-observations reach more than twice past the follow-up",
        "give `tau`; look at `mae_margin`, `mae_expected`",
    ),
    "law-tail": Explanation(
        "caution",
        "more than 10 % of a doubly robust error come from times past the last one that the law of "
        "the event time knows, where its tail is assumed",
        "give `tau`",
    ),
    "law-alone": Explanation(
        "caution",
        "more than 10 % of the subjects were observed past the time at which G falls below "
        "`floor`: what lies beyond rests on the law of the event time alone",
        "give `tau`, or a law given features (`conditional=`)",
    ),
    "robust-differs": Explanation(
        "caution",
        "the doubly robust and the 1/G-weighted error of a model differ by more than their "
        "intervals allow: the law of the event time or G does not describe the test subjects",
        "give `tau`, or a law given features (`conditional=`)",
    ),
    "unseen-times": Explanation(
        "caution",
        "more than 10 % of the reference are event-free at its end: IPCW misses late errors",
        "give `tau`",
    ),
    "negative-times": Explanation(
        "problem",
        "predicted times below zero",
        "if these are risk scores, wrap them in `RiskScores`",
    ),
    "excluded": Explanation(
        "note",
        "subjects that a method has nothing to say about, with the reason and count",
        "usually nothing: look at the count",
    ),
    "changed": Explanation(
        "note", "surrogates above `tau`, set to `tau`, with the count", "nothing"
    ),
    "infinite": Explanation(
        "caution",
        "the model gave probability zero to something that happened",
        "smooth the curves, or use another metric",
    ),
    "undefined-metric": Explanation(
        "caution",
        "no value on these data, with the reason; the table has NaN",
        "mend what the message says, or leave the metric out",
    ),
    "not-applicable": Explanation(
        "note",
        "the metric does not apply to predictions of this kind: step curves have no density and "
        "may give probability 0 to an event, and equal predictions have no calibration slope; a "
        "default metric that applies to no model is left out",
        "nothing; for the metric, predict curves without steps",
    ),
    "negative-score": Explanation(
        "problem",
        "a mean of losses below zero: Simpson's rule (convention `pycox`) has negative weights on "
        "uneven times, and a doubly robust error may rest on a few events with large weights",
        "take evenly spaced times, or another convention; doubly robust: give a horizon `tau`",
    ),
    "large-weight": Explanation(
        "caution",
        "one subject stands for more than 20: G is small there",
        "errors in time: give `tau`; scores of probabilities and ranks: raise `min_g`",
    ),
    "c-below-half": Explanation(
        "problem", "significantly below 0.5", "check the sign of the risk: higher must mean earlier"
    ),
    "metric-skipped": Explanation(
        "note",
        "above 100,000 subjects, and in streams, antolini leaves the default set",
        "name it in the `metrics` of `evaluate`, or call `concordance_td(..., approximate=True)`",
    ),
    "assumes-independence": Explanation(
        "note",
        "under an assumed dependence (`dependence`), metrics that know independent censoring only "
        "leave the default set",
        "leave `dependence` out to have them",
    ),
    "fractional-frequencies": Explanation(
        "caution",
        "weights of the outcomes that are not whole count as frequencies: their size sets every "
        "standard error",
        "pass sampling weights as `sample_weight`",
    ),
    "thin-groups": Explanation(
        "caution",
        "1-calibration expects fewer than 3 events or 3 survivors in a group of risk, even with "
        "one group: its p-value is rough",
        "give a `time` by which more subjects have the event and others are still observed",
    ),
    "few-clusters": Explanation(
        "caution",
        "under 10 clusters: standard errors are rough, intervals wide",
        "do not rely on the intervals",
    ),
    "too-few-to-tell": Explanation(
        "caution",
        "an interval over more than four fifths of the metric's range, or, where that has no end, "
        "whose upper limit is more than 50 times the lower, is left out",
        "do not rely on the value; evaluate on more subjects",
    ),
    "few-replicates": Explanation(
        "caution", "too few bootstrap draws for an interval", "raise `n_boot`"
    ),
}


#: How much warnings weigh, gravest first.
WEIGHTS = ("problem", "caution", "note")


def weight_of(code: str) -> str:
    """Say how much a warning weighs; a code of a newer version is a caution."""
    return EXPLANATIONS[code].weight if code in EXPLANATIONS else "caution"


def explain(code: str) -> Explanation:
    """Explain a code; every code of `evaluate` has an entry.

    >>> explain("tail-decides").weight
    'problem'
    """
    return EXPLANATIONS[code]
