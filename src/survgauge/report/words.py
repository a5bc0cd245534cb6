"""What the numbers say, in sentences: from the plain data of an evaluation."""

from __future__ import annotations

import re
from typing import Any

from .._tools.text_tables import number, relation
from ..data.event_words import EventWords
from ..evaluation.phrases import DIGITS, in_brackets, interval_text, listed
from ..evaluation.sentences import model_sentence, verdict_parts
from ..evaluation.verdict import glance, headline, judged_by, stops_at, verdicts
from ..evaluation.when import column_of, rounded, title_of, titled
from ..metrics.registry import REGISTRY

#: Below this p-value a test is said to find something.
_SURE = 0.05
#: Share of censored subjects above which pseudo-observations are known to be biased.
_HALF = 0.5
_BIASED = (
    " With more than half of the subjects censored, this error is larger than the true error and "
    "favours predictions that are too early; compare mae_ipcw_d with a horizon."
)
#: Why the error within the horizon is the headline: docs/results/truth.md.
_WHY = (
    "This error comes first because it was closest to the true error on data with known event "
    "times. Errors without a horizon are in the tables; they depend on times that nobody observed."
)

Row = dict[str, Any]


def summary(data: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Say who is best, how groups differ, and what else is known of the best model."""
    metric = headline(data)
    everybody, between = verdict_parts(data)
    more: list[str] = []
    found = verdicts(data, metric)
    if found:
        more = _more(data, found[0].first.model, metric) + _meaning(data, metric)
    first, second, third = (
        [_unbroken(text) for text in part] for part in (everybody, between, more)
    )
    return first, second, third


def _more(data: dict[str, Any], model: str, metric: str) -> list[str]:
    """Say what else is known of the best model: ranking, probabilities, calibration."""
    rows = [
        row
        for row in data["metrics"]
        if row["model"] == model and row.get("group") is None and isinstance(row["value"], float)
    ]
    others = [row for row in rows if row["metric"] != metric]
    shown = glance(row["metric"] for row in others)
    sentences = _at_times(data, model, others) if data["support"].get("times_given") else []
    sayings = {"ranking": _ranking, "probability": model_sentence, "decision": model_sentence}
    for family, say in sayings.items():
        first = [name for name in shown if REGISTRY[name].family == family]
        sentences += [say(data, row) for row in others if row["metric"] in first]
    return sentences + _calibration(data, model, rows)


def _at_times(data: dict[str, Any], model: str, rows: list[Row]) -> list[str]:
    """Say what a model has at the times that were asked for: probabilities and ranking."""
    known = {column_of(row): row for row in rows}
    wanted = [
        name
        for name in glance((row["metric"] for row in rows), at_times=True)
        if REGISTRY[name].reads == "time" and REGISTRY[name].family != "calibration"
    ]
    times = list(dict.fromkeys(time for name, time in known if name in wanted))
    told = [
        f"{title_of(found[0])} {listed([number(row['value'], DIGITS) for row in found])}"
        for name in wanted
        if (found := [known[name, time] for time in times if (name, time) in known])
    ]
    if not told:
        return []
    at = f"{listed([rounded(time) for time in times if time is not None])} {data.get('unit') or ''}"
    return [f"At {at.strip()}, {model} has: {'; '.join(told)}."]


def _ranking(data: dict[str, Any], row: Row) -> str:
    """Say how many pairs a model puts in the right order."""
    if not REGISTRY[row["metric"]].is_share_of_pairs:
        return model_sentence(data, row)
    told = f"{REGISTRY[row['metric']].title} {number(row['value'], DIGITS)}"
    sure = in_brackets(told, interval_text(data, row["low"], row["high"]))
    share = f"{row['value'] * 100:.0f} %"
    return f"{row['model']} puts {share} of the comparable pairs in the right order{sure}."


def _calibration(data: dict[str, Any], model: str, rows: list[Row]) -> list[str]:
    """Say how well a model is calibrated: first how far it is off, then what tests notice.

    A test that finds nothing says little: under censoring it may have little power.
    """
    family = [row for row in rows if REGISTRY[row["metric"]].family == "calibration"]
    by_name = {name: k for k, name in enumerate(judged_by(row["metric"] for row in family))}
    family.sort(key=lambda row: by_name[row["metric"]])
    tests = [row for row in family if REGISTRY[row["metric"]].inference == "test"]
    sizes = [row for row in family if REGISTRY[row["metric"]].reads == "time" and row not in tests]
    found = []
    for time in dict.fromkeys(row.get("time") for row in sizes):
        told = listed([_size(data, row) for row in sizes if row.get("time") == time])
        at = "" if time is None else f" at {rounded(time, data.get('unit') or '')}"
        found.append(f"Calibration of {model}{at}: {told}.")
    found += [text for row in sizes if (text := _off_target(row))]
    return found + _tests(tests, data.get("unit") or "")


def _size(data: dict[str, Any], row: Row) -> str:
    """Say a measure of calibration, with its interval and its best value."""
    metric = REGISTRY[row["metric"]]
    best = 0.0 if metric.target is None else metric.target
    sure = in_brackets(interval_text(data, row["low"], row["high"]), f"{best:g} is best")
    return f"{_inside(metric.title)} {number(row['value'], DIGITS)}{sure}"


def _off_target(row: Row) -> str:
    """Say on which side of its best value a measure clearly lies, and what that means."""
    metric, low, high = REGISTRY[row["metric"]], row["low"], row["high"]
    if metric.target is None or not (isinstance(low, float) and isinstance(high, float)):
        return ""
    if low <= metric.target <= high:
        return ""
    side, means = ("above", metric.above) if low > metric.target else ("below", metric.below)
    what = _inside(metric.title)
    return f"The {what} is clearly {side} {metric.target:g}{means and f': {means}'}."


def _inside(title: str) -> str:
    """Name of a measure of calibration inside a sentence."""
    return f"{title[0].lower()}{title[1:]}" if title[1:2].islower() else title


def _tests(rows: list[Row], unit: str) -> list[str]:
    """Say which tests find fault; one that finds none is no proof of calibration."""
    told = {
        found: [
            f"{titled(row, unit)} (p {relation(row['value'])})"
            for row in rows
            if (row["value"] < _SURE) == found
        ]
        for found in (True, False)
    }
    sentences = []
    if told[True]:
        verb = "finds" if len(told[True]) == 1 else "find"
        sentences.append(f"{listed(told[True])} {verb} evidence that its curves are miscalibrated.")
    if told[False]:
        verb = "finds" if len(told[False]) == 1 else "find"
        sentences.append(
            f"{listed(told[False])} {verb} no evidence of that, which is no proof of calibration."
            if told[True]
            else f"{listed(told[False])} {verb} no evidence that its curves are miscalibrated, "
            "which is no proof that they are calibrated."
        )
    return sentences


def _meaning(data: dict[str, Any], metric: str) -> list[str]:
    """Explain the error of the headline."""
    record = REGISTRY[metric]
    method = record.method
    if method is None or record.loss != "absolute":
        return []
    rules = next(r["convention"] for r in data["metrics"] if r["metric"] == metric)
    much = "; those censored early get less weight"
    much = much if rules.get("weighted") and method.imputes else ""
    doubt = _BIASED if method.extrapolates and _censored(data) > _HALF else ""
    words = EventWords.of(data["support"])
    time = "event time" if words.cause is None else f"time of {words.the_event}"
    stop = stops_at(data, metric)
    stopped = ""
    if stop is not None:
        until = rounded(stop, data.get("unit") or "")
        why = " (the last time that the data support)" * (stop == data["support"]["horizon"])
        stopped = f" Predicted and observed times after {until}{why} count as {until}."
        if words.cause is not None:
            never = f" Who has an event of another cause never has {words.the_event}: it counts as"
            stopped += f"{never} {until}."
    found = [
        "The error is the distance from the predicted time (for curves: the median) to the "
        f"{time}. Each censored subject {method.counts_as}{much}.{stopped}{doubt}"
    ]
    known = record.within_horizon and words.cause is None  # shown for one kind of event
    return [*found, _WHY] if known else found


def _censored(data: dict[str, Any]) -> float:
    """Share of the subjects that are censored."""
    subjects = data["support"]["subjects"]
    return 1 - data["support"]["events"] / subjects if subjects else 0.0


def _unbroken(text: str) -> str:
    """Keep numbers and their signs on one line."""
    text = re.sub(r"(\d) %", "\\1\u00a0%", text)
    return re.sub(r"\bp ([<=]) (\d)", "p\u00a0\\1\u00a0\\2", text)
