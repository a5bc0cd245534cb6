"""What an audit found: loss and bias of every metric in every scenario."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...evaluation.audit.result import ASKS, SCENARIOS, within
from ._base import Display
from .description import Axis, Chart, Mark, Panel, Points, Row, Rule, Span
from .palette import shade

#: Measures that are drawn, with the label of their axis.
_PANELS = {"relative_loss": "Loss of the model picked", "relative_bias": "Bias"}
#: Roles of the kinds of scenarios; those that enter no mean stay in the background.
_ROLES = {
    "models": shade(0), "kaplan_meier": shade(1), "conditional": shade(2), "dependent": "soft",
}  # fmt: skip
#: Half the height of a row over which the kinds of scenarios are spread.
_SPREAD = 0.26


def audit(record: dict[str, Any]) -> Display:
    """Loss and bias of the metrics of an audit, a mark for every scenario.

    The table has scenario, kind, metric, horizon, relative_loss and relative_bias: a row per
    scenario and metric, within and without a horizon. With a single model nothing can be picked,
    and only the bias is drawn.

    Parameters
    ----------
    record : dict
        Plain data of `Audit.to_dict`.

    Examples
    --------
    >>> import survgauge as sg
    >>> y = ([2, 5, 7, 8, 3, 9], [1, 0, 1, 1, 1, 0])
    >>> a = sg.audit({"a": [3, 5, 6, 9, 4, 8], "b": [5] * 6}, y, draws=4, metrics="mae_po", tau=6.0)
    >>> audit(a.to_dict()).rows()[0]["metric"]
    'mae_po'
    """
    asks = record["risks"][0]["asks"]
    wanted = ("scenario", "kind", "metric", "horizon", "relative_loss", "relative_bias")
    values = [{name: r[name] for name in wanted} for r in record["table"] if r["asks"] == asks]
    shown = list(_PANELS) if len(record["models"]) > 1 else ["relative_bias"]
    panels = []
    for found in record["risks"]:
        if found["asks"] != asks:
            continue
        rows = [row for row in values if row["horizon"] == found["horizon"]]
        best = found["metric"]
        order = _order(values, rows, best, shown[0])
        labels = tuple(Row(name, clear=name != best or best is None) for name in order)
        for measure in shown:
            marks = _marks(rows, order, measure, record["max_bias"])
            title = f"{_PANELS[measure]}, {within(found['horizon'], record['unit'])}"
            low = 0.0 if measure == "relative_loss" else None
            axis = Axis(_PANELS[measure], "% of the true error", low=low)
            height = 0.8 + 0.22 * len(order)
            panels.append(Panel(axis, Axis(), tuple(marks), title, labels, height=height))
    chart = Chart(
        f"Audit: which {ASKS.get(asks, asks)} can be trusted",
        "Each mark is a scenario in which event and censoring times were drawn, so that the "
        "truth is known. The loss is the excess of the true error of the model that a metric "
        "picks over that of the best model. Biases above "
        f"{100 * record['max_bias']:g} % are shaded. Hollow marks are scenarios with dependent "
        "censoring.",
        tuple(panels),
        columns=len(shown),
        width=7.0 if len(shown) > 1 else 4.4,
    )
    return Display(chart, values)


def _order(
    values: list[dict[str, Any]], rows: list[dict[str, Any]], best: str | None, measure: str
) -> list[str]:
    """Metrics, the recommended one first, then by their mean loss (or bias)."""

    def mean(name: str) -> float:
        found = [
            abs(row[measure])
            for row in rows
            if row["metric"] == name
            and row["kind"] != "dependent"
            and isinstance(row[measure], float)
        ]
        return float(np.mean(found)) if found else np.inf

    names = dict.fromkeys(row["metric"] for row in values)
    return sorted(names, key=lambda name: (name != best, mean(name)))


def _marks(
    rows: list[dict[str, Any]], order: list[str], measure: str, max_bias: float
) -> list[Mark]:
    """Marks of the scenarios; the part of an axis of biases in which a metric is off is shaded."""
    kinds = [kind for kind in _ROLES if any(row["kind"] == kind for row in rows)]
    known = [row for row in rows if isinstance(row[measure], float)]
    marks: list[Mark] = []
    if measure == "relative_bias":
        limit, biases = 100 * max_bias, [100 * row[measure] for row in known]
        low, high = min(biases, default=0.0), max(biases, default=0.0)
        marks += [Span("x", limit, 1.03 * high, "off")] if high > limit else []
        marks += [Span("x", 1.03 * low, -limit, "off")] if low < -limit else []
    for place, kind in enumerate(kinds):
        shift = 0.0 if len(kinds) == 1 else _SPREAD * (2 * place / (len(kinds) - 1) - 1)
        mine = [row for row in known if row["kind"] == kind]
        marks.append(
            Points(
                # Less is rounding, which would fill the axis where nobody is censored.
                np.array([100 * round(row[measure], 9) for row in mine]),
                np.array([order.index(row["metric"]) + shift for row in mine]),
                _ROLES[kind],
                SCENARIOS[kind],
                names=tuple(f"{row['metric']}, {row['scenario']}" for row in mine),
                hollow=kind == "dependent",
                size=3.6,
            )
        )
    return [*marks, Rule("x", 0.0)] if measure == "relative_bias" else marks
