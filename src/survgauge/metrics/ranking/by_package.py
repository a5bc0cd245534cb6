"""One model's C-index as each package would print it, and why the numbers differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..._tools.arrays import Floats, positive
from ..._tools.text import as_frame, columns, number
from ...data.outcomes import Outcomes
from ...data.predictions import Prediction
from ...errors import UndefinedMetricError
from .concordance import concordance_index, concordance_td


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
        Time after which pairs no longer count in the truncated forms; None: no such time.
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
        finite = [row.value for row in self.rows if np.isfinite(row.value)]
        return max(finite) - min(finite)

    def __str__(self) -> str:
        cells = [
            [row.package, row.call, number(row.value), f"{row.difference:+.4f}", row.why]
            for row in self.rows
        ]
        header = ["package", "call", "C", "difference", "what is counted otherwise"]
        return columns(header, cells, left=(0, 1, 4))


@dataclass(frozen=True)
class _Form:
    """A C-index of a package: how it is called, what is special, and our equal of it."""

    package: str
    call: str
    why: str
    #: What ranks subjects: "risk" up to tau, "risk, whole", "curves", or "incidence" at tau.
    by: str
    options: dict[str, Any] = field(default_factory=dict)

    def value(self, y: Outcomes, prediction: Prediction, y_train: Any, tau: float | None) -> float:
        """Return the number that the package prints."""
        if self.by == "curves":
            return concordance_td(y, prediction.curves, **self.options)
        options: dict[str, Any] = {"y_train": y_train, **self.options}
        if self.by == "risk, whole":
            return concordance_index(y, prediction.risk, **options)
        if self.by == "risk":
            return concordance_index(y, prediction.risk, tau=tau, **options)
        end = float(y.time.max()) if tau is None else tau
        risk: Floats = 1 - prediction.curves.at(end)  # type: ignore[union-attr]
        return concordance_index(y, risk, tau=end, convention="hazardous", **options)


#: One C-index of a package each; the first is that which others are compared with.
FORMS = [
    _Form(**row)
    for row in json.loads(Path(__file__).with_name("by_package.json").read_text(encoding="utf-8"))
]


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
    read = Prediction.of(prediction, len(y))
    given = y, read, y_train, tau
    ours = FORMS[0].value(*given)
    rows = []
    for form in FORMS:
        if form.by in ("curves", "incidence") and read.curves is None:
            continue
        value, why = float("nan"), form.why
        try:
            value = float(form.value(*given))
        except UndefinedMetricError as error:
            why = f"It has no value here: {error}."
        rows.append(PackageConcordance(form.package, form.call, value, value - float(ours), why))
    return ConcordanceByPackage(tuple(rows), tau)
