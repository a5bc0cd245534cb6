"""Inverse probability of censoring weights: how likely it was that we saw what we saw."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Floats, vector
from ..errors import InputError, one_of
from ..nonparametric import KaplanMeier
from ..outcomes import Outcomes
from ..reference import Reference
from .conventions import Convention

POLICIES = ("truncate", "raise", "nan")


def check_policy(on_unsupported: object) -> None:
    """Refuse an unknown policy for times that the data do not support."""
    one_of("on_unsupported", on_unsupported, POLICIES)


class CensoringWeights:
    """G of the reference set (or the caller's), read with the limits of a convention.

    Parameters
    ----------
    y : Outcomes
        Test outcomes.
    y_train : outcomes or Reference, optional
        Reference set; None: the test outcomes themselves.
    censoring : KaplanMeier or callable, optional
        Instead of the reference set's G; a function G(t, side) of one time per subject.
    convention : Convention
        Ties and limits.
    follow_up : float, optional
        Last test time, where `y` is only a part of the test set.
    """

    def __init__(
        self,
        y: Outcomes,
        y_train: Any,
        censoring: Any,
        convention: Convention,
        follow_up: float | None = None,
    ) -> None:
        if not (censoring is None or callable(censoring) or isinstance(censoring, KaplanMeier)):
            raise InputError(
                "censoring must be a KaplanMeier or a function G(t, side); "
                f"got {type(censoring).__name__}"
            )
        self.y, self.convention = y, convention
        self.reference = Reference(y) if y_train is None else Reference.of(y_train)
        self.in_sample = y_train is None
        self._given = censoring
        self._follow_up = follow_up

    @classmethod
    def of(
        cls,
        y: Outcomes,
        y_train: Any,
        censoring: Any,
        convention: Convention,
        follow_up: float | None = None,
    ) -> CensoringWeights:
        """Build them, or take ready ones of the same subjects that came as `y_train`."""
        if isinstance(y_train, CensoringWeights) and y_train.y is y:
            return y_train
        return cls(y, y_train, censoring, convention, follow_up)

    @cached_property
    def km(self) -> KaplanMeier | None:
        """G as a step function, or None where the caller gave a function."""
        if isinstance(self._given, KaplanMeier):
            return self._given
        if self._given is not None:
            return None
        if self.convention.g_ties == "flipped":
            known = self.reference.y
            weight = known.weight if known.weighted else None
            return KaplanMeier.fit(Outcomes(known.time, ~known.event, weight))
        return self.reference.censoring

    def _read(self, t: Floats, side: str) -> Floats:
        if self.km is not None:
            own = t is self.y.time
            values = self.km.at_sorted(t, self.y.order(), side) if own else self.km.at(t, side)
        else:
            values = vector(self._given(t, side), "censoring(t, side)", length=len(self.y))
            if values.min() < 0 or values.max() > 1:
                raise InputError(
                    "censoring(t, side) must return probabilities in [0, 1]; "
                    f"got {values.min():g} to {values.max():g}"
                )
        floor = self.convention.g_floor
        return np.maximum(values, floor) if floor > 0 else values

    @property
    def at_own_time(self) -> Floats:
        """G at each subject's own time, with the limit for events: (n,)."""
        return self._read(self.y.time, self.convention.event_limit)

    @cached_property
    def event_weight(self) -> Floats:
        """1/G for events, 0 for censored subjects and for events with G = 0: (n,)."""
        own = self.at_own_time if self.km is not None else self.at_own_time.copy()  # the caller's
        own[~self.y.event | (own <= 0)] = np.inf
        return np.divide(1.0, own, out=own)

    @cached_property
    def lost_events(self) -> int:
        """Events that carry no weight because G = 0 there."""
        return int((self.y.event & (self.event_weight == 0)).sum())

    @property
    def by_subject(self) -> bool:
        """Whether G is the caller's function of the subjects, not one step function."""
        return self._given is not None and not isinstance(self._given, KaplanMeier)

    @cached_property
    def last_time(self) -> float:
        """Last time that G was estimated from; infinite for a function."""
        return float("inf") if self.km is None else self.km.last_time

    def forget_tables(self) -> None:
        """Drop G and what it was made of, but not the weights; it comes back when asked for."""
        _ = self.event_weight, self.identified_until, self.last_time
        self.__dict__.pop("km", None)
        self.reference.forget()

    def survivors(self, t: float) -> Floats:
        """G for somebody event-free past `t`: scalar array, or (n,) if G depends on the subject."""
        side = self.convention.survivor_limit
        if self.km is not None:
            return self._read(np.asarray(float(t)), side)
        return self._read(np.full(len(self.y), float(t)), side)

    @cached_property
    def follow_up(self) -> float:
        """Last time of the test set."""
        given = self._follow_up
        return float(self.y.present().time.max()) if given is None else given

    @cached_property
    def identified_until(self) -> float:
        """Last time inside both follow-ups at which survivors still have G > 0.

        G drops to zero only at its last time, when the largest reference time is censored; then
        everything strictly before it is identified.
        """
        end = self.follow_up
        if self.km is None:
            return end
        end = min(end, self.km.last_time)
        if self.km.last_survival > 0 or end < self.km.last_time or self.convention.g_floor > 0:
            return end
        if self.convention.survivor_limit == "left":
            return end
        return float(np.nextafter(end, -np.inf))

    def describe(self) -> dict[str, Any]:
        """Return the part of a result's convention that concerns G."""
        source = "training outcomes" if not self.in_sample else "test outcomes, in sample"
        if self._given is not None:
            source = "given by the caller"
        return {**self.convention.as_dict(), "censoring": source}
