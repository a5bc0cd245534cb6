"""How the event of an evaluation is called, and what estimates how often it happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .outcomes import Outcomes


@dataclass(frozen=True)
class EventWords:
    """Words for one kind of event, or for one cause among several.

    Examples
    --------
    >>> EventWords().baseline, EventWords().event
    ('Kaplan-Meier for everybody', 'event')
    >>> words = EventWords("relapse", ("relapse", "death"))
    >>> words.baseline, words.by("5 years"), words.others
    ('Aalen-Johansen for everybody', 'relapse by 5 years', ('death',))
    >>> EventWords("2", ("1", "2")).by("5 years")
    'event of cause 2 by 5 years'
    """

    #: Name of the cause; None: there is one kind of event.
    cause: str | None = None
    #: Names of all causes.
    causes: tuple[str, ...] = ()
    #: Name of the estimate, where it is neither Kaplan-Meier nor Aalen-Johansen.
    named_estimate: str = ""

    @classmethod
    def of(cls, support: Mapping[str, Any]) -> EventWords:
        """Read the support of an evaluation, as it is or as plain data."""
        causes = tuple(support.get("events_by_cause") or ())
        return cls(support.get("cause"), causes, support.get("estimate", ""))

    @property
    def estimate(self) -> str:
        """Name of the estimate of how often the event happens."""
        usual = "Kaplan-Meier" if self.cause is None else "Aalen-Johansen"
        return self.named_estimate or usual

    @property
    def baseline(self) -> str:
        """Name of what a model should beat: the estimate of the reference set for all."""
        return f"{self.estimate} for everybody"

    @property
    def risk(self) -> str:
        """Name of the estimated probability of the event."""
        return f"1 - {self.estimate}" if self.cause is None else self.estimate

    @property
    def event(self) -> str:
        """The event without an article; a cause without a name of its own is a number."""
        if self.cause is None:
            return "event"
        return f"event of {cause_label(self.cause)}" if self.cause.isdigit() else self.cause

    @property
    def the_event(self) -> str:
        """The event in a sentence."""
        if self.cause is None:
            return "the event"
        return f"an {self.event}" if self.cause.isdigit() else self.event

    @property
    def some_event(self) -> str:
        """One event, whenever it happens."""
        if self.cause is None:
            return "an event"
        return self.the_event if self.cause.isdigit() else f"an event of {self.cause}"

    @property
    def plural(self) -> str:
        """Several events."""
        return "events" if self.cause is None else f"events of {cause_label(self.cause)}"

    @property
    def without(self) -> str:
        """Who has not had the event, as an axis says it."""
        return "no event" if self.cause is None else f"no {self.event}"

    @property
    def of_cause(self) -> str:
        """What follows the name of a metric: of which cause it is; nothing without causes."""
        return "" if self.cause is None else f" for {cause_label(self.cause)}"

    @property
    def others(self) -> tuple[str, ...]:
        """Labels of the causes that compete with the one in question."""
        return tuple(cause_label(name) for name in self.causes if name != self.cause)

    @property
    def remark(self) -> str:
        """Say that competing events are counted as such; nothing without causes."""
        if self.cause is None or not self.others:
            return ""
        *most, last = self.others
        named = f"{', '.join(most)} and {last}" if most else last
        return f"Events of {named} are counted as competing events, not as censored."

    def by(self, when: str) -> str:
        """Return the event by a time."""
        return f"{self.event} by {when}"


def cause_label(name: str) -> str:
    """Return the name of a cause; a number says that it is one.

    >>> cause_label("relapse"), cause_label("2")
    ('relapse', 'cause 2')
    """
    return f"cause {name}" if name.isdigit() else name


def events_by_cause(y: Outcomes) -> dict[str, int]:
    """Count the events of each cause; nothing where there is one kind of event.

    >>> events_by_cause(Outcomes([5, 8, 3], [1, 0, 1], causes=["relapse", "death"]))
    {'relapse': 2, 'death': 0}
    """
    if y.cause is None or y.causes is None:
        return {}
    counts = np.bincount(y.cause, y.weight, len(y.causes) + 1)[1:]
    return {name: round(float(n)) for name, n in zip(y.causes, counts, strict=True)}


def counted_events(support: Mapping[str, Any], separator: str = "") -> str:
    """Say how many events there were, with several causes of each, the one in question first.

    >>> counted_events({"events": 1357}), counted_events({"events": 1357}, ",")
    ('1357 events', '1,357 events')
    >>> of_cause = {"death": 135, "relapse": 222}
    >>> counted_events({"events": 357, "cause": "relapse", "events_by_cause": of_cause})
    '222 events of relapse, 135 of death'
    """
    by_cause = support.get("events_by_cause")
    if not by_cause:
        return f"{support['events']:{separator}} events"
    asked = support.get("cause")
    order = sorted(by_cause, key=lambda name: name != asked)
    told = [f"{by_cause[name]:{separator}} of {cause_label(name)}" for name in order]
    return ", ".join([told[0].replace(" of ", " events of ", 1), *told[1:]])


def training_events(support: Mapping[str, Any]) -> str:
    """Say how many events the training set had, with several causes of each.

    >>> training_events({"training_events": 1279})
    '1,279 events'
    """
    of_training = {
        "events": support["training_events"],
        "cause": support.get("cause"),
        "events_by_cause": support.get("training_events_by_cause"),
    }
    return counted_events(of_training, ",")
