"""The methods paragraph of a validation study, from the conventions of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..._tools.writing import provenance
from ...data.causes import EventWords, cause_label, training_events
from ...evaluation import Evaluation
from ...evaluation.phrases import Column, in_brackets, listed, rounded, why_then
from ...metrics.registry import REGISTRY, Metric
from .printed import Prose, keys_of
from .table_two import PARTS, parts_of

#: Scales of intervals, as the column `interval` names them.
_SCALES = {
    "normal": "on the scale of the metric itself",
    "log": "on the logarithmic scale",
    "logit": "on the logit scale",
}

#: What standard errors take as given, as the conventions name it.
_SPREAD = {
    "G estimated in sample": "account for the estimation of G",
    "distribution and G fixed": "take the distribution of the event times and G as given",
}

Row = dict[str, Any]
#: Rows of a part of Table 2 by metric with its time, and model.
Cells = dict[Column, dict[str, Row]]


def methods(ev: Evaluation, reference: str | None = None) -> Prose:
    """Say how the numbers of a study were made, in sentences with references.

    Parameters
    ----------
    ev : Evaluation
        Narrowed to what is reported; where the conventions come from.
    reference : str, optional
        The model from which differences are told.
    """
    parts = _with_values(parts_of(ev))
    rows = [row for cells in parts.values() for some in cells.values() for row in some.values()]
    records = [REGISTRY[name] for name in dict.fromkeys(row["metric"] for row in rows)]
    paragraphs = [
        _subjects(ev),
        [*_times(ev, rows), *_measures(ev, parts)],
        [*_censoring(ev, records), *_errors(ev, rows), *_predictions(ev, rows)],
        [*_intervals(ev, rows), *_comparisons(ev, records, reference), *_groups(ev)],
        _software(ev),
    ]
    return Prose(
        "Statistical methods", tuple(" ".join(part) for part in map(list, paragraphs) if part)
    )


def _with_values(parts: dict[str, Cells]) -> dict[str, Cells]:
    """Leave out metrics that have no value for any model."""
    found = {
        part: {
            column: some
            for column, some in cells.items()
            if any(row["value"] == row["value"] for row in some.values())
        }
        for part, cells in parts.items()
    }
    return {part: cells for part, cells in found.items() if cells}


def _subjects(ev: Evaluation) -> list[str]:
    support = ev.support
    n, words = support["subjects"], ev.task.words
    who = listed([f"{name}" for name in ev.models])
    noun = "model" if len(ev.models) == 1 else "models"
    told = [
        f"The {noun} {who} {'was' if len(ev.models) == 1 else 'were'} evaluated on {n:,} test "
        f"subjects{_happened(support, words)} the others were censored."
    ]
    key = "kaplan1958" if words.cause is None else "aalen1978"
    middle = support["median_follow_up"]
    if middle == middle:
        told.append(
            f"Their median follow-up was {rounded(middle, ev.unit)}, estimated by the reverse "
            "Kaplan-Meier method [@schemper1996]."
        )
    if support.get("delayed_entry"):
        told.append(
            f"{support['delayed_entry']:,} of them entered late (median entry at "
            f"{rounded(support['median_entry'], ev.unit)}): follow-up and being at risk begin "
            "at entry, and predictions were read given no event by then."
        )
    if words.competing:
        told.append(
            f"{words.competing.rstrip('.')} [@vangeloven2022]: after one, "
            f"{words.the_event} can no longer happen."
        )
    if "training_subjects" in support:
        told.append(
            f"The training set had {support['training_subjects']:,} subjects with "
            f"{training_events(support)}; its {words.estimate} estimate [@{key}], predicted for "
            f"every subject, was the baseline for comparisons."
        )
    else:
        told.append(
            "No training outcomes were used: where an estimate of the event times was needed, it "
            f"was the {words.estimate} estimate [@{key}] of the test subjects themselves."
        )
    if "effective_subjects" in support:
        told.append(
            "Subjects were weighted by their sampling weights, which gives an effective number of "
            f"{support['effective_subjects']:,.0f} subjects."
        )
    return told


def _happened(support: dict[str, Any], words: EventWords) -> str:
    """Say how many subjects had the event, with several causes one of each."""
    n, causes = support["subjects"], support.get("events_by_cause")
    if not causes:
        died = support["events"]
        return f", of whom {died:,} ({_of(died, n)}) had the event;"
    order = sorted(causes, key=lambda name: name != words.cause)
    told = [f"{cause_label(name)} in {causes[name]:,} ({_of(causes[name], n)})" for name in order]
    return f". The first event was {listed(told)};"


def _of(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"


def _times(ev: Evaluation, rows: list[Row]) -> Iterator[str]:
    """Say at which times metrics were read, and up to which horizon."""
    at = sorted({row["time"] for row in rows if row["time"] is not None})
    until = sorted({row["until"] for row in rows if row["until"] is not None})
    if at:
        told = f"Performance at a time was assessed at {_clocks(at, ev.unit)}"
        yield f"{told}{in_brackets(why_then(ev.support))}."
    late = sorted(time for time in ev.task.times if time > ev.task.horizon)
    if at and late:
        yield (
            "The follow-up of the test subjects does not support an assessment at "
            f"{_clocks(late, ev.unit)}; {rounded(ev.task.horizon, ev.unit)} was taken instead."
        )
    if until:
        end = f"Metrics over a period cover the time up to {_clocks(until, ev.unit)}"
        own = ev.task.tau is not None and until == [ev.task.tau]
        supported = "the last time that the follow-up of the test subjects supports"
        yield f"{end}, {'the horizon that was chosen' if own else supported}."


def _clocks(times: Iterable[float], unit: str) -> str:
    return f"{listed([rounded(time) for time in times])} {unit}".rstrip()


def _measures(ev: Evaluation, parts: dict[str, Any]) -> Iterator[str]:
    """Name the metrics of each part of Table 2 with what they are and where they come from."""
    for part, cells in parts.items():
        told = []
        for name in dict.fromkeys(column[0] for column in cells):
            metric = REGISTRY[name]
            keys = keys_of(metric.reference)
            source = f" [{'; '.join(f'@{key}' for key in keys)}]" if keys else ""
            if not keys and metric.reference:
                source = f" ({metric.reference})"
            about = metric.about.rstrip(".").replace(" tau ", " the chosen horizon ")
            told.append(f"{_the(metric.title)}{source}" + (f", {_the(about)}" if about else ""))
        start = f"{part} was measured by" if part in PARTS else "Further metrics were"
        yield f"{start} {_series(told)}."
    threshold = ev.task.threshold
    if threshold is not None:
        yield f"Decisions were assessed at a threshold risk of {100 * threshold:g} %."
    if any(prediction.kind == "curves" for prediction in ev.predictions.values()):
        yield (
            "Decision curves take the observed risk of subjects above each threshold from their "
            f"{ev.task.words.estimate} estimate [@vickers2008]."
        )


def _series(items: list[str]) -> str:
    """Join long items by semicolons."""
    if len(items) < 2:
        return "".join(items)
    return f"{'; '.join(items[:-1])}; and {items[-1]}"


def _the(text: str) -> str:
    """Write a name or a clause inside a sentence, with its article and in lower case.

    >>> _the("Harrell's C"), _the("Calibration slope"), _the("What is added")
    ("Harrell's C", 'the calibration slope', 'what is added')
    >>> _the("Brier score over time")
    'the Brier score over time'
    """
    first = text.partition(" ")[0]
    if "'" in first:
        return text
    common = first[1:].islower() and first != "Brier"
    inside = f"{text[:1].lower()}{text[1:]}" if common else text
    return inside if first == "What" else f"the {inside}"


def _censoring(ev: Evaluation, metrics: list[Metric]) -> Iterator[str]:
    """Say whose G weights subjects, and how ties and limits were taken."""
    weighted = [_the(metric.title) for metric in metrics if metric.weights_by_g]
    task = ev.task
    given = ", in doubly robust metrics given the features" * (task.conditional is not None)
    if "not checked" in ev.support.get("assumes", ""):
        given = " and of the covariates of the models, which was not checked"
    yield f"Censoring was assumed to be independent of the event times{given}."
    if any(warning.code == "dependent-censoring" for warning in ev.warnings):
        yield (
            "It was found to depend on the covariates; measures that do not allow for this have no "
            "interval and no test."
        )
    if ev.tipping is not None:
        yield ev.tipping.sentence(ev.unit)
    if not weighted:
        return
    whose = {"test": "of the test subjects", "train": "of the training subjects"}
    source = whose.get(task.censoring) if isinstance(task.censoring, str) else None
    rule = task.convention
    if source is None:
        g = "a model given by the authors"
    else:
        g = f"the Kaplan-Meier estimate of the censoring times {source}"
        g += (
            ", in which events leave the risk set before censorings at the same time"
            if rule.g_ties == "events_first"
            else ", fitted with the roles of events and censorings exchanged"
        )
    event = "just before the event" if rule.event_limit == "left" else "at the event"
    yield (
        f"In {listed(weighted)}, subjects are weighted by the inverse "
        f"probability of not being censored, G, {event} or, for subjects who are event-free "
        f"later, {'at' if rule.survivor_limit == 'right' else 'just before'} the time of interest."
    )
    yield f"G comes from {g}."
    if task.cause is not None:
        yield (
            "Events of any cause end the follow-up. Subjects with a competing event are weighted "
            f"like those with {task.words.the_event}, and count as never having it."
        )
    if rule.name != "survgauge":
        yield f"Ties, limits and divisors follow the convention {rule.name}."


def _errors(ev: Evaluation, rows: list[Row]) -> Iterator[str]:
    """Explain each time error: what a censored subject counts as, and under which distribution."""
    seen, words = set(), ev.task.words
    compared = "event time"
    if words.cause is not None:
        until = rounded(ev.task.until, ev.unit)
        compared = f"time of {words.the_event}, which is {until} for who does not have it by then"
    for row in rows:
        metric = REGISTRY[row["metric"]]
        if metric.method is None or metric.name in seen or not row["convention"]:
            continue
        seen.add(metric.name)
        rules = row["convention"]
        point = "predicted mean" if metric.loss == "squared" else "predicted median"
        if rules.get("point") == "given times":
            point = "predicted times"
        yield (
            f"In {_the(metric.title)} the {point} is compared with the {compared}; each "
            f"censored subject {metric.method.counts_as}."
        )
        if rules.get("distribution"):
            given = str(rules["distribution"]).replace(
                "of the reference", f"of the {rules['reference']}"
            )
            yield f"The expected error was taken under this distribution of event times: {given}."


def _predictions(ev: Evaluation, rows: list[Row]) -> Iterator[str]:
    """Say how predictions were read: risks of curves, lines or steps between times."""
    kinds = {name: prediction.kind for name, prediction in ev.predictions.items()}
    ranked = any(REGISTRY[r["metric"]].needs == "risk" and r["time"] is None for r in rows)
    if ranked and "curves" in kinds.values():
        event, until = ev.task.words, rounded(ev.task.until, ev.unit)
        by = f"probability of {event.by(until)} [@wolbers2014]" if event.cause else "medians"
        yield f"Models that predict curves were ranked over all times by their predicted {by}."
    rules: dict[str, list[str]] = {}
    for model in ev.models:
        found = (r["convention"].get("interpolation") for r in rows if r["model"] == model)
        rule = next((text for text in found if text), None)
        if rule is not None:
            rules.setdefault(rule, []).append(model)
    words = {"step": "steps", "linear": "lines", "pchip": "monotone cubic curves"}
    for rule, models in rules.items():
        who = listed(models)
        yield f"Predicted curves of {who} were read as {words[rule]} between their times."


def _intervals(ev: Evaluation, rows: list[Row]) -> Iterator[str]:
    """Say what intervals rest on, and on which scales they are symmetric."""
    if ev.confidence is None:
        yield "No confidence intervals were computed."
        return
    scales: dict[str, list[str]] = {}
    for row in rows:
        title = _the(REGISTRY[row["metric"]].title)
        if row["interval"] in _SCALES and title not in scales.setdefault(row["interval"], []):
            scales[row["interval"]].append(title)
    given = ", which take the training set as given" * ("training_subjects" in ev.support)
    yield f"We report {100 * ev.confidence:g} % confidence intervals{given}."
    told = [f"{_SCALES[scale]} for {listed(titles)}" for scale, titles in scales.items()]
    if told:
        yield (
            "They come from standard errors by first-order contributions of the subjects, and are "
            f"symmetric {'; '.join(told)}."
        )
    for rule, words in _SPREAD.items():
        named = (r["metric"] for r in rows if r["convention"].get("stderr") == rule)
        titles = [_the(REGISTRY[name].title) for name in dict.fromkeys(named)]
        if titles:
            yield f"Standard errors of {listed(titles)} {words}."
    metrics = {row["metric"]: REGISTRY[row["metric"]] for row in rows}.values()
    own = [_the(metric.title) for metric in metrics if metric.interval == "own"]
    if own:
        yield (
            f"Intervals of {listed(own)}, which cannot be negative, hold the true distances under "
            "which the observed one is likely."
        )
    drawn = [_the(metric.title) for metric in metrics if metric.inference == "bootstrap"]
    if drawn:
        yield f"Those of {listed(drawn)} come from a bootstrap of the subjects (seed {ev.seed})."
    if "clusters" in ev.support:
        yield (
            f"Standard errors allow for the dependence within {ev.support['clusters']:,} clusters, "
            "with t quantiles."
        )


def _comparisons(ev: Evaluation, metrics: list[Metric], reference: str | None) -> Iterator[str]:
    """Say how models were compared with each other and with one prediction for everybody."""
    if ev.confidence is None:
        return
    others = len(ev.models) - 1
    if reference is not None and others:
        told = f"The other {'models were' if others > 1 else 'model was'} compared with {reference}"
    else:
        told = "Models were compared with each other"
    if others:
        adjusted = (
            "; intervals and two-sided p-values of the differences were adjusted for the number of "
            "comparisons per metric (Bonferroni [@dunn1961])"
        )
        paired = "by paired differences on the same subjects"
        yield f"{told} {paired}{adjusted if others > 1 else ''}."
    if any(metric.has_baseline for metric in metrics):
        estimate = ev.task.words.estimate
        told = f"Losses were also compared with those of the {estimate} baseline"
        yield f"{told}, adjusted for the number of models." if others else f"{told}."


def _groups(ev: Evaluation) -> Iterator[str]:
    if "groups" not in ev.support:
        return
    by = ev.support.get("by") or []
    named = f" by {listed([str(name) for name in by])}" if by else ""
    yield (
        f"Subgroups{named} were evaluated by themselves, with the same reference set and horizon. "
        "Whether a metric differs between subgroups was tested by Cochran's Q, with p-values "
        "adjusted over the models (Holm [@holm1979])."
    )


def _software(ev: Evaluation) -> list[str]:
    made = ev.provenance or provenance("")
    rule = ev.task.convention.name
    convention = "its default conventions" if rule == "survgauge" else f"the convention {rule}"
    computed = f" ({made['computed_with']})" if "computed_with" in made else ""
    return [
        f"Analyses were done with survgauge {made['version']} [@survgauge]{computed} with "
        f"{convention}. The choice of measures follows published guidance [@mclernon2023], and "
        "the report TRIPOD+AI [@collins2024]."
    ]
