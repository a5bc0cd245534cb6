"""Who is best, by how much, and how surely: the facts that sentences are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

BASELINE = "Kaplan-Meier for everybody"


@dataclass(frozen=True)
class Against:
    """By how much the best model is better than another; the p-value is Holm's between models."""

    model: str
    better_by: float
    low: float | None
    high: float | None
    p_value: float | None


@dataclass(frozen=True)
class Verdict:
    """The best model by one metric in one group (None: everybody)."""

    group: Any
    metric: str
    model: str
    value: float
    low: float | None
    high: float | None
    #: Kaplan-Meier of the reference set, predicted for everybody.
    baseline: Against | None
    others: tuple[Against, ...]
    #: Whether a warning says that the tails decide, not the data.
    unsettled: bool


def best_rows(rows: Iterable[dict[str, Any]]) -> dict[tuple[Any, str], dict[str, Any]]:
    """Row of the model with the best value, by group and metric."""
    best: dict[tuple[Any, str], dict[str, Any]] = {}
    for row in rows:
        value = row["value"]
        if not isinstance(value, float | int) or value != value:
            continue  # undefined or infinite, as plain data
        sign = 1 if row["direction"] == "lower" else -1
        key = (row.get("group"), row["metric"])
        if key not in best or sign * value < sign * best[key]["value"]:
            best[key] = row
    return best


def verdicts(data: dict[str, Any], metric: str = "mae_po") -> list[Verdict]:
    """Judge by one metric, from the plain data of `Evaluation.to_dict`; one for each group."""
    found = []
    for (group, name), row in best_rows(data["metrics"]).items():
        if name != metric:
            continue
        sign = 1.0 if row["direction"] == "lower" else -1.0
        model = row["model"]

        def mine(rows: list[dict[str, Any]], group: Any = group) -> list[dict[str, Any]]:
            # A difference from an undefined or infinite value is no number.
            known = [r for r in rows if isinstance(r["difference"], float)]
            return [r for r in known if r["metric"] == metric and r.get("group") == group]

        others = []
        for pair in mine(data["comparisons"]):
            if model == pair["model_a"]:
                others.append(_against(pair, pair["model_b"], -sign, "p_holm"))
            elif model == pair["model_b"]:
                others.append(_against(pair, pair["model_a"], sign, "p_holm"))
        km = [r for r in mine(data["baseline_comparisons"]) if r["model"] == model]
        unsettled = any(
            w["code"] == "tail-decides" and w["metric"] == metric for w in data["warnings"]
        )
        found.append(
            Verdict(
                group,
                metric,
                model,
                row["value"],
                row["low"],
                row["high"],
                _against(km[0], BASELINE, -sign, "p_value") if km else None,
                tuple(others),
                unsettled,
            )
        )
    return found


def _against(row: dict[str, Any], model: str, sign: float, p_value: str) -> Against:
    """Turn a difference so that positive means better."""
    low, high = row["low"], row["high"]
    if isinstance(low, float) and isinstance(high, float):
        low, high = sorted((sign * low, sign * high))
    return Against(model, sign * row["difference"], low, high, row[p_value])
