"""What the numbers say, in sentences: from the plain data of an evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .._tools.text_tables import number, relation
from ..evaluation.sentences import DIGITS, NOTHING, interval_text, verdict_sentences
from ..evaluation.verdict import adjusted_for, against_baseline, headline, judged_by, verdicts
from ..metrics.registry import REGISTRY

#: How many metrics of a family are shown beside each other at the top of the page.
_AT_A_GLANCE = {"time": 2, "probability": 1, "ranking": 1, "calibration": 1}
_SURE = 0.05
#: Share of censored subjects above which pseudo-observations are known to be biased.
_HALF = 0.5
_BIASED = (
    " With more than half of the subjects censored it overstates the true error and favours "
    "predictions that are too early; compare mae_ipcw_d with a horizon."
)
#: Why the error within the horizon is the headline: docs/results/truth.md.
_WHY = (
    "This error comes first because it was nearest to the truth, in order and in size, on data "
    "with known event times. Errors without a horizon stand below it: they lean on times that "
    "nobody observed."
)


def glance(metrics: Iterable[str]) -> list[str]:
    """Return the few metrics to show first: some of each family."""
    found: dict[str, list[str]] = {family: [] for family in _AT_A_GLANCE}
    for name in judged_by(metrics):
        found.get(REGISTRY[name].family, []).append(name)
    return [name for family, most in _AT_A_GLANCE.items() for name in found[family][:most]]


def summary(data: dict[str, Any]) -> list[str]:
    """Sentences on who is best, by how much and how surely; the first one stands alone."""
    metric = headline(data)
    sentences = verdict_sentences(data)
    for found in verdicts(data, metric):
        if found.group is None:
            sentences += _more(data, found.first.model, metric)
    if sentences != [NOTHING]:
        sentences += _meaning(data, metric)
    return [_unbroken(text) for text in sentences]


def _more(data: dict[str, Any], model: str, metric: str) -> list[str]:
    """Say what else is known of the best model: ranking, probabilities, calibration."""
    rows = {
        r["metric"]: r
        for r in data["metrics"]
        if r["model"] == model and r["metric"] != metric and r["value"] is not None
    }
    shown = {REGISTRY[name].family: rows[name] for name in reversed(glance(rows))}
    sentences = []
    if "ranking" in shown:
        row = shown["ranking"]
        interval = interval_text(data, row["low"], row["high"])
        sentences.append(
            f"{model} puts {row['value'] * 100:.0f} % of the comparable pairs in the right order "
            f"({_called(row)} {number(row['value'], DIGITS)}{interval and f', {interval}'})."
        )
    if "probability" in shown and shown["probability"]["skill"] is not None:
        sentences.append(_probabilities(data, model, shown["probability"]))
    if "calibration" in shown and REGISTRY[shown["calibration"]["metric"]].inference == "test":
        row = shown["calibration"]
        found = "finds no fault" if row["value"] >= _SURE else "finds fault"
        sentences.append(f"{_called(row)} {found} with its curves (p {relation(row['value'])}).")
    return sentences


def _called(row: dict[str, Any]) -> str:
    """Name of a row's metric in a sentence: its title without explanations.

    >>> _called({"metric": "harrell"})
    "Harrell's C"
    """
    return re.split(r"[:(]", REGISTRY[row["metric"]].title)[0].strip()


def _probabilities(data: dict[str, Any], model: str, row: dict[str, Any]) -> str:
    """Compare the loss of a model's probabilities with that of Kaplan-Meier."""
    side = "better" if row["skill"] >= 0 else "worse"
    called = _called(row)
    start = f"Its probabilities ({called[0].lower()}{called[1:]} {number(row['value'], DIGITS)})"
    gap = f"{abs(row['skill']) * 100:.0f} % {side}"
    km = against_baseline(data, model, row["metric"])
    told = "" if km is None or km.p_value is None else f"p {relation(km.p_value)}"
    if km is not None and told and adjusted_for(km):
        told += f", {adjusted_for(km)}"
    if km is None or not told:
        return f"{start} are {gap} than Kaplan-Meier's."
    if km.clear:
        return f"{start} are {gap} than Kaplan-Meier's ({told})."
    return f"{start} show no clear difference from Kaplan-Meier's ({gap}, {told})."


def _in_time(metric: str) -> bool:
    """Whether a metric says by how much time predictions are off."""
    return REGISTRY[metric].loss == "absolute"


def _meaning(data: dict[str, Any], metric: str) -> list[str]:
    """Explain the error of the headline."""
    method = REGISTRY[metric].method if metric else None
    if method is None or not _in_time(metric):
        return []
    rules = next(r["convention"] for r in data["metrics"] if r["metric"] == metric)
    much = "; those censored early get less weight"
    much = much if rules.get("weighted") and method.imputes else ""
    doubt = _BIASED if method.extrapolates and _censored(data) > _HALF else ""
    found = [
        "The error is the distance from the predicted time (of curves: the median) to the event "
        f"time. Each censored subject {method.counts_as}{much}.{doubt}"
    ]
    return [*found, _WHY] if REGISTRY[metric].within_horizon else found


def _censored(data: dict[str, Any]) -> float:
    """Share of the subjects that are censored."""
    subjects = data["support"]["subjects"]
    return 1 - data["support"]["events"] / subjects if subjects else 0.0


def _unbroken(text: str) -> str:
    """Keep numbers and their signs on one line."""
    text = re.sub(r"(\d) %", "\\1\u00a0%", text)
    return re.sub(r"\bp ([<=]) (\d)", "p\u00a0\\1\u00a0\\2", text)
