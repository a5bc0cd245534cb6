"""What the numbers say, in sentences: from the plain data of an evaluation."""

from __future__ import annotations

from typing import Any

from ..evaluation.verdict import Against, Verdict, verdicts
from ..metrics.registry import REGISTRY
from ..tables import number, relation

#: By what a page judges first: the error in units of time, then probabilities, then ranking.
_HEADLINES = ("mae_po", "mae_margin", "mae_expected", "mae_ipcw_d", "ibs", "crps", "harrell", "uno")
#: Shown beside each other at the top of the page.
GLANCE = ("mae_po", "mae_margin", "ibs", "harrell", "d_calibration")
_SURE = 0.05


def headline(data: dict[str, Any]) -> str:
    """Return the metric to judge by: the first of those that people read first, or any."""
    names = list(dict.fromkeys(row["metric"] for row in data["metrics"]))
    return next((name for name in _HEADLINES if name in names), names[0])


def summary(data: dict[str, Any], tau: float | None = None) -> list[str]:
    """Sentences on who is best, by how much and how surely; the first one stands alone."""
    metric = headline(data)
    found = verdicts(data, metric)
    if not found:
        return ["No metric has a value on these data; the remarks below say why."]
    sentences = []
    for verdict in found[:6]:
        sentences.append(_first(data, verdict, tau))
        sentences += _others(data, verdict)
    if len(found) > 6:
        sentences.append(f"{len(found) - 6} more groups are in the table.")
    if found[0].group is None:
        sentences += _more(data, found[0].model, metric)
    return sentences


def _first(data: dict[str, Any], v: Verdict, tau: float | None) -> str:
    where = "" if v.group is None else f"In group {v.group}, "
    if tau is not None and v.metric.startswith(("mae_", "rmse_", "mse_")):
        where += f"{'within' if where else 'Within'} the first {_amount(data, tau)}, "
    if v.metric.startswith("mae_"):
        text = f"{where}{v.model}'s predictions are off by {_amount(data, v.value)} on average"
    else:
        title = REGISTRY[v.metric].title
        text = f"{where}{v.model} is best by {title}: {number(v.value, 3)}"
    text += _interval(data, v.low, v.high)
    if v.baseline is not None:
        text += f", {_gap(data, v, v.baseline)}"
    text += "."
    if v.unsettled:
        text += " But the tails decide here, not the data: see what to trust."
    return text


def _others(data: dict[str, Any], v: Verdict) -> list[str]:
    """Compare with the other models: who is clearly worse, who cannot be told apart."""
    clear = [o for o in v.others if o.p_value is not None and o.p_value < _SURE]
    close = [o for o in v.others if o.p_value is not None and o.p_value >= _SURE]
    sentences = []
    if clear:
        parts = [f"{_gap(data, v, other)}" for other in clear[:4]]
        more = f" (and {len(clear) - 4} more)" if len(clear) > 4 else ""
        sentences.append(f"It is {_list(parts)}{more}.")
    if close:
        names = _list([f"{o.model} (p {relation(o.p_value)})" for o in close[:4]])
        more = f" and {len(close) - 4} more" if len(close) > 4 else ""
        sentences.append(f"The data do not tell it apart from {names}{more}.")
    return sentences


def _gap(data: dict[str, Any], v: Verdict, other: Against) -> str:
    side = "better" if other.better_by >= 0 else "worse"
    size = abs(other.better_by)
    amount = _amount(data, size) if v.metric.startswith("mae_") else number(size, 3)
    return f"{amount} {side} than {other.model} (p {relation(other.p_value)})"


def _more(data: dict[str, Any], model: str, metric: str) -> list[str]:
    """Say what else is known of the best model: ranking, probabilities, calibration."""
    rows = {r["metric"]: r for r in data["metrics"] if r["model"] == model}
    sentences = []
    row = rows.get("harrell")
    if row and row["value"] is not None and metric != "harrell":
        share = f"{row['value']:.0%}"
        sentences.append(
            f"{model} puts {share} of the comparable pairs in the right order "
            f"(Harrell's C {number(row['value'], 3)}{_after(data, row['low'], row['high'])})."
        )
    row = rows.get("ibs")
    if row and row["value"] is not None and row["skill"] is not None and metric != "ibs":
        side = "better" if row["skill"] >= 0 else "worse"
        sentences.append(
            f"Its probabilities (integrated Brier score {number(row['value'], 3)}) are "
            f"{abs(row['skill']):.0%} {side} than Kaplan-Meier's."
        )
    row = rows.get("d_calibration")
    if row and row["value"] is not None:
        found = "finds no fault" if row["value"] >= _SURE else "finds fault"
        sentences.append(f"D-calibration {found} with its curves (p {relation(row['value'])}).")
    return sentences


def _interval(data: dict[str, Any], low: float | None, high: float | None) -> str:
    told = _after(data, low, high)
    return f" ({told[2:]})" if told else ""


def _after(data: dict[str, Any], low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f", {data['confidence'] * 100:g} % CI {number(low, 3)} to {number(high, 3)}"


def _amount(data: dict[str, Any], value: float) -> str:
    unit = data.get("unit") or ""
    return f"{number(value, 3)} {unit}".strip()


def _list(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
