"""What the numbers say, in sentences: from the plain data of an evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .._tools.text_tables import number, relation
from ..evaluation.verdict import (
    Against,
    Verdict,
    adjusted_for,
    against_baseline,
    headline,
    judged_by,
    stops_at,
    verdicts,
)
from ..metrics.registry import REGISTRY

#: How many metrics of a family are shown beside each other at the top of the page.
_AT_A_GLANCE = {"time": 2, "probability": 1, "ranking": 1, "calibration": 1}
#: Warnings that put the error without a horizon in doubt.
_TAILS = ("tail-times", "far-surrogates", "past-reference", "unseen-times")
_SURE = 0.05
#: Share of censored subjects above which pseudo-observations are known to be biased.
_HALF = 0.5
_BIASED = (
    " With more than half of the subjects censored it overstates the true error and favours "
    "predictions that are too early; compare mae_ipcw_d with a horizon."
)
_MOST_GROUPS = 12
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
    found = verdicts(data, metric)
    if not found:
        return ["No metric has a value on these data and predictions."]
    sentences = []
    if found[0].group is not None:
        count = len(found)
        sentences.append(f"By {metric}, in {count} group{'s' if count > 1 else ''}:")
        if count > _MOST_GROUPS:
            found.sort(key=lambda v: -_size(data, v.group, "subjects"))
    for verdict in found[:_MOST_GROUPS]:
        sentences.append(_first(data, verdict))
        sentences += _others(data, verdict)
    if len(found) > _MOST_GROUPS:
        sentences.append(f"{len(found) - _MOST_GROUPS} smaller groups are in the table.")
    if found[0].group is None:
        sentences += _more(data, found[0].model, metric)
    sentences += _meaning(data, metric)
    return [_unbroken(text) for text in sentences]


def _size(data: dict[str, Any], group: Any, what: str) -> int:
    return int(data["support"].get("groups", {}).get(str(group), {}).get(what, 0))


def _first(data: dict[str, Any], v: Verdict) -> str:
    where = ""
    if v.group is not None:
        size = (
            f"{_size(data, v.group, 'subjects')} subjects, {_size(data, v.group, 'events')} events"
        )
        where = f"Group {v.group} ({size}): "
    tau = stops_at(data, v.metric)
    if tau is not None and REGISTRY[v.metric].family == "time":
        where += f"{'within' if where else 'Within'} the first {_amount(data, tau)}, "
        if tau == data["support"]["horizon"]:
            where += "the horizon that the data support, "
    same = [o.model for o in v.others if o.better_by == 0]
    who = _list([v.model, *same])
    if _in_time(v.metric):
        short = not same and len(who) <= 25 and who[-1:].isalnum()
        whose = f"{who}'s predictions" if short else f"the predictions of {who}"
        text = f"{where}{whose} are off by {_amount(data, v.value)} on average"
    else:
        best = "is best by" if len(data["models"]) > 1 else "has"
        text = f"{where}{who} {best} {REGISTRY[v.metric].title}: {number(v.value, 3)}"
    text += _interval(data, v.low, v.high)
    if v.baseline is not None:
        text += _versus(data, v, v.baseline)
    if text.startswith("the "):
        text = f"T{text[1:]}"
    return f"{text}.{_doubt(data, v)}"


def _versus(data: dict[str, Any], v: Verdict, km: Against) -> str:
    """Compare with the baseline; what the data do not tell apart is not called better."""
    if km.p_value is not None and not km.clear:
        return f"; no clear difference from {km.model} ({_gap(data, v, km, short=True)})"
    return f", {_gap(data, v, km)}"


def _doubt(data: dict[str, Any], v: Verdict) -> str:
    """Say where the headline leans on what nobody observed."""
    if v.unsettled:
        return " But the tails decide here, not the data: see what to trust."
    codes = {
        w["code"]
        for w in data["warnings"]
        if w["metric"] == v.metric and w["model"] in (None, v.model)
    }
    if _in_time(v.metric) and codes & set(_TAILS):
        return (
            " Part of this lies past the follow-up, where nobody was observed: see what to trust."
        )
    if v.coarse:
        return (
            f" The times of {_list(list(v.coarse))} are read between few predicted times: see what "
            "to trust."
        )
    return ""


def _others(data: dict[str, Any], v: Verdict) -> list[str]:
    """Compare with the other models: who is clearly worse, who cannot be told apart."""
    rest = [o for o in v.others if o.better_by != 0]
    clear = [o for o in rest if o.clear]
    close = [o for o in rest if o.p_value is not None and not o.clear]
    sentences = []
    if clear:
        parts = [_gap(data, v, other) for other in clear[:4]]
        more = f" (and {len(clear) - 4} more)" if len(clear) > 4 else ""
        start = "Taken at face value it is" if v.unsettled else "It is"
        sentences.append(f"{start} {_list(parts)}{more}{_over(clear)}.")
    if close:
        names = _list([f"{o.model} (p {relation(o.p_value)})" for o in close[:4]])
        more = f" and {len(close) - 4} more" if len(close) > 4 else ""
        over = "" if clear else _over(close)
        sentences.append(f"No clear difference from {names}{more}{over}.")
    return sentences


def _gap(data: dict[str, Any], v: Verdict, other: Against, *, short: bool = False) -> str:
    side = "better" if other.better_by >= 0 else "worse"
    size = abs(other.better_by)
    amount = _amount(data, size) if _in_time(v.metric) else number(size, 3)
    over = adjusted_for(other) if other is v.baseline else ""
    told = "" if other.p_value is None else f"p {relation(other.p_value)}"
    told += f", {over}" if told and over else ""
    if short:
        return f"{amount} {side}, {told}"
    return f"{amount} {side} than {other.model}" + (f" ({told})" if told else "")


def _over(others: list[Against]) -> str:
    """Say once, after several p-values, what they were adjusted for."""
    return f", {adjusted_for(others[0])}" if adjusted_for(others[0]) else ""


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
        interval = _after(data, row["low"], row["high"])
        sentences.append(
            f"{model} puts {row['value'] * 100:.0f} % of the comparable pairs in the right order "
            f"({_called(row)} {number(row['value'], 3)}{interval})."
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
    start = f"Its probabilities ({called[0].lower()}{called[1:]} {number(row['value'], 3)})"
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
    much = ", and the less the earlier it left" if rules.get("weighted") and method.imputes else ""
    doubt = _BIASED if method.extrapolates and _censored(data) > _HALF else ""
    found = [
        f"The error is the distance from the predicted (of curves: the median) time to the event. "
        f"A censored subject {method.counts_as}{much}.{doubt}"
    ]
    return [*found, _WHY] if REGISTRY[metric].within_horizon else found


def _censored(data: dict[str, Any]) -> float:
    """Share of the subjects that are censored."""
    subjects = data["support"]["subjects"]
    return 1 - data["support"]["events"] / subjects if subjects else 0.0


def _interval(data: dict[str, Any], low: float | None, high: float | None) -> str:
    told = _after(data, low, high)
    return f" ({told[2:]})" if told else ""


def _after(data: dict[str, Any], low: float | None, high: float | None) -> str:
    if not (isinstance(low, float) and isinstance(high, float)):
        return ""
    return f", {data['confidence'] * 100:g} % CI {number(low, 3)} to {number(high, 3)}"


def _amount(data: dict[str, Any], value: float) -> str:
    unit = data.get("unit") or ""
    return f"{number(value, 3)} {unit}".strip()


def _list(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _unbroken(text: str) -> str:
    """Keep numbers and their signs on one line."""
    text = re.sub(r"(\d) %", "\\1\u00a0%", text)
    return re.sub(r"\bp ([<=]) (\d)", "p\u00a0\\1\u00a0\\2", text)
