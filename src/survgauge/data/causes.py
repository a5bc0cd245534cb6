"""Kinds of events: their codes and names, the one that is meant, and the words for it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._tools.arrays import Bools, flags, is_missing, numbers, shown, to_numpy
from ..errors import InputError, as_names, did_you_mean, numbered

if TYPE_CHECKING:
    from .outcomes import Outcomes

#: Code of the cause of each subject; 0: censored.
Codes = NDArray[np.int32]

#: Words that mean a censored subject in a column of names of causes.
_CENSORED = ("censored", "censor", "none", "0", "")

#: Names to show how to give some, and how many of a column can be those of causes.
_EXAMPLE, _MOST_NAMES = ["relapse", "death"], 8


def read_events(event: Any, causes: Any) -> tuple[Bools, Codes | None, tuple[str, ...] | None]:
    """Read the column `event`: flags, and with several causes the code of each and their names.

    >>> read_events([1, 0, 1], None)
    (array([ True, False,  True]), None, None)
    >>> read_events(["death", "censored", "relapse"], ["relapse", "death"])[1]
    array([2, 0, 1], dtype=int32)
    """
    if causes is None:
        try:
            return flags(event, "event"), None, None
        except InputError as error:  # neither flags nor booleans: perhaps codes
            codes, count = _unnamed_codes(event, error)
            return codes > 0, codes, tuple(map(str, range(1, count + 1)))
    names = cause_names(causes)
    codes = _named_codes(event, names)
    if len(names) == 1:
        return codes > 0, None, None
    return codes > 0, codes, names


def cause_names(causes: Any, count: int | None = None) -> tuple[str, ...]:
    """Check the names of causes, of which there must be `count` where that is known.

    >>> cause_names(["relapse", "death"], 2)
    ('relapse', 'death')
    """
    if isinstance(causes, str):
        raise InputError(f"causes must be a list of names; got the text {causes!r}")
    names = tuple(name.strip() for name in as_names(causes, "causes"))
    if not names or not all(names) or len(set(names)) < len(names):
        raise InputError(f"causes must be names, distinct and not empty; got {shown(causes)}")
    taken = [name for name in names if name.lower() in _CENSORED[:2]]
    if taken:
        raise InputError(
            f"causes must name the kinds of events only; {taken[0]!r} is not one of them: "
            "leave it out, as it needs no name"
        )
    for code, name in enumerate(names, 1):
        if name.isdecimal() and name != str(code):
            raise InputError(
                f"causes names the one with code {code} {name!r}, which reads as another code; "
                "give names that are no numbers, or the codes 1, 2, ... in their order"
            )
    if count is not None and len(names) != count:
        raise InputError(f"causes must have {count} names, one per cause; got {shown(causes)}")
    return names


def cause_code(cause: Any, names: Sequence[str], argument: str = "cause") -> int:
    """Return the code of a cause, counted from 1, that is given by its code or its name.

    >>> cause_code("death", ["relapse", "death"]), cause_code(1, ["relapse", "death"])
    (2, 1)
    """
    if isinstance(cause, str) and cause in names:
        return list(names).index(cause) + 1
    whole = isinstance(cause, int | np.integer) and not isinstance(cause, bool)
    if whole and 1 <= cause <= len(names):
        return int(cause)
    known = ", ".join(f"{k} ({name!r})" for k, name in enumerate(names, 1))
    raise InputError(
        f"{argument} must be the code or the name of a cause: {known}; got {shown(cause)}"
        f"{did_you_mean(cause, names)}"
    )


def _unnamed_codes(event: Any, refusal: InputError) -> tuple[Codes, int]:
    """Read codes 0, 1, 2, ...; where others are meant, the names of all causes have to say so."""
    array = to_numpy(event, "event")
    is_gap = array.dtype == object and any(map(is_missing, array.flat))
    if is_gap or array.ndim != 1 or array.dtype.kind in "mM":
        raise refusal
    if array.dtype == object or array.dtype.kind not in "fiu" or not array.size:
        names = _names_in(array)
        told = _name_them(names)
        if array.dtype.kind in "OU" and names is _EXAMPLE:
            told += "; subjects without any of them must be 'censored'"
        raise InputError(f"{refusal}; with several causes {told}") from refusal
    codes = _whole(array, array.size)
    if codes is None:
        raise refusal
    found = np.unique(codes)
    if found[0] != 0 or found.size != found[-1] + 1:
        listed = ", ".join(map(str, found[:8].tolist()))
        r_codes = found.tolist() == [1, 2]  # of R's Surv
        two = "; if 1 is censored and 2 the event, pass event == 2" if r_codes else ""
        raise InputError(
            f"{refusal}. Its codes are {listed}: with several causes, 0 is censored and 1, 2, ... "
            f"are the causes; if one of these codes does not occur, {_name_them()}{two}"
        ) from refusal
    return codes, int(found[-1])


def _names_in(array: Any) -> list[str]:
    """Return the names of causes in a column that also has a word for censored subjects."""
    words = sorted({str(word).strip() for word in np.ravel(array).tolist()})
    names = [word for word in words if word.lower() not in _CENSORED]
    known = len(names) < len(words) and 2 <= len(names) <= _MOST_NAMES
    return names if known else _EXAMPLE


def _name_them(names: Sequence[str] = _EXAMPLE) -> str:
    """Say what to do where the events alone do not say which causes there are.

    >>> _name_them(["dementia", "death"])[-23:]
    '--causes dementia,death'
    """
    shell = shlex.quote(",".join(names))
    return f"give their names, as in sg.Outcomes(time, event, causes={names!r}) or --causes {shell}"


def _named_codes(event: Any, names: tuple[str, ...]) -> Codes:
    """Read codes or names of the causes `names`."""
    array = to_numpy(event, "event")
    if array.ndim != 1:
        raise InputError(f"event must have 1 dimension; got shape {array.shape}")
    if array.dtype.kind in "OU" and any(isinstance(item, str) for item in array.tolist()):
        return _words(array.tolist(), names)
    array = numbers(array, "event")
    codes = _whole(array, len(names))
    if codes is None:
        bad = np.flatnonzero(~np.isin(array, np.arange(len(names) + 1)))
        raise InputError(
            f"event must be 0 (censored) or a code from 1 to {len(names)}, one per name in "
            f"causes; got {array[bad[0]]} for {numbered(bad)}"
        )
    return codes


def _whole(array: NDArray[Any], largest: int) -> Codes | None:
    """Return codes from 0 to `largest`; None where there are other numbers."""
    with np.errstate(invalid="ignore"):
        whole = (array >= 0) & (array <= largest) & (array == np.floor(array))
    return array.astype(np.int32) if whole.all() else None


def _words(items: list[Any], names: tuple[str, ...]) -> Codes:
    """Read names of causes; everybody else has to be marked as censored."""
    known = {name: k for k, name in enumerate(names, 1)}

    def code(item: Any) -> int:
        if not isinstance(item, str):  # a gap is not censoring
            return -1
        word = item.strip()
        return known.get(word, 0 if word.lower() in _CENSORED else -1)

    codes = np.array([code(item) for item in items], dtype=np.int32)
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        meant = did_you_mean(items[bad[0]], names)
        raise InputError(
            f"event must be one of {', '.join(map(repr, names))} or 'censored'; got "
            f"{items[bad[0]]!r} for {numbered(bad)}"
            f"{meant or '; if that means censored, write censored'}"
        )
    return codes


def several_causes(causes: tuple[str, ...], argument: str) -> InputError:
    """Return the error for a function that supports one kind of event."""
    listed = ", ".join(f"{k} ({name!r})" for k, name in enumerate(causes, 1))
    return InputError(
        f"{argument} must have one kind of event here; it has events of {len(causes)} causes: "
        f"{listed}. Where a function takes cause=, name the one that matters; or pass "
        "y.any_cause() for the first event of any cause, or y.only(cause), which counts "
        "the other causes as censored and overstates the probability of the event"
    )


@dataclass(frozen=True)
class EventWords:
    """Words for one kind of event, or for one cause among several.

    Examples
    --------
    >>> EventWords().baseline, EventWords().event
    ('the Kaplan-Meier baseline', 'event')
    >>> words = EventWords("relapse", ("relapse", "death"))
    >>> words.baseline, words.by("5 years"), words.others
    ('the Aalen-Johansen baseline', 'relapse by 5 years', ('death',))
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
        return f"the {self.estimate} baseline"

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
    def competing(self) -> str:
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

    >>> from survgauge import Outcomes
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
