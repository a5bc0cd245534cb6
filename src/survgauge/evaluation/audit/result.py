"""What an audit found: the table, the recommendation and its risks, as data and as text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..._tools.text import as_frame, columns, number, plain
from ..._tools.writing import write_atomically
from ..tipping import METRIC, TippingPoint
from .risks import Risk, ScenarioResults
from .scenarios import AuditQuestion


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of `audit`.

    Attributes
    ----------
    models : tuple of str
        Whose predictions were audited.
    risks : list of Risk
        One for everything that was asked: what is estimated (the mean absolute error first) within
        and without a horizon.
    draws : list of int
        Number of draws of each scenario.
    max_bias : float
        Bias, as a share of the truth, above which a metric counts as off.
    left_out : dict
        What could not be asked, by what is estimated and the horizon, and why.
    """

    models: tuple[str, ...]
    questions: list[AuditQuestion]
    results: ScenarioResults
    risks: list[Risk]
    draws: list[int]
    seed: int
    max_bias: float
    subjects: int
    events: int
    unit: str
    left_out: dict[tuple[str, float | None], str]
    #: The two best models on the real data; None where there are no two, or no time error.
    pair: TippingPoint | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that were audited."""
        return tuple(dict.fromkeys(question.metric.name for question in self.questions))

    @property
    def asked(self) -> Risk:
        """The risks of what was asked first: the mean absolute error, unless metrics are named."""
        return self.risks[0]

    @property
    def recommended(self) -> str | None:
        """Name of the metric to take: the doubly robust error within the horizon.

        None where it was not among the metrics, or where the data support no horizon.
        """
        return self.asked.metric

    @property
    def horizon(self) -> float | None:
        """Horizon of what was asked first; None: none."""
        return self.asked.horizon

    @property
    def tipping(self) -> float | None:
        """Kendall's tau of event and censoring times at which the two best models change places.

        The least over several copulas, see `tipping_point`; None where none up to 0.9 does.
        """
        return None if self.pair is None else self.pair.kendall_tau

    @property
    def reason(self) -> str:
        """Why this metric is recommended and what it risks, or why none is."""
        return reason(self)

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain dictionaries, without pandas."""
        found = []
        parts = zip(self.results.scenarios, self.results.qualities, self.draws, strict=True)
        for scenario, quality, draws in parts:
            for place, question in enumerate(self.questions):
                found.append(
                    {
                        "scenario": scenario.name,
                        "kind": scenario.kind,
                        "metric": question.metric.name,
                        "asks": question.asks,
                        "horizon": question.horizon,
                        "time": question.time,
                        **{name: float(getattr(quality, name)[place]) for name in MEASURES},
                        "draws": draws,
                    }
                )
        return found

    def summary(self) -> list[dict[str, Any]]:
        """Return means over the scenarios with independent censoring, one row per question.

        Kinds of scenarios have equal weight; `off` is the largest of a kind.
        """
        means = {name: self.results.average(name) for name in MEASURES}
        means["off"] = self.results.worst("off")
        return [
            {
                "metric": question.metric.name,
                "asks": question.asks,
                "horizon": question.horizon,
                "time": question.time,
                **{name: float(values[place]) for name, values in means.items()},
                "stderr": self.results.stderr(place),
            }
            for place, question in enumerate(self.questions)
        ]

    @property
    def table(self) -> Any:
        """Frame with a row per scenario and metric, within and without a horizon.

        Columns: scenario (the scenario), kind, metric, asks (what it estimates), horizon (None:
        none), bias, relative_bias, off (mean size of the models' relative biases), rmse,
        relative_rmse, tau (Kendall's, with the true order of the models), best (how often the truly
        best model is picked), loss (true error of the picked model minus that of the best),
        relative_loss, stderr (Monte Carlo, of relative_loss), undefined (share of draws without a
        value), draws.
        """
        return as_frame(self.rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw loss and bias of every metric in every scenario; returns the figure.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            Where to draw, one per panel; by default on a new figure.
        """
        # By name: displays know audits, not the other way round.
        displays = import_module("survgauge.report.displays.audit")
        return displays.audit(self.to_dict()).plot(ax)

    def to_html(self, path: Any, *, title: str = "Audit of metrics") -> Any:
        """Write a report: one page that works offline, with tables, a chart and downloads.

        Parameters
        ----------
        path : path-like
            The HTML file.
        title : str
            Heading of the page.

        Returns
        -------
        Path
            The file.
        """
        page = import_module("survgauge.report").audit_html(self.to_dict(), title)
        return write_atomically(Path(path), page)

    def _repr_html_(self) -> str:
        return str(import_module("survgauge.report").audit_fragment(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON (NaN becomes None)."""
        return plain(
            {
                "models": list(self.models),
                "subjects": self.subjects,
                "events": self.events,
                "recommended": self.recommended,
                "horizon": self.horizon,
                "heading": heading(self),
                "reason": self.reason,
                "tipping_text": tipping_text(self),
                "tipping": self.tipping,
                "pair": None if self.pair is None else self.pair.to_dict(self.unit),
                "risks": [found.to_dict() for found in self.risks],
                "summary": self.summary(),
                "table": self.rows(),
                "max_bias": self.max_bias,
                "unit": self.unit,
                "random_state": self.seed,
            }
        )

    def __str__(self) -> str:
        return audit_text(self)

    def __repr__(self) -> str:
        return (
            f"Audit({len(self.models)} models x {len(self.metrics)} metrics x "
            f"{len(self.draws)} scenarios, recommended: {self.recommended})"
        )


#: What the table has of every scenario and question.
MEASURES = (
    "bias", "relative_bias", "off", "rmse", "relative_rmse", "tau", "best", "loss",
    "relative_loss", "stderr", "undefined",
)  # fmt: skip


#: Kinds of scenarios in a few words, for legends.
SCENARIOS = {
    "models": "curves of a model",
    "kaplan_meier": "Kaplan-Meier",
    "conditional": "distribution given the features",
    "dependent": "dependent censoring",
}
#: What time errors with the same loss estimate.
ASKS = {
    "absolute": "mean absolute error",
    "squared": "mean squared error",
    "root squared": "root mean squared error",
}


def share(value: float) -> str:
    """Percent with two digits, without a sign.

    >>> share(0.1234), share(-0.00231), share(0.0)
    ('12 %', '0.23 %', '0 %')
    >>> share(0.00001)
    '<0.01 %'
    """
    if value != value:
        return "-"
    size = round(abs(value), 9) * 100  # less than that is rounding
    if 0 < size < 0.005:
        return "<0.01 %"
    digits = 0 if size >= 9.95 or size == 0 else 1 if size >= 0.995 else 2
    return f"{size:.{digits}f} %"


def within(horizon: float | None, unit: str) -> str:
    """Say which horizon; `without a horizon` where there is none."""
    if horizon is None:
        return "without a horizon"
    return f"within {number(horizon)}{' ' + unit if unit else ''}"


def asked(found: Risk) -> str:
    """Name what is estimated: a kind of time error, or a metric by its name."""
    return ASKS.get(found.asks, found.asks)


def heading(audit: Audit) -> str:
    """Say which metric is recommended, and within which horizon."""
    if audit.recommended is None:
        return "Recommended: nothing among these metrics"
    return f"Recommended: {audit.recommended} ({within(audit.horizon, audit.unit)})"


def reason(audit: Audit) -> str:
    """Say why a metric is recommended and what it risks, or why none is."""
    found = audit.asked
    if found.metric is None:
        return (
            f"An audit recommends the doubly robust error within the horizon ({METRIC}), which was "
            "not among the metrics or has no horizon here. The tables show what the others risk."
        )
    words = [
        "Of the mean absolute errors, the doubly robust one within the horizon led to the best "
        "models on held-out datasets with a known truth.",
        *_costs(audit, found),
    ]
    if found.off > audit.max_bias:
        words.append(
            f"That is more than {share(audit.max_bias)}: do not take its size at face value."
        )
    if found.better:
        named = [f"{metric} ({scenario})" for scenario, metric in list(found.better.items())[:3]]
        more = len(found.better) - len(named)
        rest = f" and {more} more" if more else ""
        words.append(f"In some scenarios another metric picks better: {', '.join(named)}{rest}.")
    return " ".join([*words, *_unrestricted(audit, found)])


def _costs(audit: Audit, found: Risk) -> list[str]:
    """What a choice by the recommended metric costs, and how far it is off."""
    off = f"the bias of {found.metric} is at most {share(found.off)}"
    if len(audit.models) < 2:
        return [f"Here {off}. With one model there is no order of models to get right."]
    return [
        f"Here it picks the truly best model in {share(found.best)} of the draws with independent "
        f"censoring, and the model that it picks has a true {asked(found)} {share(found.loss)} "
        f"above that of the best on average; {off}."
    ]


def _unrestricted(audit: Audit, found: Risk) -> list[str]:
    """How far off even the least biased error without a horizon is."""
    for other in audit.risks:
        name, off = other.least_off
        if (other.asks, other.horizon) == (found.asks, None) and name:
            return [
                f"Without a horizon, the least biased {asked(found)} ({name}) is off by "
                f"{share(off)} in some kind of scenario."
            ]
    return []


def tipping_text(audit: Audit) -> str:
    """Say which dependence of event and censoring times makes the two best models change places."""
    return "" if audit.pair is None else audit.pair.sentence(audit.unit)


#: Columns of a paragraph, and metrics of the short text.
_WIDTH, _FEW = 96, 5


def audit_text(audit: Audit, width: int = _WIDTH, *, short: bool = False) -> str:
    """Render the recommendation, means over the scenarios, and single scenarios.

    A `short` text has the best metrics only, and no single scenarios.
    """
    tipping = textwrap.fill(tipping_text(audit), width)
    parts = [verdict_text(audit, width)]
    if short:
        parts += [_means(audit, audit.asked, width, _FEW), tipping]
        return "\n\n".join(part for part in parts if part)
    for found in audit.risks:
        if found.asks == audit.asked.asks:
            parts.append(_means(audit, found, width))
    parts += [_scenarios(audit, width), tipping]
    for (asks, horizon), why in audit.left_out.items():
        what = f"{ASKS.get(asks, asks)} {within(horizon, audit.unit)}"
        parts.append(textwrap.fill(f"Not audited: {what}: {why}", width))
    return "\n\n".join(part for part in parts if part)


def verdict_text(audit: Audit, width: int = _WIDTH) -> str:
    """Say which metric is recommended, and why."""
    return heading(audit) + "\n" + textwrap.fill(audit.reason, width)


def _means(audit: Audit, found: Risk, width: int, most: int | None = None) -> str:
    """Table of the metrics that estimate the same number, best first; `most` of them."""
    rows = [
        row
        for row in audit.summary()
        if (row["asks"], row["horizon"]) == (found.asks, found.horizon)
    ]

    def order(row: dict[str, Any]) -> tuple[bool, float]:
        return row["metric"] != found.metric, float(np.nan_to_num(row["relative_loss"], nan=np.inf))

    rows.sort(key=order)
    place = within(found.horizon, audit.unit)
    title = f"{asked(found).capitalize()} {place}, mean over the scenarios, censoring independent"
    measures = columns_of(len(audit.models))
    cells = [
        [row["metric"], *(write(row[name]) for name, write in measures.values())]
        for row in rows[:most]
    ]
    header = ["metric", *measures]
    more = len(rows) - len(cells)
    left = f"\n{more} more metrics: --all" if more else ""
    return f"{textwrap.fill(title, width)}\n{columns(header, cells, width=width)}{left}"


def columns_of(models: int) -> dict[str, tuple[str, Callable[[float], str]]]:
    """Columns after that of the metric: what each shows, and how that is written.

    A single model has no order, and there is nothing to pick.
    """
    found: dict[str, tuple[str, Callable[[float], str]]] = {
        "bias": ("relative_bias", signed),
        "max bias": ("off", share),
        "rmse": ("relative_rmse", share),
        "tau": ("tau", partial(number, digits=2)),
        "best pick": ("best", share),
        "loss": ("relative_loss", share),
    }
    return found if models > 1 else dict(list(found.items())[:3])


def signed(value: float) -> str:
    """Percent with its sign."""
    text = share(value)
    return text if text in ("-", "0 %", "<0.01 %") else f"{'-' if value < 0 else '+'}{text}"


def _scenarios(audit: Audit, width: int) -> str:
    """What the recommended metric does in each scenario."""
    found = audit.asked
    if found.metric is None:
        return ""
    rows = [
        row
        for row in audit.rows()
        if (row["metric"], row["asks"], row["horizon"]) == (found.metric, found.asks, found.horizon)
    ]
    cells = [
        [
            row["scenario"],
            signed(row["relative_bias"]),
            number(row["tau"], 2),
            share(row["best"]),
            share(row["relative_loss"]),
            found.better.get(row["scenario"], ""),
        ]
        for row in rows
    ]
    header = ["scenario", "bias", "tau", "best pick", "loss", "better here"]
    if len(audit.models) < 2:
        header, cells = header[:2], [row[:2] for row in cells]
    title = f"{found.metric} {within(found.horizon, audit.unit)}, scenario by scenario"
    return f"{title}\n{columns(header, cells, (0, 5), width)}"
