"""One model's C-index as each package would print it, and why the numbers differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, positive
from ..._tools.plain import as_frame
from ..._tools.text_tables import columns, number
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from .concordance_td import concordance_td
from .discrimination import concordance_index


@dataclass(frozen=True)
class PackageConcordance:
    """One C-index of one package.

    Attributes
    ----------
    package, call : str
        The package, and the call that prints this number.
    value : float
        What it prints; NaN where it has none, and `why` says the reason.
    difference : float
        From Harrell's C of survgauge.
    why : str
        What is counted otherwise than there.
    """

    package: str
    call: str
    value: float
    difference: float
    why: str


@dataclass(frozen=True)
class ConcordanceByPackage:
    """Result of `concordance_by_package`: iterate over its rows, print it, or take `frame()`.

    Attributes
    ----------
    rows : tuple of PackageConcordance
        One number of one package each.
    tau : float or None
        Where pairs stop to count in the truncated forms; None: nowhere.
    """

    rows: tuple[PackageConcordance, ...]
    tau: float | None

    def __iter__(self) -> Iterator[PackageConcordance]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def frame(self) -> Any:
        """Return the rows as a pandas frame."""
        return as_frame([dict(row.__dict__) for row in self.rows])

    @property
    def spread(self) -> float:
        """Largest less smallest of the numbers."""
        known = [row.value for row in self.rows if np.isfinite(row.value)]
        return max(known) - min(known)

    def __str__(self) -> str:
        cells = [
            [row.package, row.call, number(row.value), f"{row.difference:+.4f}", row.why]
            for row in self.rows
        ]
        header = ["package", "call", "C", "difference", "what is counted otherwise"]
        return columns(header, cells, left=(0, 1, 4))


@dataclass(frozen=True)
class _Asked:
    """Outcomes and one prediction, as all forms take them."""

    y: Outcomes
    prediction: Prediction
    y_train: Any
    tau: float | None

    @property
    def options(self) -> dict[str, Any]:
        return {"y_train": self.y_train, "tau": self.tau}

    def by_risk(self, **options: Any) -> float:
        return concordance_index(self.y, self.prediction.risk, **self.options, **options)

    def untruncated(self, **options: Any) -> float:
        return concordance_index(self.y, self.prediction.risk, y_train=self.y_train, **options)

    def by_curves(self, **options: Any) -> float:
        return concordance_td(self.y, self.prediction.curves, **options)

    def by_incidence(self, method: str) -> float:
        """Rank by the predicted incidence at tau, which is 1 - S(tau)."""
        curves = self.prediction.curves
        end = float(self.y.time.max()) if self.tau is None else self.tau
        risk: Floats = 1 - curves.at(end)  # type: ignore[union-attr]
        options = {"y_train": self.y_train, "tau": end, "convention": "hazardous"}
        return concordance_index(self.y, risk, method=method, **options)


@dataclass(frozen=True)
class _Form:
    """A C-index of a package: how it is called, what is special, and our equal of it."""

    package: str
    call: str
    why: str
    value: Callable[[_Asked], float] = field(repr=False)
    needs_curves: bool = False


def _risk(**options: Any) -> Callable[[_Asked], float]:
    return partial(_Asked.by_risk, **options)


def _whole(**options: Any) -> Callable[[_Asked], float]:
    return partial(_Asked.untruncated, **options)


def _curves(**options: Any) -> Callable[[_Asked], float]:
    return partial(_Asked.by_curves, **options)


_SAME = "The same pairs; equal risks count one half."
_ROUNDED = "Risks closer than 1e-8 are tied."
_TRAIN = "Anchors weigh 1/G(t)^2 with G of the training set, at the event instead of before it."

FORMS = (
    _Form("survgauge", "harrell", "The reference of this table.", _whole()),
    _Form(
        "survgauge",
        "uno",
        "Anchors weigh 1/G(t-)^2 with G of the test subjects, and lie before tau.",
        _risk(method="uno"),
    ),
    _Form(
        "survgauge",
        "antolini",
        "Subjects are ranked by their survival at the time of each event, not by one number.",
        _curves(),
        needs_curves=True,
    ),
    _Form("lifelines", "concordance_index(time, predicted, event)", _SAME, _whole()),
    _Form("R survival", "concordance(Surv(time, event) ~ predicted)", _SAME, _whole()),
    _Form(
        "R survival",
        'concordance(..., timewt = "n/G2")',
        "Anchors weigh 1/G(t-)^2 with G of the test subjects.",
        _risk(method="uno", censoring="test"),
    ),
    _Form(
        "scikit-survival",
        "concordance_index_censored",
        _ROUNDED,
        _whole(convention="sksurv"),
    ),
    _Form(
        "scikit-survival",
        "concordance_index_ipcw(..., tau)",
        f"{_TRAIN} {_ROUNDED}",
        _risk(method="uno", convention="sksurv"),
    ),
    _Form("torchsurv", "ConcordanceIndex()", _ROUNDED, _whole(convention="torchsurv")),
    _Form(
        "torchsurv",
        "ConcordanceIndex()(..., weight=get_ipcw(...))",
        f"{_TRAIN} {_ROUNDED}",
        _risk(method="uno", convention="torchsurv"),
    ),
    _Form(
        "SurvivalEVAL",
        'concordance(method="Harrell")',
        _ROUNDED,
        _whole(convention="survivaleval"),
    ),
    _Form(
        "SurvivalEVAL",
        'concordance(method="Harrell", ties="All")',
        "Pairs of two events at one time count one half as well.",
        _whole(convention="survivaleval", ties="all"),
    ),
    _Form(
        "SurvivalEVAL",
        'concordance(method="Uno")',
        "Anchors weigh 1/G(t-)^2 with G of the training set.",
        _risk(method="uno", convention="survivaleval"),
    ),
    _Form(
        "SurvivalEVAL",
        'concordance(method="Margin")',
        "Censored subjects count as events at their margin times, with a weight.",
        _whole(method="margin", convention="survivaleval"),
    ),
    _Form(
        "pycox",
        'concordance_td("antolini")',
        "Curves are read as steps, and pairs with equal survival at the event count nothing.",
        _curves(convention="pycox"),
        needs_curves=True,
    ),
    _Form(
        "pycox",
        'concordance_td("adj_antolini")',
        "Curves are read as steps; equal survival counts one half, and so do events at one time.",
        _curves(convention="pycox", ties="adjusted"),
        needs_curves=True,
    ),
    _Form(
        "hazardous",
        "concordance_index_incidence(..., ipcw_estimator=None)",
        "Subjects are ranked by the predicted incidence at tau, and anchors at tau count.",
        partial(_Asked.by_incidence, method="harrell"),
        needs_curves=True,
    ),
    _Form(
        "hazardous",
        'concordance_index_incidence(..., ipcw_estimator="km")',
        "As before, and anchors weigh 1/G(t)^2 with G of the training set, at least 0.05.",
        partial(_Asked.by_incidence, method="uno"),
        needs_curves=True,
    ),
)


def concordance_by_package(
    y_true: Any, prediction: Any, *, y_train: Any = None, tau: float | None = None
) -> ConcordanceByPackage:
    """C-index of one model under the convention of each package, with the reason it differs.

    "The C-index is 0.71" leaves open which pairs were compared and how ties, tau and the weights of
    censoring were taken. This table has the number that each package prints for the same
    predictions. The packages themselves are not needed: their conventions are presets of
    `Convention`, which tests compare with the packages.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    prediction : curves, times or RiskScores
        Predictions of one model, as for `evaluate`. From curves the risk is minus the median time
        where a package ranks by one number. Packages that rank by curves get no row where there
        are none.
    y_train : outcomes, optional
        Training outcomes, from which most packages estimate G; by default the test outcomes.
    tau : float, optional
        Where the truncated forms (Uno's C and the like) stop.

    Returns
    -------
    ConcordanceByPackage
        Rows with package, call, value, difference from Harrell's C and the reason; `frame()` and
        `print` show them.

    References
    ----------
    "The C-index Multiverse" (2025), arXiv 2508.14821.

    Examples
    --------
    >>> curves = ([0, 5, 10], [[1, 0.5, 0.1], [1, 0.8, 0.4], [1, 0.7, 0.5], [1, 0.6, 0.1]])
    >>> found = concordance_by_package(([2, 4, 6, 6], [1, 1, 1, 0]), curves)
    >>> {row.call: round(row.value, 3) for row in found if row.package == "survgauge"}
    {'harrell': 0.667, 'uno': 0.667, 'antolini': 0.5}
    """
    y = Outcomes.of(y_true, "y_true")
    tau = None if tau is None else positive(tau, "tau")
    if y_train is not None:
        y_train = Outcomes.of(y_train, "y_train")
    asked = _Asked(y, Prediction.of(prediction, len(y)), y_train, tau)
    ours = FORMS[0].value(asked)
    rows = []
    for form in FORMS:
        if form.needs_curves and asked.prediction.curves is None:
            continue
        value, why = float("nan"), form.why
        try:
            value = form.value(asked)
        except UndefinedMetricError as error:
            why = f"It has no value here: {error}."
        rows.append(PackageConcordance(form.package, form.call, value, value - ours, why))
    return ConcordanceByPackage(tuple(rows), tau)
