"""`conditional`: distributions of event and censoring times given covariates, for test subjects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.frames import in_memory
from ..._tools.random import check_seed, stream
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.interpolation import TAILS, tail_survival
from ...data.outcome_parts import refuse_entry
from ...data.outcomes import Outcomes
from ...errors import InputError, one_of
from ..conditional import Conditional
from ..kaplan_meier import KaplanMeier
from .features import matrices
from .members import FOLDS, MEMBERS, Blend, Grid, LearningTask, Member, chosen_members

MIXED = "mixed"
TAIL_RULES = (MIXED, *TAILS)
#: Learners of the censoring time.
CENSORING_MEMBERS = ("km", "cox", "boosting")
#: Censorings below which the censoring time is not modelled.
FEWEST_CENSORED = 20
#: The censoring time is modelled where the likelihood out of fold exceeds Kaplan-Meier's by so many
#: standard errors.
CLEARLY = 2.0


@dataclass(frozen=True)
class EventTimes:
    """Distribution of the event time: a mixture for each cause."""

    #: One mixture, or one for the hazard of each cause, on the same grid.
    blends: tuple[Blend, ...]
    #: End of follow-up, and shape of the Weibull by which curves go on past it.
    last: float
    shape: float

    @classmethod
    def learn(cls, subjects: LearningTask, members: list[Member]) -> EventTimes:
        """Fit to subjects; with several causes to the hazard of each."""
        y = subjects.y
        first = y.any_cause()
        grid = Grid.of(first)
        if y.causes is None:
            blends = [Blend.fit(subjects, grid, members)]
        else:
            parts = [y.only(code) for code in range(1, len(y.causes) + 1)]
            # A cause without events has no hazard, which Kaplan-Meier says.
            blends = [
                Blend.fit(
                    subjects.with_outcomes(part),
                    grid,
                    members if part.event.any() else [MEMBERS["km"]],
                )
                for part in parts
            ]
        last = float(first.time.max())
        return cls(tuple(blends), last, late_shape(KaplanMeier.fit(first), last))

    def curves(self, tail: str) -> SurvivalCurves:
        """Return the curves of one kind of event."""
        blend = self.blends[0]
        times, survival = blend.grid.jumps, blend.curves
        if tail == MIXED:
            times, survival = continued(times, survival, self.shape)
        return SurvivalCurves(times, survival, "step", "linear" if tail == MIXED else tail)

    def incidence(self, causes: tuple[str, ...]) -> IncidenceCurves:
        r"""Return the incidence of every cause by the product of the cause-specific hazards.

        With h_k the hazard of cause k in a span, as its mixture says it, the probability of no
        event falls by 1 - \prod_k (1 - h_k), which the causes share in proportion to their hazards.
        """
        survival = np.stack([blend.curves for blend in self.blends], axis=1)
        before = np.concatenate((np.ones((*survival.shape[:2], 1)), survival[..., :-1]), axis=2)
        hazard = 1.0 - np.divide(survival, before, out=np.ones_like(before), where=before > 0)
        free = np.prod(survival, axis=1)
        fall = -np.diff(free, axis=1, prepend=1.0)
        total = hazard.sum(axis=1)
        share = np.divide(fall, total, out=np.zeros_like(fall), where=total > 0)
        values = np.minimum(np.cumsum(hazard * share[:, None], axis=2), 1.0)
        return IncidenceCurves(self.blends[0].grid.jumps, values, causes, "step")

    def medians(self, tail: str) -> dict[str, Floats]:
        """Return the median time of each subject by each learner, of one kind of event."""
        if len(self.blends) > 1:
            return {}
        blend, rule = self.blends[0], "linear" if tail == MIXED else tail
        return {
            name: SurvivalCurves(blend.grid.jumps, survival, "step", rule).median()
            for name, survival in zip(blend.names, blend.members, strict=True)
        }


@dataclass(frozen=True)
class CensoringTimes:
    """Distribution of the censoring time, where one was learnt."""

    blend: Blend | None
    asked: str

    @classmethod
    def learn(cls, subjects: LearningTask, asked: str) -> CensoringTimes:
        """Fit to the censorings, which events end.

        Times are coded by their order, an event just before a censoring at the same time, since
        events leave the risk set first; all learners look at the order of times only.
        """
        y = subjects.y.any_cause()
        if asked == "km" or (~y.event).sum() < FEWEST_CENSORED:
            return cls(None, asked)
        order = np.unique(y.time, return_inverse=True)[1].reshape(-1)
        weight = y.frequency
        coded = Outcomes(2.0 * order + ~y.event, ~y.event, weight)
        members = [MEMBERS[name] for name in CENSORING_MEMBERS if MEMBERS[name].is_here]
        return cls(Blend.fit(subjects.with_outcomes(coded), Grid.of(coded, y.time), members), asked)

    @property
    def modelled(self) -> bool:
        """Whether it is used: asked for, or clearly better than Kaplan-Meier."""
        if self.blend is None:
            return False
        gain, error = self.blend.gain()
        return self.asked == "model" or gain > CLEARLY * error

    def curves(self) -> SurvivalCurves | None:
        """Return the curves; None: Kaplan-Meier."""
        if self.blend is None or not self.modelled:
            return None
        # What is past the last censoring is not known to fall.
        return SurvivalCurves(self.blend.grid.jumps, self.blend.curves, "step", "hold")

    def reason(self) -> str:
        """Say why the censoring time is modelled, or not."""
        if self.asked == "km":
            return "Kaplan-Meier was asked for"
        if self.blend is None:
            return f"fewer than {FEWEST_CENSORED} censored subjects: Kaplan-Meier"
        gain, error = self.blend.gain()
        evidence = (
            f"gain over Kaplan-Meier in mean log-likelihood {gain:.4f}, standard error {error:.4f}"
        )
        if self.asked == "model":
            return f"a model was asked for; {evidence}"
        return evidence if self.modelled else f"no clear gain by a model: {evidence}"


#: Times past the end of follow-up, and how many follow-ups they reach.
POINTS, REACH = 30, 40.0
#: Shapes of a Weibull that are believed: a few late events can suggest any.
_SHAPES = 0.7, 3.0
_LEAST = 1e-12


def continued(times: Floats, survival: Floats, shape: float) -> tuple[Floats, Floats]:
    r"""Return step curves that go on past their last time T by the mean of two extrapolations.

    One is the straight line through (0, 1) and (T, S(T)), which ends soon. The other is the Weibull
    :math:`S(T)^{(t / T)^k}`. A line ends too early for distributions with long tails, an estimated
    shape too late for others; the mean of both was closer to the truth than either, and than
    constant hazards.

    The last of the `times` is the end of follow-up; `survival` has a row per curve, and `shape` is
    k, see `late_shape`.
    """
    last, s = times[-1], survival[:, -1]
    if not last > 0:
        return times, survival
    edges = last * np.geomspace(1.0, REACH, POINTS + 1)
    ratio = edges[1:] / last
    line = tail_survival(edges[1:], np.full((s.size, 1), last), s[:, None], "linear")
    hazard = -np.log(np.maximum(s, _LEAST))[:, None]
    weibull = np.exp(-hazard * ratio**shape)
    beyond = np.where(s[:, None] > 0, (line + weibull) / 2, 0.0)
    middle = (edges[1:] + edges[:-1]) / 2
    return np.concatenate((times, middle)), np.concatenate((survival, beyond), axis=1)


def late_shape(km: KaplanMeier, last: float) -> float:
    """Shape of the Weibull through Kaplan-Meier at the middle and the end of the follow-up.

    1, a constant hazard, where there were no events before the middle or none after it.
    """
    middle, end = -np.log(np.maximum(km.at(np.array([last / 2, last])), _LEAST))
    if not end > middle > 0:
        return 1.0
    return float(np.clip(np.log2(end / middle), *_SHAPES))


FIT_ON = ("train", "test", "both")
CENSORING = ("auto", "km", "model")
#: Events from which on the test subjects alone are fitted on.
ENOUGH_EVENTS = 100
#: Learners are fitted on so many rows at most, drawn at random from more.
MOST_ROWS = 20_000


def conditional(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    *,
    y_test: Any = None,
    fit_on: str | None = None,
    members: Iterable[str] | None = None,
    censoring: str = "auto",
    tail: str = "mixed",
    random_state: int | None = 0,
) -> Conditional:
    """Distributions of event and censoring times given covariates, one per test subject.

    Each is a mixture of several learners: Kaplan-Meier, a Cox model with an l2 penalty, a random
    survival forest (extra ``sksurv``) and boosted trees (extra ``sklearn``). Subjects are divided
    into five folds, and each fold is predicted by learners that were fitted on the others, so that
    no subject is predicted by learners that saw its outcome. Learners weigh in proportion to the
    likelihood of all outcomes under these predictions: those that are clearly worse than the best
    get no weight. The censoring time gets such a mixture (of Kaplan-Meier, Cox
    and boosted trees) only where it predicts clearly better than Kaplan-Meier.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n, p) or frame
        Covariates of the training and the test subjects. Arrays hold numbers without gaps. Frames
        of pandas or polars may have gaps, text and categories, which are filled and encoded by what
        the training rows show (with ``fit_on="test"`` the test rows; extra ``sklearn``); columns
        are matched by name.
    y_train : outcomes
        Outcomes of the training subjects; with causes, the incidence of every cause is learnt.
    y_test : outcomes, optional
        Outcomes of the test subjects, needed to fit on them.
    fit_on : {None, "train", "test", "both"}
        Whose outcomes the distributions of the event time are fitted on. "test" is fair to every
        model: none was fitted on the same data, and a distribution of the test site or period is
        learnt. "both" adds the training subjects, which favours models that were fitted on them a
        little. By default "test" where `y_test` has at least 100 events, "both" where it has fewer,
        and "train" where it is not given. Censoring is learnt from the test subjects wherever
        `y_test` is given.
    members : names, optional
        Some of ``km``, ``cox``, ``forest``, ``boosting``; by default all that are installed.
    censoring : {"auto", "km", "model"}
        Whether censoring is modelled: if the data favour it, never, or always.
    tail : {"mixed", "linear", "exponential", "hold", "nan"}
        How the distribution is extended beyond follow-up. "mixed": the mean of a straight line
        and of a Weibull that keeps the shape of the second half of the follow-up, on times of its
        own; the others as in `SurvivalCurves`. Not read with several causes.
    random_state : int
        Seed of folds, forest and trees.

    Returns
    -------
    Conditional
        `distribution` (with several causes `incidence`) and `censoring` (None: Kaplan-Meier) for
        `mae(..., conditional=)` and `evaluate(..., conditional=)`; `how` has members, weights and
        what was left out.

    Notes
    -----
    Curves are steps on about 100 times. At most 20,000 rows are used for fitting, drawn at random
    from more. Delayed entry is refused: the learners do not take it.

    References
    ----------
    Wolpert (1992), Stacked generalization, Neural Networks 5. Polley and van der Laan (2011),
    Super learning for right-censored data. Chernozhukov et al. (2018), Econometrics Journal 21
    (cross-fitting).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> time = rng.exponential(np.exp(X[:, 0]))
    >>> y = np.minimum(time, 3.0), time < 3.0
    >>> cond = conditional(X, y, [[-1.0, 0.0], [1.0, 0.0]], members=["km", "cox"])
    >>> early, late = cond.distribution.median()
    >>> bool(early < late)
    True
    >>> cond.how["members"]
    ['km', 'cox']
    """
    if fit_on is not None:
        one_of("fit_on", fit_on, FIT_ON)
    one_of("censoring", censoring, CENSORING)
    one_of("tail", tail, TAIL_RULES)
    chosen, missing = chosen_members(members)
    seed = check_seed(random_state)
    X_train, X_test = in_memory(X_train, "X_train"), in_memory(X_test, "X_test")
    train, test = _outcomes(X_train, y_train, "train"), _outcomes(X_test, y_test, "test")
    where = fit_on or "both"
    if fit_on is None and (test is None or train is None or test.event_count >= ENOUGH_EVENTS):
        where = "train" if test is None else "test"
    for side, X, y in (("train", X_train, train), ("test", X_test, test)):
        if where in (side, "both") and (X is None or y is None):
            name = f"X_{side}" if X is None else f"y_{side}"
            raise InputError(f"{name} must be given: distributions are fitted on these subjects")
    encoded_by = (X_test, "X_test") if where == "test" else (X_train, "X_train")
    first, wanted, notes = matrices(encoded_by[0], X_test, (encoded_by[1], "X_test"))
    if not wanted.shape[0]:
        raise InputError(
            "X_test must have at least one row: distributions are wanted for these subjects"
        )
    tested = {} if test is None else {"y_test": (wanted, test)}
    trained = {} if train is None else {"y_train": (first, train)}
    parts = {"test": tested, "train": trained, "both": tested | trained}[where]
    subjects = _subjects(parts, wanted, seed)
    observed = subjects if where == "test" or not tested else _subjects(tested, wanted, seed)
    events = EventTimes.learn(subjects, chosen)
    censored = CensoringTimes.learn(observed, censoring)
    how = _account(events, censored, missing) | {
        "folds": FOLDS,
        "notes": notes,
        "random_state": seed,
        "fitted_on": where,
        "cross_fitted": where != "train",
        "subjects": sum(y.count for _, y in parts.values()),
        "tail": tail,
        "follow_up": events.last,
    }
    causes = subjects.y.causes
    if causes is not None:
        return Conditional(None, censored.curves(), how, incidence=events.incidence(causes))
    return Conditional(events.curves(tail), censored.curves(), how, events.medians(tail))


def _outcomes(X: Any, y: Any, side: str) -> Outcomes | None:
    """Read the outcomes that belong to the rows of `X`."""
    if X is None:
        if side == "test":
            raise InputError("X_test must be given: distributions are wanted for these subjects")
        return None
    if y is None:
        return None
    several = isinstance(y, Outcomes) and y.causes is not None
    outcomes = Outcomes.of(y, f"y_{side}", causes=several or None, entry=True)
    refuse_entry(outcomes.entry, f"y_{side}")
    rows = _length(X, f"X_{side}")
    if rows != len(outcomes):
        raise InputError(
            f"X_{side} must have one row per subject of y_{side}: {len(outcomes)}; got {rows}"
        )
    return outcomes


def _length(X: Any, argument: str) -> int:
    """Count the rows of an array, a frame or a mapping of columns."""
    try:
        return len(next(iter(X.values()))) if isinstance(X, Mapping) and X else len(X)
    except TypeError:
        raise InputError(
            f"{argument} must be an array or a frame with a row per subject; got {type(X).__name__}"
        ) from None


def _subjects(parts: dict[str, tuple[Floats, Outcomes]], wanted: Floats, seed: int) -> LearningTask:
    """Put together whom learners are fitted on, by the argument that their outcomes came from.

    Subjects of weight 0 are not fitted on.
    """
    names = " and ".join(parts)
    X = np.concatenate([X for X, _ in parts.values()])
    every = [y for _, y in parts.values()]
    y = every[0] if len(every) == 1 else Outcomes.joined(every)
    kept = np.flatnonzero(y.weight > 0)
    if kept.size < FOLDS:
        raise InputError(
            f"{names} must have at least {FOLDS} subjects to fit distributions; got {kept.size}"
        )
    if not y.event[kept].any():
        raise InputError(f"{names} must have at least one event to fit distributions; got none")
    if kept.size > MOST_ROWS:
        draw = stream(seed, "blending", "rows")
        kept = np.sort(draw.choice(kept, MOST_ROWS, replace=False))
    place = np.full(wanted.shape[0], -1)
    if "y_test" in parts:  # they come first
        mine = kept[kept < wanted.shape[0]]
        place[mine] = np.arange(mine.size)
    return LearningTask(X[kept], y[kept], wanted, place, seed)


# -- what was done, in words and numbers, for the convention of every result --------------------


def _account(
    events: EventTimes, censored: CensoringTimes, missing: dict[str, str]
) -> dict[str, Any]:
    """Describe distributions; with several causes, weights are means over them."""
    weights = _weights(list(events.blends))
    left_out = dict(missing)
    for blend in events.blends:
        left_out |= blend.left_out
    models = [censored.blend] if censored.modelled and censored.blend is not None else []
    return {
        "distribution": _words(weights),
        "censoring": _words(_weights(models)) if models else "Kaplan-Meier",
        "members": list(weights),
        "weights": weights,
        "left_out": {name: why for name, why in left_out.items() if name not in weights},
        "censoring_weights": _weights(models),
        "censoring_reason": censored.reason(),
    }


def _weights(blends: list[Blend]) -> dict[str, float]:
    """Mean weight of each member, in the order in which members are told."""
    found = [dict(zip(blend.names, blend.weights.tolist(), strict=True)) for blend in blends]
    names = [name for name in MEMBERS if any(name in weights for weights in found)]
    return {name: float(np.mean([w.get(name, 0.0) for w in found])) for name in names}


def _words(weights: dict[str, float]) -> str:
    """Say what a mixture is made of."""
    if len(weights) == 1:
        return MEMBERS[next(iter(weights))].title
    shares = [f"{MEMBERS[name].title} {share:.0%}" for name, share in weights.items()]
    return f"blend of {', '.join(shares)}"
