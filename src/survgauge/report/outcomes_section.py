"""What happened to the test subjects of an evaluation of a cause: how often, and up to when."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.event_words import EventWords, cause_label
from ..evaluation.when import rounded
from ..inference import log_log_band
from .markup import Markup, grid, join, tag


def what_happened(data: dict[str, Any], charts: Markup | None) -> Markup | None:
    """Return the events of each cause, their incidence by the times of interest, and figures."""
    words = EventWords.of(data["support"])
    if words.cause is None:
        return None
    return join(tag("p", _told(data, words)), _table(data, words), charts)


def _told(data: dict[str, Any], words: EventWords) -> str:
    *most, last = words.others or ("",)
    others = f"{', '.join(most)} or {last}" if most else last
    told = f"This evaluation is about {words.event}."
    if not others:
        return told
    return (
        f"{told} Who has an event of {others} cannot have {words.the_event} any more: such events "
        "compete with it and are not counted as censored, which would overstate its probability."
    )


def _table(data: dict[str, Any], words: EventWords) -> Markup:
    """Causes by their events and by their incidence at the times of interest."""
    support = data["support"]
    events, rows = support["events_by_cause"], support.get("incidence") or []
    times = list(dict.fromkeys(row["time"] for row in rows))
    known = {(row["cause"], row["time"]): row for row in rows}
    head = [tag("th", "", scope="col"), tag("th", "subjects", scope="col", class_="number")]
    head += [
        tag("th", f"by {rounded(time, data.get('unit') or '')}", scope="col", class_="number")
        for time in times
    ]
    order = sorted(events, key=lambda name: name != words.cause)
    body = [
        _row(_named(name, words), events[name], support["subjects"],
             [_share(known[name, time], data["confidence"]) for time in times])
        for name in order
    ]  # fmt: skip
    free = [1.0 - sum(known[name, time]["value"] for name in order) for time in times]
    censored = support["subjects"] - sum(events.values())
    body.append(
        _row("no event seen", censored, support["subjects"],
             [join(f"{100 * max(value, 0.0):.1f} %") for value in free])
    )  # fmt: skip
    note = "Shares are Aalen-Johansen estimates of the test set"
    if data["confidence"] is not None:
        note += f" with {100 * data['confidence']:g} % intervals"
    note += "; with the probability of no event they add up to 100 %."
    made = grid(head, body, label="Events by cause", place="table short", id="causes")
    return join(made, tag("p", note, class_="soft small") if times else None)


def _named(name: str, words: EventWords) -> str:
    competes = "" if name == words.cause else " (competes)"
    return f"{cause_label(name)}{competes}"


def _row(name: str, count: int, whole: int, shares: list[Markup]) -> Markup:
    share = f"{100 * count / whole:.0f} %" if whole else "-"
    number = tag("td", f"{count:,} ({share})", class_="number")
    cells = [tag("td", text, class_="number") for text in shares]
    return tag("tr", tag("th", name, scope="row"), number, *cells)


def _share(row: dict[str, Any], confidence: float | None) -> Markup:
    """Write an incidence with its interval, symmetric in log(-log(1 - F))."""
    value, stderr = float(row["value"]), row["stderr"]
    told = f"{100 * value:.1f} %"
    if stderr is None or confidence is None or not 0 < value < 1:
        return join(told)
    free = np.array([1.0 - value])
    low, high = log_log_band(free, stderr / free, confidence)
    limits = f"{100 * (1 - high[0]):.1f} to {100 * (1 - low[0]):.1f}"
    return join(told, tag("span", limits, class_="interval"))
