"""What an audit found: loss and bias of every metric in every scenario."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..auditing import Audit
from ..auditing.text import ASKS, WORLDS, within
from ..errors import InputError
from ._base import Display
from .description import Axis, Chart, Mark, Panel, Points, Row, Rule, Span

#: Measures that are drawn, with the label of their axis.
_PANELS = {"relative_loss": "Loss of the model picked", "relative_bias": "Bias"}
#: Roles of the kinds of scenarios; those that enter no mean stay in the background.
_ROLES: dict[str, int | str] = {
    "models": 0, "kaplan_meier": 1, "conditional": 2, "dependent": "soft",
}  # fmt: skip
#: Half the height of a row over which the kinds of scenarios are spread.
_SPREAD = 0.26


@dataclass(frozen=True, eq=False)
class AuditDisplay(Display):
    """Loss and bias of the metrics of an audit, a mark for every scenario.

    Attributes
    ----------
    values : list of dict
        world, kind, metric, horizon, relative_loss, relative_bias: one per scenario and metric.
    recommended : dict
        Metric recommended within each horizon and without one, None where there is none.
    asks : str
        What the metrics estimate.
    max_bias : float
        Bias from which on a metric is said to be off.
    models : int
        Number of models; with a single one nothing can be picked, and only the bias is drawn.

    Examples
    --------
    >>> import survgauge as sg
    >>> y = ([2, 5, 7, 8, 3, 9], [1, 0, 1, 1, 1, 0])
    >>> a = sg.audit({"a": [3, 5, 6, 9, 4, 8], "b": [5] * 6}, y, draws=4, metrics="mae_po", tau=6.0)
    >>> AuditDisplay.from_audit(a).values[0]["metric"]
    'mae_po'
    """

    values: list[dict[str, Any]]
    recommended: dict[float | None, str | None]
    asks: str
    max_bias: float
    models: int
    unit: str = ""

    @classmethod
    def from_audit(cls, audit: Audit) -> AuditDisplay:
        """Build from the result of `audit`."""
        if not isinstance(audit, Audit):
            raise InputError(f"audit must be the result of audit(); got {type(audit).__name__}")
        return cls.from_record(audit.to_dict())

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> AuditDisplay:
        """Build from the plain data of `Audit.to_dict`."""
        asks = record["risks"][0]["asks"]
        recommended = {
            found["horizon"]: found["metric"] for found in record["risks"] if found["asks"] == asks
        }
        wanted = ("world", "kind", "metric", "horizon", "relative_loss", "relative_bias")
        values = [
            {name: row[name] for name in wanted} for row in record["table"] if row["asks"] == asks
        ]
        return cls(
            values, recommended, asks, record["max_bias"], len(record["models"]), record["unit"]
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per scenario and metric, within and without a horizon."""
        return [dict(row) for row in self.values]

    def describe(self) -> Chart:
        """A row of panels for each horizon: loss and bias, the metrics from best to worst."""
        shown = list(_PANELS) if self.models > 1 else ["relative_bias"]
        panels = [
            self._panel(horizon, measure) for horizon in self.recommended for measure in shown
        ]
        what = ASKS.get(self.asks, self.asks)
        return Chart(
            f"Audit: which {what} can be trusted",
            "Each mark is a scenario in which event and censoring times were drawn, so that the "
            "truth is known. The loss says how far the true error of the model that a metric picks "
            "lies above that of the best model. Biases above "
            f"{100 * self.max_bias:g} % are shaded. Hollow marks are scenarios with dependent "
            "censoring.",
            tuple(panels),
            columns=len(shown),
            width=7.0 if len(shown) > 1 else 4.4,
        )

    def _order(self, horizon: float | None) -> list[str]:
        """Metrics, the recommended one first, then by their mean loss (or bias)."""
        names = dict.fromkeys(row["metric"] for row in self.values)
        measure = "relative_loss" if self.models > 1 else "relative_bias"

        def mean(name: str) -> float:
            found = [
                abs(row[measure])
                for row in self.values
                if row["metric"] == name
                and row["horizon"] == horizon
                and row["kind"] != "dependent"
                and isinstance(row[measure], float)
            ]
            return float(np.mean(found)) if found else np.inf

        return sorted(names, key=lambda name: (name != self.recommended[horizon], mean(name)))

    def _panel(self, horizon: float | None, measure: str) -> Panel:
        order = self._order(horizon)
        rows = [row for row in self.values if row["horizon"] == horizon]
        kinds = [kind for kind in _ROLES if any(row["kind"] == kind for row in rows)]
        marks: list[Mark] = []
        if measure == "relative_bias":
            marks += self._limits(row[measure] for row in rows)
        for place, kind in enumerate(kinds):
            shift = 0.0 if len(kinds) == 1 else _SPREAD * (2 * place / (len(kinds) - 1) - 1)
            mine = [row for row in rows if row["kind"] == kind and isinstance(row[measure], float)]
            marks.append(
                Points(
                    # Less is rounding, which would fill the axis where nobody is censored.
                    np.array([100 * round(row[measure], 9) for row in mine]),
                    np.array([order.index(row["metric"]) + shift for row in mine]),
                    _ROLES[kind],
                    WORLDS[kind],
                    names=tuple(f"{row['metric']}, {row['world']}" for row in mine),
                    hollow=kind == "dependent",
                    size=3.6,
                )
            )
        if measure == "relative_bias":
            marks.append(Rule("x", 0.0))
        low = 0.0 if measure == "relative_loss" else None
        best = self.recommended[horizon]
        labels = tuple(Row(name, clear=name != best or best is None) for name in order)
        title = f"{_PANELS[measure]}, {within(horizon, self.unit)}"
        axis = Axis(_PANELS[measure], "% of the true error", low=low)
        height = 0.8 + 0.22 * len(order)
        return Panel(axis, Axis(), tuple(marks), title, labels, height=height)

    def _limits(self, values: Iterable[Any]) -> list[Mark]:
        """Shade the part of the axis in which a metric is off."""
        known = [100 * value for value in values if isinstance(value, float)]
        limit = 100 * self.max_bias
        low, high = min(known, default=0.0), max(known, default=0.0)
        found: list[Mark] = []
        if high > limit:
            found.append(Span("x", limit, 1.03 * high, "off"))
        if low < -limit:
            found.append(Span("x", 1.03 * low, -limit, "off"))
        return found
