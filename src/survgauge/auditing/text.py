"""An audit in words: the reason, a sentence for a paper, the printed tables."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from .._tools.text_tables import columns, number
from .recommendation import STANDARD_ERRORS, Recommendation
from .worlds import KINDS

if TYPE_CHECKING:
    from .result import Audit

#: Kinds of worlds in a few words, for legends.
WORLDS = {
    "models": "curves of a model",
    "kaplan_meier": "Kaplan-Meier",
    "conditional": "law given the features",
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


def asked(found: Recommendation) -> str:
    """Name what is estimated: a kind of time error, or a metric by its name."""
    return ASKS.get(found.asks, found.asks)


def answer(audit: Audit) -> Recommendation:
    """Return the answer to go by: within the horizon, where a metric is recommended there only."""
    other = audit.within
    if audit.asked.metric is None and other is not None and other.metric is not None:
        return other
    return audit.asked


def reason(audit: Audit) -> str:
    """Say why a metric is recommended, or why none is."""
    found = audit.asked
    if found.metric is None:
        return _refusal(audit, found)
    return " ".join(_praise(audit, found))


def _praise(audit: Audit, found: Recommendation) -> list[str]:
    """Sentences on what a metric costs, what it is compared with, and where the answer changes."""
    place = within(found.horizon, audit.unit)
    if len(audit.models) < 2:
        return [
            f"{found.metric} ({place}) is closest to the true {asked(found)}: its bias is at most "
            f"{share(found.off)}. With one model there is no order of models to get right."
        ]
    words = [
        f"The model that {found.metric} ({place}) picks has a true {asked(found)} "
        f"{share(found.loss)} above that of the best model, on average over the worlds with "
        f"independent censoring. The bias of {found.metric} is at most {share(found.off)}.",
        *_against(found),
    ]
    if found.changes:
        named = [f"{metric} ({world})" for world, metric in list(found.changes.items())[:3]]
        more = len(found.changes) - len(named)
        rest = f" and {more} more" if more else ""
        words.append(f"In some worlds another metric picks better: {', '.join(named)}{rest}.")
    return words


def _against(found: Recommendation) -> list[str]:
    """Compare with the usual metric, or with the next best."""
    if found.runner_up is None:
        return ["No other metric passed."]
    error = f"Monte Carlo standard error {share(found.margin_stderr)}"
    by = f"{share(found.margin)} {'more' if found.margin > 0 else 'less'} ({error})"
    if found.runner_up == found.usual:
        return [f"The usual choice, {found.usual}, loses {by}, and more in most worlds."]
    if found.runner_up not in found.tied and found.margin > 0:
        return [f"The next best metric, {found.runner_up}, loses {by}."]
    if found.metric == found.usual:
        why = f"{found.usual} is taken because it did best on data with a known truth"
        if found.margin < -STANDARD_ERRORS * found.margin_stderr:
            return [f"{found.runner_up} loses {by}, but not in most worlds; {why}."]
        return [f"There is no clear difference in that loss from {found.runner_up}; {why}."]
    others = ", ".join(found.tied) or found.runner_up
    return [
        f"There is no clear difference in that loss from {others} ({error}), none of which is "
        "closer to the truth."
    ]


def _refusal(audit: Audit, found: Recommendation) -> str:
    """Say that nothing can be recommended, and which horizon would do."""
    limit, what = share(audit.max_bias), asked(found)
    name, off = found.least_off
    how = f"the closest one, {name}, by {share(off)}" if name else "none has a value"
    words = (
        f"No metric can be recommended {within(found.horizon, audit.unit)}: every metric misses "
        f"the true {what} by more than {limit} in some kind of world ({how})."
    )
    if found.otherwise is not None and len(audit.models) > 1:
        words += (
            f" If a model has to be chosen that way, {found.otherwise} loses least "
            f"({share(found.loss)})."
        )
    other = audit.within
    if other is None or other is found:
        return words
    place = within(other.horizon, audit.unit)
    if other.metric is None:
        return f"{words} None can be {place} either, the horizon that the data support."
    why = " ".join(_praise(audit, other))
    return f"{words} A horizon helps: take {other.metric} {place}. {why}"


def tipping_text(audit: Audit) -> str:
    """Say which dependence of event and censoring times makes the two best models change places."""
    pair = audit.pair
    if pair is None:
        return ""
    place = within(pair.horizon, audit.unit)
    what = f"{pair.first} and {pair.second}, the two best models by {pair.method} {place},"
    if pair.point.kendall_tau is None:
        return (
            f"{what} do not change places under any dependence of event and censoring times up to "
            f"Kendall's tau {pair.point.largest:g}."
        )
    return (
        f"{what} change places if event and censoring times depend on each other by Kendall's tau "
        f"{pair.point.kendall_tau:.2f} ({str(pair.point.copula).capitalize()} copula)."
    )


def sentence(audit: Audit) -> str:
    """Say in one sentence what was audited, and what it found."""
    found = answer(audit)
    kinds = ", ".join(KINDS[kind] for kind in audit.results.kinds)
    start = (
        f"An audit of {_count(len(audit.metrics), 'metric')} with event and censoring times drawn "
        f"for the {audit.subjects} test subjects ({kinds}; {_draws(audit)}) "
    )
    if found.metric is None:
        return start + (
            f"found none whose bias stays below {share(audit.max_bias)} "
            f"{within(found.horizon, audit.unit)}."
        )
    place = within(found.horizon, audit.unit)
    if len(audit.models) < 2:
        near = f"found {found.metric} ({place}) closest to the truth"
        return f"{start}{near} (bias at most {share(found.off)})."
    beside = ""
    if found.runner_up is not None and found.runner_up not in found.tied and found.margin > 0:
        beside = (
            f", {share(found.margin)} less than {found.runner_up} (Monte Carlo standard error "
            f"{share(found.margin_stderr)})"
        )
    return start + (
        f"recommends {found.metric} {place}: the model that it picks has a true error "
        f"{share(found.loss)} above that of the best on average{beside}, and its bias is at most "
        f"{share(found.off)}."
    )


def _count(size: int, what: str) -> str:
    return f"{size} {what}{'s' if size != 1 else ''}"


def _draws(audit: Audit) -> str:
    """Draws of each kind of independent world."""
    found: dict[str, int] = {}
    for world, size in zip(audit.results.worlds, audit.draws, strict=True):
        if world.independent:
            found[world.kind] = found.get(world.kind, 0) + size
    return f"{min(found.values(), default=0)} draws each"


#: Columns of a paragraph, and metrics of the short text.
_WIDTH, _FEW = 96, 5


def audit_text(audit: Audit, width: int = _WIDTH, *, short: bool = False) -> str:
    """Render the recommendation, the mean over the worlds, and what the worlds say.

    A `short` text has the best metrics only, and no single worlds.
    """
    tipping = textwrap.fill(tipping_text(audit), width)
    parts = [verdict_text(audit, width)]
    if short:
        parts += [_means(audit, answer(audit), width, _FEW), tipping]
        return "\n\n".join(part for part in parts if part)
    for found in audit.recommendations:
        if found.asks == audit.asked.asks:
            parts.append(_means(audit, found, width))
    parts += [_worlds(audit, width), tipping]
    parts += [textwrap.fill(line, width) for line in _left_out(audit)]
    return "\n\n".join(part for part in parts if part)


def verdict_text(audit: Audit, width: int = _WIDTH) -> str:
    """Say which metric is recommended, and why."""
    place = within(audit.asked.horizon, audit.unit)
    head = f"Recommended: {audit.recommended or 'nothing'} ({place})"
    return head + "\n" + textwrap.fill(audit.reason, width)


def _means(audit: Audit, found: Recommendation, width: int, most: int | None = None) -> str:
    """Table of the metrics that estimate the same number, best first; `most` of them."""
    rows = [
        row
        for row in audit.summary()
        if (row["asks"], row["horizon"]) == (found.asks, found.horizon)
    ]
    rows.sort(key=lambda row: (row["metric"] != found.metric, _order(row["relative_loss"])))
    place = within(found.horizon, audit.unit)
    title = f"{asked(found).capitalize()} {place}, mean over the independent worlds"
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
    """What the recommended metric does in each world."""
    found = answer(audit)
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
            found.changes.get(row["world"], ""),
        ]
        for row in rows
    ]
    header = ["world", "bias", "tau", "best pick", "loss", "better here"]
    if len(audit.models) < 2:
        header, cells = header[:2], [row[:2] for row in cells]
    title = f"{found.metric} {within(found.horizon, audit.unit)}, world by world"
    return f"{title}\n{columns(header, cells, (0, 5), width)}"


def _left_out(audit: Audit) -> list[str]:
    return [
        f"Not audited: {ASKS.get(asks, asks)} {within(horizon, audit.unit)}: {why}"
        for (asks, horizon), why in audit.left_out.items()
    ]
