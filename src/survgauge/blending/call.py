"""`conditional`: the law of the event time and of censoring given features, for test subjects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._tools.arrays import Floats, Ints
from .._tools.random import check_seed, stream
from ..data.curves import SurvivalCurves
from ..data.outcomes import Outcomes
from ..data.tails import TAILS
from ..errors import InputError, one_of
from ..reference.conditional import Conditional
from .beyond import continued
from .blend import FOLDS, Blend
from .features import matrices
from .laws import FEWEST_CENSORED, Choices, Laws, censoring_gain, learn, models_censoring
from .members import MEMBERS, chosen_members

#: Folds of the test set, each with laws that were fitted on the others.
CROSS_FIT_FOLDS = 5
FIT_ON = ("train", "test")
CENSORING = ("auto", "km", "model")
MIXED = "mixed"


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
    """Laws of the event time and of the censoring time given features, one per test subject.

    The law is a mixture of several learners: Kaplan-Meier, a Cox model with an l2 penalty, a random
    survival forest (extra ``sksurv``) and boosted trees (extra ``sklearn``). Its weights maximise
    the likelihood of outcomes that the learners were not fitted on (three folds). The censoring
    time gets such a mixture only where it predicts clearly better than Kaplan-Meier.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n, p) or frame
        Features of the training and the test subjects. Arrays hold numbers without gaps. Frames of
        pandas or polars may have gaps, text and categories, which are filled and encoded by what
        the rows show that the law is fitted on (extra ``sklearn``); columns are matched by name.
    y_train : outcomes
        Outcomes of the training subjects.
    y_test : outcomes, optional
        Outcomes of the test subjects, which allow to fit on them.
    fit_on : {None, "train", "test"}
        Whose outcomes the laws are fitted on. With "test" each fifth of the test set gets laws
        that were fitted on the other four, so that no subject's outcome enters its own curve:
        right for another site or period, to which a law of the training set does not carry over.
        By default "test" where `y_test` is given and the test set is the larger one.
    members : names, optional
        Some of ``km``, ``cox``, ``forest``, ``boosting``; by default all that are installed.
    censoring : {"auto", "km", "model"}
        Whether censoring is modelled: where the evidence says so, never, or always.
    tail : {"mixed", "linear", "exponential", "hold", "nan"}
        How the law goes on past the end of follow-up. "mixed": the mean of a straight line and of
        a Weibull that keeps the shape of the second half of the follow-up, on times of its own;
        the others as in `SurvivalCurves`.
    random_state : int
        Seed of folds, forest and trees.

    Returns
    -------
    Conditional
        `law` and `censoring` (None: Kaplan-Meier) for `mae(..., conditional=)` and
        `evaluate(..., conditional=)`; `how` tells members, weights and what was left out.

    Notes
    -----
    Curves are steps on about 100 times. At most 20,000 rows are used for fitting, drawn at random
    from more.

    References
    ----------
    Wolpert (1992), Stacked generalization, Neural Networks 5. Polley and van der Laan (2011),
    Super learning for right-censored data.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> time = rng.exponential(np.exp(X[:, 0]))
    >>> y = np.minimum(time, 3.0), time < 3.0
    >>> cond = conditional(X, y, [[-1.0, 0.0], [1.0, 0.0]], members=["km", "cox"])
    >>> early, late = cond.law.median()
    >>> bool(early < late)
    True
    >>> cond.how["members"]
    ['km', 'cox']
    """
    if fit_on is not None:
        one_of("fit_on", fit_on, FIT_ON)
    one_of("censoring", censoring, CENSORING)
    one_of("tail", tail, (MIXED, *TAILS))
    chosen, missing = chosen_members(members)
    choices = Choices(chosen, censoring, check_seed(random_state))
    train = _outcomes(X_train, y_train, "train")
    test = _outcomes(X_test, y_test, "test")
    where = fit_on or _default_side(train, test)
    X, given, argument = (
        (X_test, test, "y_test") if where == "test" else (X_train, train, "y_train")
    )
    y = _enough(X, given, argument)
    fitted, others, remarks = matrices(X, X_test, (argument.replace("y", "X"), "X_test"))
    if not others.shape[0]:
        raise InputError("X_test must have at least one row: laws are wanted for these subjects")
    if where == "test":
        parts = _cross_fitted(fitted, y, choices)
    else:
        parts = [(np.arange(others.shape[0]), learn(fitted, y, others, choices))]
    how = _account([laws for _, laws in parts], choices, missing)
    how |= {
        "folds": FOLDS,
        "remarks": remarks,
        "random_state": choices.seed,
        "fitted_on": where,
        "cross_fitted": where == "test",
        "subjects": y.count,
        "tail": tail,
        "follow_up": max(float(laws.law.grid.jumps[-1]) for _, laws in parts),
    }
    return _joined(parts, choices, tail, how)


def _outcomes(X: Any, y: Any, side: str) -> Outcomes | None:
    """Read the outcomes that belong to the rows of `X`."""
    if X is None:
        if side == "test":
            raise InputError("X_test must be given: laws are wanted for these subjects")
        return None
    if y is None:
        return None
    outcomes = Outcomes.of(y, f"y_{side}")
    rows = _length(X, f"X_{side}")
    if rows != len(outcomes):
        raise InputError(
            f"X_{side} must have one row per subject of y_{side}: {len(outcomes)}; got {rows}"
        )
    return outcomes


def _enough(X: Any, y: Outcomes | None, argument: str) -> Outcomes:
    """Return outcomes that a law can be fitted on; refuse others."""
    if X is None or y is None:
        missing = argument.replace("y", "X") if X is None else argument
        raise InputError(f"{missing} must be given: the laws are fitted on these subjects")
    present = y.weight > 0
    if present.sum() < FOLDS:
        raise InputError(
            f"{argument} must have at least {FOLDS} subjects to fit a law; got {present.sum()}"
        )
    if not y.event[present].any():
        raise InputError(f"{argument} must have at least one event to fit a law; got none")
    return y


def _default_side(train: Outcomes | None, test: Outcomes | None) -> str:
    """Say whose outcomes are fitted on: those of the larger set, where both are given."""
    if train is None and test is not None:
        return "test"
    return "test" if train is not None and test is not None and len(test) > len(train) else "train"


def _length(X: Any, argument: str) -> int:
    """Count the rows of an array, a frame or a mapping of columns."""
    try:
        return len(next(iter(X.values()))) if isinstance(X, Mapping) and X else len(X)
    except TypeError:
        raise InputError(
            f"{argument} must be an array or a frame with a row per subject; got {type(X).__name__}"
        ) from None


def _cross_fitted(X: Floats, y: Outcomes, choices: Choices) -> list[tuple[Ints, Laws]]:
    """Laws of each fold of the test set, learnt from the other folds."""
    if len(y) < CROSS_FIT_FOLDS:
        raise InputError(
            f"y_test must have at least {CROSS_FIT_FOLDS} subjects to fit on them; got {len(y)}"
        )
    # Folds are drawn without a look at the outcomes: otherwise a subject's own outcome would
    # decide which laws it gets.
    fold = stream(choices.seed, "blending", "cross-fit").permutation(len(y)) % CROSS_FIT_FOLDS
    parts = []
    for k in range(CROSS_FIT_FOLDS):
        rows, rest = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if not y.weight[rest].any():
            raise InputError("y_test must have subjects of positive weight in more than one fold")
        parts.append((rows, learn(X[rest], y[rest], X[rows], choices)))
    return parts


def _joined(
    parts: list[tuple[Ints, Laws]], choices: Choices, tail: str, how: dict[str, Any]
) -> Conditional:
    """Curves of all test subjects in their order."""
    everybody = [laws for _, laws in parts]
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    found = [(laws.law.grid.jumps, laws.curves) for laws in everybody]
    if tail == MIXED:
        shapes = [laws.shape for laws in everybody]
        found = [continued(*part, shape) for part, shape in zip(found, shapes, strict=True)]
    rule = "linear" if tail == MIXED else tail
    law = _curves(found, order, rule)
    censoring = None
    if models_censoring(everybody, choices):
        models = [(laws.censoring, laws.rows) for laws in everybody if laws.censoring is not None]
        # What is past the last censoring is not known to fall.
        censoring = _curves(
            [(blend.grid.jumps, blend.curves(rows)[0]) for blend, rows in models], order, "hold"
        )
    medians = [laws.medians(rule) for laws in everybody]
    shared = [name for name in medians[0] if all(name in part for part in medians)]
    members = {name: np.concatenate([part[name] for part in medians])[order] for name in shared}
    return Conditional(law, censoring, how, members)


def _curves(parts: list[tuple[Floats, Floats]], order: Ints, tail: str) -> SurvivalCurves:
    """Step curves of several folds on the times of all of them, in the order of the subjects.

    Where the times of a fold end before those of another, its curves go on by their tail: past the
    last of all times that is the same line, or the same hazard, as from their own last one.
    """
    grid = np.unique(np.concatenate([times for times, _ in parts]))
    rule = "hold" if tail == "nan" else tail
    curves = [SurvivalCurves(times, survival, "step", rule) for times, survival in parts]
    survival = np.concatenate([part.at(grid) for part in curves])
    return SurvivalCurves(grid, survival[order], "step", tail)


# -- what was done, in words and numbers, for the convention of every result --------------------


def _account(parts: list[Laws], choices: Choices, missing: dict[str, str]) -> dict[str, Any]:
    """Describe laws; with several folds, weights are means over them."""
    weights = _weights([laws.law for laws in parts])
    left_out = dict(missing)
    for laws in parts:
        left_out |= laws.law.left_out
    left_out = {name: reason for name, reason in left_out.items() if name not in weights}
    models = [laws.censoring for laws in parts if laws.censoring is not None]
    modelled = models_censoring(parts, choices)
    return {
        "law": _words(weights),
        "censoring": _words(_weights(models)) if modelled else "Kaplan-Meier",
        "members": list(weights),
        "weights": weights,
        "left_out": left_out,
        "censoring_weights": _weights(models) if modelled else {},
        "censoring_reason": _reason(parts, choices),
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


def _reason(parts: list[Laws], choices: Choices) -> str:
    """Say why censoring has a model, or none."""
    if choices.censoring == "km":
        return "Kaplan-Meier was asked for"
    found = censoring_gain(parts)
    if found is None:
        return f"fewer than {FEWEST_CENSORED} censored subjects: Kaplan-Meier"
    gain, error = found
    evidence = (
        f"gain over Kaplan-Meier in mean log-likelihood {gain:.4f}, standard error {error:.4f}"
    )
    if choices.censoring == "model":
        return f"a model was asked for; {evidence}"
    return evidence if models_censoring(parts, choices) else f"no clear gain by a model: {evidence}"
