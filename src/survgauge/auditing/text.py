"""An audit in words: the reason, a sentence for a paper, the printed tables."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from .._tools.text_tables import columns, number
from ..evaluation.tipping import METRIC
from .risks import Risk
from .worlds import KINDS

if TYPE_CHECKING:
    from .result import Audit

#: Kinds of scenarios in a few words, for legends.
WORLDS = {
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
        named = [f"{metric} ({world})" for world, metric in list(found.better.items())[:3]]
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


def sentence(audit: Audit) -> str:
    """Say in one sentence what was audited, and what it found."""
    found = audit.asked
    kinds = ", ".join(KINDS[kind] for kind in audit.results.kinds)
    start = (
        f"An audit of {_count(len(audit.metrics), 'metric')} with event and censoring times drawn "
        f"for the {audit.subjects} test subjects ({kinds}; {_draws(audit)}) "
    )
    place = within(found.horizon, audit.unit)
    if found.metric is None:
        name, off = found.least_off
        if not name:
            return f"{start}found no metric with a value ({asked(found)} {place})."
        return f"{start}found {name} closest to the truth {place} (bias at most {share(off)})."
    said = f"{start}found that the bias of {found.metric} {place} is at most {share(found.off)}"
    if len(audit.models) < 2:
        return f"{said}."
    return (
        f"{said}, and that the model it picks has a true error {share(found.loss)} above that of "
        f"the best on average (Monte Carlo standard error {share(found.stderr)})."
    )


def _count(size: int, what: str) -> str:
    return f"{size} {what}{'s' if size != 1 else ''}"


def _draws(audit: Audit) -> str:
    """Draws of each kind of scenario with independent censoring."""
    found: dict[str, int] = {}
    for world, size in zip(audit.results.worlds, audit.draws, strict=True):
        if world.independent:
            found[world.kind] = found.get(world.kind, 0) + size
    return f"{min(found.values(), default=0)} draws each"


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
    parts += [_worlds(audit, width), tipping]
    parts += [textwrap.fill(line, width) for line in _left_out(audit)]
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
    rows.sort(key=lambda row: (row["metric"] != found.metric, _order(row["relative_loss"])))
    place = within(found.horizon, audit.unit)
    title = f"{asked(found).capitalize()} {place}, mean over the scenarios, censoring independent"
    cells = [
        [
            row["metric"],
            signed(row["relative_bias"]),
            share(row["off"]),
            share(row["relative_rmse"]),
            number(row["tau"], 2),
            share(row["best"]),
            share(row["relative_loss"]),
        ]
        for row in rows[:most]
    ]
    header = ["metric", "bias", "off", "rmse", "tau", "best pick", "loss"]
    if len(audit.models) < 2:  # no order, nothing to pick
        header, cells = header[:4], [row[:4] for row in cells]
    more = len(rows) - len(cells)
    left = f"\n{more} more metrics: --all" if more else ""
    return f"{textwrap.fill(title, width)}\n{columns(header, cells, width=width)}{left}"


def _order(value: float) -> float:
    return value if value == value else float("inf")


def signed(value: float) -> str:
    """Percent with its sign."""
    text = share(value)
    return text if text in ("-", "0 %", "<0.01 %") else f"{'-' if value < 0 else '+'}{text}"


def _worlds(audit: Audit, width: int) -> str:
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
            row["world"],
            signed(row["relative_bias"]),
            number(row["tau"], 2),
            share(row["best"]),
            share(row["relative_loss"]),
            found.better.get(row["world"], ""),
        ]
        for row in rows
    ]
    header = ["scenario", "bias", "tau", "best pick", "loss", "better here"]
    if len(audit.models) < 2:
        header, cells = header[:2], [row[:2] for row in cells]
    title = f"{found.metric} {within(found.horizon, audit.unit)}, scenario by scenario"
    return f"{title}\n{columns(header, cells, (0, 5), width)}"


def _left_out(audit: Audit) -> list[str]:
    return [
        f"Not audited: {ASKS.get(asks, asks)} {within(horizon, audit.unit)}: {why}"
        for (asks, horizon), why in audit.left_out.items()
    ]
