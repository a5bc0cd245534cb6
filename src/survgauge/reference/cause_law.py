"""The time free of one cause up to a horizon tau, under competing risks.

It is T if the event is of the cause and T < tau, and tau for everybody else: after a competing
event that of the cause never comes. tau less this time is the time lost to the cause.

With S the probability of no event of any cause and F the incidence of the cause,

    E[L given T > u] = L(tau) + (integral over (u, tau) of L(t) - L(tau) dF(t)) / S(u),

so that the integrals are those of a law whose steps are the steps of F.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._tools.arrays import Floats, Ints
from .._tools.places import Places
from ..data.causes import cause_code
from ..data.incidence import IncidenceCurves
from ..data.outcomes import Outcomes
from ..errors import InputError, UndefinedMetricError
from .dependence import Dependence
from .losses import Loss
from .reference import Reference
from .residual import ResidualLaw, columns, read, value_of


@dataclass(frozen=True)
class CauseTimes:
    """Times free of one cause up to a horizon, as far as they were observed."""

    #: Code of the cause.
    code: int
    #: Its name.
    name: str
    #: Time free of the cause up to the horizon; of a censored subject the censoring time; of shape
    #: (n,).
    time: Floats

    def __getitem__(self, rows: slice) -> CauseTimes:
        return replace(self, time=self.time[rows])


def check_same_causes(y: Outcomes, reference: Reference) -> None:
    """Refuse a reference set that has other causes than the outcomes."""
    known = reference.given.causes
    if known != y.causes:
        raise InputError(f"y_train must have the causes of y_true, {y.causes}; got {known}")


def cause_times(
    y: Outcomes,
    reference: Reference,
    cause: int | str,
    tau: float | None,
    area: str,
    dependence: Dependence | None,
) -> CauseTimes:
    """Read the times free of a cause off outcomes of several causes."""
    if y.cause is None or y.causes is None:
        raise InputError("cause goes with outcomes of several causes; y_true has one")
    code = cause_code(cause, y.causes)
    if tau is None:
        raise InputError(
            "tau must be given with cause=: under competing risks an error in time is about the "
            "time free of the cause up to a horizon, such as tau=5"
        )
    check_same_causes(y, reference)
    if area != "step":
        raise InputError(f"area must be 'step' with cause=: Aalen-Johansen is steps; got {area!r}")
    if dependence is not None:
        raise InputError("dependence goes with one kind of event; leave it out, or cause")
    time = np.where(y.event & (y.cause != code), tau, np.minimum(y.time, tau))
    return CauseTimes(code, y.causes[code - 1], time)


class CauseLaw(ResidualLaw):
    """Law of the time free of one cause, given no event of any cause by c.

    Parameters
    ----------
    atoms : ndarray of shape (K,) or Places
        Times at which events of any cause happen, rising.
    survival : ndarray of shape (K + 1,) or (n, K + 1)
        Probability of no event before the first of them and after each; of all subjects, or of
        each.
    own : ndarray of shape (K,) or (n, K)
        Probability of an event of the cause at each of them.
    stop : float
        The horizon.
    """

    by_cause = True

    def __init__(self, atoms: Floats | Places, survival: Floats, own: Floats, stop: float) -> None:
        super().__init__(atoms, survival, np.inf, "hold", stop)
        self._own = np.where(self.atoms < stop, own, 0.0)
        self.share = np.minimum(self._own.sum(axis=-1), 1.0)

    @classmethod
    def of_set(cls, reference: Reference, code: int) -> CauseLaw:
        """Return Aalen-Johansen of the reference set as the law of all subjects, made once."""

        def build() -> CauseLaw:
            check_follow_up(reference)
            atoms, survival = reference.law()
            own = own_hazards(reference, code) * survival[:-1]
            return cls(atoms, survival, own, reference.stop)

        found: CauseLaw = reference.cached((CauseLaw, code), build)
        return found

    @classmethod
    def of_incidence(cls, curves: IncidenceCurves, code: int, stop: float) -> CauseLaw:
        """Return a law per subject on the grid of the curves, with atoms as in `of_curves`."""
        times, n = curves.times, len(curves)
        if curves.interpolation != "step":
            times = (np.concatenate(([0.0], times[:-1])) + times) / 2
        free = 1.0 - curves.values.sum(axis=1, dtype=np.float64)
        # A horizon just past the end of the curves is met by them.
        end = np.nextafter(curves.times[-1], np.inf) if times.size else np.inf
        if end < stop and (free[:, -1] > 1e-9).any():
            raise UndefinedMetricError(
                f"conditional: the incidence ends at {curves.times[-1]:g}, before the horizon tau "
                f"({stop:g}); give incidence curves up to tau, or an earlier tau"
            )
        survival, own = np.ones((n, times.size + 1)), np.empty((n, times.size))
        # Sums of several causes round: what is left of a law that is over would be noise.
        survival[:, 1:] = np.where(free > 1e-12, free, 0.0)
        own[:, 0] = curves.values[:, code - 1, 0]
        own[:, 1:] = np.diff(curves.values[:, code - 1].astype(np.float64), axis=1)
        return cls(np.minimum(times, stop), survival, own, stop)

    def _ahead(self, name: str) -> Floats:
        """Integrals of f over the events of the cause past u_j, j = 0..K."""
        known = self._sums.get(name)
        if known is None:
            steps = value_of(name, np.minimum(self.atoms, self.stop)) * self._own
            known = np.zeros(self._survival.shape)
            np.cumsum(steps[..., ::-1], axis=-1, out=known[..., -2::-1])
            self._sums[name] = known  # complete: other threads may share the law
        return known

    def alive(self, x: Floats, j: Ints) -> Floats:
        """Probability of no event of any cause at x, one x and j a subject."""
        return read(self._survival, j)

    def alive_table(self, x: Floats) -> Floats:
        """Probability of no event of any cause at common times x: (V,), or (n, V) by subject."""
        return columns(self._survival, self.places(x))

    def expected(
        self,
        loss: Loss,
        c: Floats,
        p: Floats,
        j: Ints,
        known: dict[str, Floats] | None = None,
        places: Ints | None = None,
    ) -> Floats:
        """E[loss of the time free of the cause given no event by c].

        Where the law is over by c, the event comes at c; it is of the cause with the probability
        of this cause at the end.
        """
        known = {} if known is None else known
        total = self._integral(loss, c, p, j, known, places)
        if "alive" not in known:
            known["alive"] = self.alive(c, j)
        alive, at_stop = known["alive"], loss.of(np.asarray(self.stop), p)
        total -= at_stop * known["1"]
        with np.errstate(divide="ignore", invalid="ignore"):
            total /= alive
        total += at_stop
        # Rounding may leave a hair below zero where the loss is zero.
        np.maximum(total, 0.0, out=total)
        over = self.over(c, alive)
        if over.any():
            at_once = at_stop + self.share * (loss.of(c, p) - at_stop)
            total[over] = at_once[over]
        return total

    def mean(self, c: Floats, j: Ints) -> Floats:
        """E[time free of the cause given no event by c]."""
        alive = self.alive(c, j)
        lost = self.stop * self.above("1", c, j) - self.above("t", c, j)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.stop - lost / alive
        at_once = self.stop - self.share * (self.stop - c)
        return np.where(self.over(c, alive), at_once, np.maximum(value, c))


@dataclass(frozen=True)
class IncidenceLaw:
    """Law of each subject under competing risks: incidence curves, and the cause that counts."""

    curves: IncidenceCurves
    code: int

    def __getitem__(self, rows: slice | Ints) -> IncidenceLaw:
        return replace(self, curves=self.curves[rows])

    @property
    def times(self) -> Floats:
        """The grid."""
        return self.curves.times


def check_follow_up(reference: Reference) -> None:
    """Refuse a reference set that ends before the horizon: nothing says which cause comes then."""
    end, tau = reference.whole.last_time, reference.stop
    if end < tau and reference.whole.last_survival > 0:
        raise UndefinedMetricError(
            f"the reference set is followed up to {end:g} only, and tau is {tau:g}: which cause "
            f"comes in between is not known; give a tau of at most {end:g}"
        )


def own_hazards(reference: Reference, code: int) -> Floats:
    """d/n of a cause at the event times of any cause, up to the last of the set."""
    events, y = reference.law()[0], reference.going_on
    mine = y.cause == code
    weight = y.weight[mine] if y.weighted else None
    if not events.table.size:
        return np.empty(0)
    count = np.bincount(events.of(y.time[mine], "left"), weight, events.table.size)
    hazards: Floats = count / reference.whole.at_events()[0]
    return hazards
