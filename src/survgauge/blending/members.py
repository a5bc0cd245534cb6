"""The learners that a blend is made of: each gives survival probabilities on a shared grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.extras import installed
from ..data.outcomes import Outcomes
from ..errors import InputError, as_names, one_of
from ..models.errors import ModelError
from ..models.registry import build
from ..reference.cox import CoxModel
from ..reference.kaplan_meier import KaplanMeier
from .grid import Grid

#: Survival probabilities of rows at the edges of the grid: (n, m).
Predict = Callable[[Floats], Floats]

#: What a learner raises on data that it cannot be fitted on: it is then left out of the blend.
UNFIT = (InputError, ModelError)


@dataclass(frozen=True)
class Member:
    """A learner of the blend."""

    #: Name in `members=`, and words for people.
    name: str
    title: str
    #: (X, y, grid, seed) to a function of rows.
    fit: Callable[[Floats, Outcomes, Grid, int], Predict]
    #: Packages without which it is left out.
    needs: tuple[str, ...] = ()
    #: Extra of this package that brings them.
    extra: str = ""
    #: Whether it reads the features.
    features: bool = True

    @property
    def is_here(self) -> bool:
        """Whether the packages that it needs are installed."""
        return all(map(installed, self.needs))


#: l2 penalty on standardised coefficients, per column and event, and the least: hardly felt with
#: hundreds of events and few columns, and steady with few events or many columns.
COX_PENALTY, LEAST_PENALTY = 20.0, 1.0
FOREST = {"n_estimators": 50, "min_samples_leaf": 15, "memory": None}
BOOSTING = {"n_estimators": 50, "learning_rate": 0.1, "max_depth": 3, "min_samples_leaf": 10}
#: Quantiles between which trees cannot tell the values of a feature apart.
_LEVELS = np.arange(1, 16) / 16


def _kaplan_meier(X: Floats, y: Outcomes, grid: Grid, seed: int) -> Predict:
    survival = KaplanMeier.fit(y).at(grid.edges)
    return lambda rows: np.broadcast_to(survival, (rows.shape[0], survival.size))


def _cox(X: Floats, y: Outcomes, grid: Grid, seed: int) -> Predict:
    columns_per_event = X.shape[1] / max(float(y.weight[y.event].sum()), 1.0)
    model = CoxModel.fit(X, y, max(LEAST_PENALTY, COX_PENALTY * columns_per_event))
    return lambda rows: model.survival(rows, grid.edges)


def _trees(name: str, settings: dict[str, Any]) -> Callable[..., Predict]:
    """Fit a model of trees, on features and times of few levels: a tree tries every one."""

    def fit(X: Floats, y: Outcomes, grid: Grid, seed: int) -> Predict:
        cuts = [np.unique(np.quantile(column, _LEVELS, method="lower")) for column in X.T]

        def levels(rows: Floats) -> Floats:
            columns = [cut.searchsorted(c) for cut, c in zip(cuts, rows.T, strict=True)]
            return np.stack(columns, axis=1).astype(np.float64)

        model = build(name, random_state=seed % 2**31, **settings)
        model.fit(levels(X), grid.rounded(y))
        return lambda rows: model.predict_curves(levels(rows)).at(grid.edges)

    return fit


#: All members by name, in the order in which they are told.
MEMBERS = {
    member.name: member
    for member in (
        Member("km", "Kaplan-Meier", _kaplan_meier, features=False),
        Member("cox", "ridge Cox", _cox),
        Member(
            "forest", "random survival forest", _trees("rsf", FOREST),
            needs=("sklearn", "sksurv"), extra="sksurv",
        ),
        Member(
            "boosting", "boosted trees", _trees("gbm_tree", BOOSTING),
            needs=("sklearn",), extra="sklearn",
        ),
    )
}  # fmt: skip


def chosen_members(names: Iterable[str] | None) -> tuple[list[Member], dict[str, str]]:
    """Members by name, or all that are installed; and what was left out, with the reason."""
    if names is None:
        here = [member for member in MEMBERS.values() if member.is_here]
        missing = [member for member in MEMBERS.values() if not member.is_here]
        return here, {m.name: f"needs the extra {m.extra!r}" for m in missing}
    given = as_names([names] if isinstance(names, str) else names, "members")
    for name in given:
        one_of("members", name, MEMBERS)
    if not given:
        raise InputError(f"members must name at least one of {', '.join(MEMBERS)}; got none")
    absent = [name for name in given if not MEMBERS[name].is_here]
    if absent:
        member = MEMBERS[absent[0]]
        raise InputError(
            f"members: {member.name!r} needs an extra: pip install 'survgauge[{member.extra}]'"
        )
    return [MEMBERS[name] for name in dict.fromkeys(given)], {}
