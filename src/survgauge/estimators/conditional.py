"""Distributions of event and censoring times given features: one curve per test subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._old_names import old_attribute, takes_old_arguments
from .._tools.arrays import Floats, one_number, shown, vector
from ..data.curves import SurvivalCurves
from ..data.incidence import IncidenceCurves
from ..errors import InputError


@dataclass(frozen=True, eq=False)
class Conditional:
    """What is known about event and censoring times given the features of the test subjects.

    `conditional` estimates both from data; own curves can be given instead.

    Attributes
    ----------
    distribution : SurvivalCurves, optional
        Probability of being event-free, one curve per test subject; None: Kaplan-Meier of the
        reference set for all.
    censoring : SurvivalCurves, optional
        Probability of not being censored yet, one curve per test subject; None: the reverse
        Kaplan-Meier estimate that the metrics use anyway.
    how : dict
        How the curves were made, for the convention of every number that uses them.
    members : dict
        Median event times of the test subjects by each learner that the distribution is made of, by
        name, so that a model under evaluation can be compared with them.
    incidence : IncidenceCurves, optional
        With competing risks, in the place of `distribution`: the incidence of every cause, one
        curve per test subject; None: Aalen-Johansen of the reference set for all.

    Examples
    --------
    >>> Conditional(distribution=SurvivalCurves([1, 2, 3], [[0.9, 0.5, 0.2], [0.8, 0.3, 0.1]]))
    Conditional(2 subjects, distribution: given, censoring: Kaplan-Meier)
    """

    distribution: SurvivalCurves | None = None
    censoring: SurvivalCurves | None = None
    how: dict[str, Any] = field(default_factory=dict)
    members: dict[str, Floats] = field(default_factory=dict)
    incidence: IncidenceCurves | None = None

    def __post_init__(self) -> None:
        for name, curves in (("distribution", self.distribution), ("censoring", self.censoring)):
            if isinstance(curves, SurvivalCurves) and not curves.shared_grid:
                raise InputError(
                    f"{name} must have one grid of times for all subjects; read your curves at "
                    "common times: SurvivalCurves(times, curves.at(times))"
                )
            if curves is not None and not isinstance(curves, SurvivalCurves):
                raise InputError(
                    f"{name} must be SurvivalCurves with one curve per test subject, or None for "
                    f"Kaplan-Meier; got {type(curves).__name__}"
                )
        for name, given in (("how", self.how), ("members", self.members)):
            if not isinstance(given, dict):
                raise InputError(f"{name} must be a dict; got {type(given).__name__}")
        if self.incidence is not None and not isinstance(self.incidence, IncidenceCurves):
            raise InputError(
                "incidence must be IncidenceCurves with curves of every test subject, or None; "
                f"got {type(self.incidence).__name__}"
            )
        if self.incidence is not None and self.distribution is not None:
            raise InputError(
                "distribution and incidence are the same thing for one cause and for several"
            )
        parts = [
            part for part in (self.distribution, self.incidence, self.censoring) if part is not None
        ]
        if not parts:
            raise InputError(
                "Conditional needs distribution or censoring: at least one of them as curves"
            )
        sizes = set(map(len, parts))
        if len(sizes) > 1:
            raise InputError(
                "distribution and censoring must be about the same subjects; one of them has "
                f"{min(sizes)} curves and the other {max(sizes)}"
            )

        for name, medians in self.members.items():
            vector(medians, f"members[{name!r}]", length=len(self), like="the curves", finite=False)

    law = old_attribute("law", "distribution")

    def __len__(self) -> int:
        given = (self.distribution, self.incidence, self.censoring)
        return next((len(curves) for curves in given if curves is not None), 0)

    def __getitem__(self, rows: Any) -> Conditional:
        distribution = None if self.distribution is None else self.distribution[rows]
        censoring = None if self.censoring is None else self.censoring[rows]
        members = {name: medians[rows] for name, medians in self.members.items()}
        incidence = None if self.incidence is None else self.incidence[rows]
        return replace(
            self,
            distribution=distribution,
            censoring=censoring,
            members=members,
            incidence=incidence,
        )

    def __repr__(self) -> str:
        distribution, censoring = self.sources
        parts = f"distribution: {distribution}, censoring: {censoring}"
        return f"Conditional({len(self)} subjects, {parts})"

    @classmethod
    def joined(cls, parts: Sequence[Conditional]) -> Conditional:
        """Return the distributions of one part of the subjects after the other."""
        distributions = [part.distribution for part in parts if part.distribution is not None]
        censoring = [part.censoring for part in parts if part.censoring is not None]
        incidence = [part.incidence for part in parts if part.incidence is not None]
        return replace(
            parts[0],
            incidence=IncidenceCurves.joined(incidence) if incidence else None,
            distribution=SurvivalCurves.joined(distributions) if distributions else None,
            censoring=SurvivalCurves.joined(censoring) if censoring else None,
        )

    def with_tail(self, tail: str) -> Conditional:
        """Return the same distributions with another tail after the last observed time."""
        distribution, end = self.distribution, self.follow_up
        if distribution is None:
            return self
        if end is not None and (distribution.times > end).any():
            seen = distribution.times <= end
            distribution = SurvivalCurves(
                distribution.times[seen],
                distribution.survival[:, seen],
                distribution.interpolation,
                tail,
            )
        how = {name: value for name, value in self.how.items() if name != "follow_up"}
        return replace(self, distribution=distribution.with_tail(tail), how=how)

    @property
    def follow_up(self) -> float | None:
        """Time up to which the distribution was observed, if it goes on past it."""
        known = self.how.get("follow_up")
        return None if known is None else float(known)

    @property
    def sources(self) -> tuple[str, str]:
        """Where distribution and censoring come from, in a few words each."""
        distribution = str(self.how.get("distribution", "given"))
        if self.distribution is None and self.incidence is None:
            distribution = "Kaplan-Meier"
        censoring = "Kaplan-Meier"
        if self.censoring is not None:
            censoring = str(self.how.get("censoring", "given"))
        return distribution, censoring


Conditional.__init__ = takes_old_arguments(Conditional.__init__)  # type: ignore[method-assign]


def check_conditional(given: Any, n: int, causes: tuple[str, ...] | None = None) -> Conditional:
    """Return distributions of subjects, if there are as many subjects and causes."""
    if not isinstance(given, Conditional):
        raise InputError(
            "conditional must be a Conditional, such as sg.conditional(X_train, y_train, X_test) "
            f"or sg.Conditional(distribution=curves); got {type(given).__name__}"
        )
    if len(given) != n:
        raise InputError(
            f"conditional must have one curve per test subject: {n}; it has {len(given)}"
        )
    if causes is None and given.incidence is not None:
        raise InputError(
            "conditional has the incidence of several causes, which goes with cause=; give "
            "Conditional(distribution=curves)"
        )
    if causes is not None and given.distribution is not None:
        raise InputError(
            "conditional has a distribution of one kind of event; with cause= give "
            "Conditional(incidence=curves)"
        )
    if causes is not None and given.incidence is not None:
        given.incidence.matching(causes, "conditional: incidence")
    return given


def check_floor(floor: Any) -> float:
    """Return the least G of doubly robust errors."""
    if not 0 < one_number(floor) <= 1:
        raise InputError(
            "floor must be a probability above 0 and at most 1, the least G of doubly robust "
            f"errors; got {shown(floor)}"
        )
    return float(floor)
