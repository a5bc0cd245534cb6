"""`conditional`: distributions of event and censoring times given covariates, for test subjects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..._tools.arrays import Floats
from ..._tools.random import check_seed, stream
from ...data.outcome_parts import refuse_entry
from ...data.outcomes import Outcomes
from ...errors import InputError, one_of
from ..conditional import Conditional
from .blend import FOLDS, Blend, LearningTask
from .distributions import TAIL_RULES, CensoringTimes, EventTimes
from .features import matrices
from .members import MEMBERS, chosen_members

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
        Whether censoring is modelled: where the evidence says so, never, or always.
    tail : {"mixed", "linear", "exponential", "hold", "nan"}
        How the distribution goes on past the end of follow-up. "mixed": the mean of a straight line
        and of a Weibull that keeps the shape of the second half of the follow-up, on times of its
        own; the others as in `SurvivalCurves`. Not read with several causes.
    random_state : int
        Seed of folds, forest and trees.

    Returns
    -------
    Conditional
        `distribution` (with several causes `incidence`) and `censoring` (None: Kaplan-Meier) for
        `mae(..., conditional=)` and `evaluate(..., conditional=)`; `how` tells members, weights and
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
    train, test = _outcomes(X_train, y_train, "train"), _outcomes(X_test, y_test, "test")
    where = fit_on or _default_side(train, test)
    for side, X, y in (("train", X_train, train), ("test", X_test, test)):
        if where in (side, "both"):
            _refuse_missing(X, y, side)
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


def _refuse_missing(X: Any, y: Outcomes | None, side: str) -> None:
    """Refuse a side that is to be fitted on and was not given."""
    if X is None or y is None:
        name = f"X_{side}" if X is None else f"y_{side}"
        raise InputError(f"{name} must be given: distributions are fitted on these subjects")


def _default_side(train: Outcomes | None, test: Outcomes | None) -> str:
    """Say whose outcomes are fitted on."""
    if test is None:
        return "train"
    return "test" if train is None or test.event_count >= ENOUGH_EVENTS else "both"


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
