"""Concordance: how often the one predicted to be first is first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tools.arrays import Floats, vector
from ...data.curves import SurvivalCurves
from ...data.incidence import IncidenceCurves
from ...data.predictions import RiskScores
from ...errors import InputError, UndefinedMetricError, numbered, one_of
from ...reference.surrogates import make_setting, margin
from ..conventions import Convention
from ..details import Details
from ._concordance import METHODS, Question, as_close_as, make_question
from ._entered_pairs import count_by_risk
from ._pairs import pair_counts
from ._tally import counts_events, tally_counts, tally_events
from .concordance_td import concordance_td, concordance_td_details

__all__ = [
    "concordance_index",
    "concordance_index_details",
    "concordance_td",
    "concordance_td_details",
]


def checked_risk(risk: Any, n: int) -> Floats:
    """One risk per subject; infinite ones are ranks like others, NaN is none."""
    if isinstance(risk, SurvivalCurves):
        raise InputError(
            "risk must be one number per subject; got SurvivalCurves: pass -curves.median() or "
            "1 - curves.at(t) (concordance_td ranks whole curves)"
        )
    if isinstance(risk, IncidenceCurves):
        raise InputError(
            "risk must be one number per subject; got IncidenceCurves: pass curves.at(t, cause)"
        )
    given = risk.values if isinstance(risk, RiskScores) else risk
    values = vector(given, "risk", length=n, like="y_true", finite=False)
    unknown = np.isnan(values)
    if unknown.any():
        raise InputError(f"risk must not be NaN; it is for {numbered(np.flatnonzero(unknown))}")
    return values


def concordance_of(y_true: Any, risk: Any, method: str, partners: bool, **options: Any) -> Details:
    """`concordance_index_details`, where the weights of the subjects may be known.

    Without `partners` there are no contributions.
    """
    one_of("method", method, METHODS)
    question = make_question(y_true, method=method, **options)
    values = as_close_as(question.convention.risk_tolerance, checked_risk(risk, len(question.y)))
    if method == "margin":
        return _margin(question, values, partners)
    if question.competes is not None:
        return question.details(question.competing(values, question.competes))
    if question.weights.by_difference:
        return question.details(question.difference(values, details=partners))
    if question.by_entry:
        return question.details(question.entered(count_by_risk(values, partners)))
    if question.subject_g:
        counts = question.subject_counts(values)
    else:
        counts = pair_counts(
            question.y.time,
            question.anchor,
            values,
            anchor_weight=question.anchor_weight,
            weight=question.mass,
            partners=partners,
            order=question.y.order(),
        )
    tally = question.tally(counts, lambda: values)
    del counts
    return question.details(tally)


def _margin(question: Question, risk: Floats, partners: bool) -> Details:
    """Everybody is an event: at its time, or at its margin time with its confidence as weight."""
    y, reference, ties = question.y, question.weights.reference, question.ties
    if not reference.y.event.any():
        raise UndefinedMetricError("method 'margin' needs events in the reference set; it has none")
    convention = question.convention
    guess = margin(make_setting(y, reference, area=convention.margin_area))
    # Times that are equal on paper must not be ordered by rounding errors (trapezoids are).
    steps = convention.margin_area == "step"
    best = _twelve_digits(guess.time) if steps else guess.time
    # Somebody censored at t is later than an event at t, also where Kaplan-Meier has ended.
    time = np.where(y.event, y.time, np.maximum(best, np.nextafter(y.time, np.inf)))
    first = question.before_tau(time)
    mass = guess.weight if question.mass is None else guess.weight * question.mass
    tally = tally_counts(pair_counts(time, first, risk, weight=mass, partners=partners), ties)
    if counts_events(ties):
        unit = guess.weight if question.unit is None else guess.weight * question.unit
        tally += tally_events(time, first, None, mass, unit)
    whole_pairs = convention.margin_pairs == "seen_whole"
    if whole_pairs:
        # Pairs whose order was seen are trusted fully, and the others weighted only.
        seen = (y.time, question.anchor, risk)
        whole = pair_counts(*seen, weight=question.mass, partners=partners)
        part = pair_counts(*seen, weight=mass, partners=partners)
        tally = tally + tally_counts(whole, ties) - tally_counts(part, ties)
    details = question.details(
        tally,
        area=convention.margin_area,
        tail="linear",
        reference="test outcomes" if question.weights.in_sample else "training outcomes",
        pairs="product of confidences" + (", 1 where the order was seen" if whole_pairs else ""),
    )
    details.support["censored"] = int((~y.event).sum())
    return details


def _twelve_digits(values: Floats) -> Floats:
    """Round positive numbers to twelve significant digits.

    >>> _twelve_digits(np.array([6 - 1e-15, 1 / 3, 0.0]))
    array([6.        , 0.33333333, 0.        ])
    """
    with np.errstate(divide="ignore", over="ignore"):
        scale = 10.0 ** (11.0 - np.floor(np.log10(values)))
    usable = np.isfinite(scale) & (scale > 0)
    scale = np.where(usable, scale, 1.0)
    return np.where(usable, np.rint(values * scale) / scale, values)


def concordance_index_details(
    y_true: Any,
    risk: Any,
    *,
    method: str = "harrell",
    y_train: Any = None,
    tau: float | None = None,
    ties: str | None = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    sample_weight: Any = None,
    dependence: Any = None,
    cause: int | str | None = None,
) -> Details:
    """`concordance_index` with its convention, support and standard error.

    The contributions include those through a G estimated from the same subjects; the margin times
    are taken as given.

    Parameters
    ----------
    y_true, risk, method, y_train, tau, ties, convention, censoring, sample_weight
        As for `concordance_index`.
    dependence, cause
        As for `concordance_index`.

    Examples
    --------
    >>> d = concordance_index_details(([2, 4, 6, 8], [1, 1, 0, 1]), [4, 3, 1, 2], method="uno")
    >>> d.value, d.convention["anchor_weight"], d.support["notes"]
    (1.0, '1/G^2', {})
    """
    options = {
        "y_train": y_train, "tau": tau, "ties": ties, "convention": convention,
        "censoring": censoring, "sample_weight": sample_weight, "dependence": dependence,
        "cause": cause,
    }  # fmt: skip
    return concordance_of(y_true, risk, method, True, **options)


def concordance_index(
    y_true: Any,
    risk: Any,
    *,
    method: str = "harrell",
    y_train: Any = None,
    tau: float | None = None,
    ties: str | None = None,
    convention: str | Convention | None = None,
    censoring: Any = None,
    sample_weight: Any = None,
    dependence: Any = None,
    cause: int | str | None = None,
) -> float:
    r"""Share of the comparable pairs that a risk puts in the right order.

    .. math::
        C = \frac{\sum_{i,j} a_i\, [1(r_i > r_j) + \tfrac12 1(r_i = r_j)]}{\sum_{i,j} a_i}

    over pairs of an event i before `tau` (the anchor) and somebody j observed longer: t_i < t_j, or
    t_i = t_j and j censored. Two events at one time are not comparable.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    risk : array-like of shape (n,)
        Higher means earlier; for predicted times pass their negative. Infinite values are ranked
        like others. Only equal values are tied; under the presets of packages that tie values
        closer than 1e-8 (scikit-survival, torchsurv, SurvivalEVAL, hazardous) they are rounded.
    method : {"harrell", "uno", "margin"}
        a = 1; a = 1/G(t_i-)^2; or Harrell's with every censored subject an event at its margin time
        (`surrogate_times`), pairs weighing the product of the two confidences (1 for events).
        Where the reference's Kaplan-Meier has reached zero, a censored subject's margin time is its
        own censoring time and its confidence 1; it counts as later than an event at that time.
    y_train : outcomes, optional
        Reference set of the margin times, and of G under ``censoring="train"``; without it the test
        outcomes themselves.
    tau : float, optional
        Pairs must start strictly before it. Later subjects stay in as partners.
    ties : {"risk", "none", "time", "all", "strict", "adjusted"}, optional
        "risk" (default): equal risks 1/2. "none": left out. "time": left out, two events at one
        time 1/2. "all": both 1/2. "strict": equal risks 0. "adjusted": see `concordance_td`.
    convention : str or Convention, optional
        Another package's limits of G, tau and weights of margin pairs: sksurv, torchsurv,
        survivaleval, hazardous (for a risk F(tau | x)), pycox.
    censoring : {"test", "train"}, KaplanMeier or callable, optional
        Where G of ``uno`` comes from: by default the test subjects; "train": `y_train`; a function
        G(t, side) of one time per subject. Such a G may depend on the subject, so a pair then
        weighs 1/(G_i(t_i-) G_j(t_i-)) [1]_, and every pair is looked at: the function is called
        once for each event time, with that time for everybody, and time grows like n^2. Events
        with G = 0 are no anchors; `concordance_index_details` counts them.
    sample_weight : array-like of shape (n,), optional
        A pair weighs the product of its two weights; frequencies of the outcomes multiply. G of
        the test subjects is estimated with them. 0 means absent.
    dependence : float or Dependence, optional
        Dependence of event and censoring time to assume for ``uno``: Kendall's tau, or `Dependence`
        with a copula. An event then weighs 1/P(C >= t | T = t) by copula-graphic estimates, and
        who outlives it is known by difference: everybody less the weighted events until then.
        By default none.
    cause : int or str, optional
        With several causes, code or name of the one whose order is asked for. Who had an event of
        another cause never has this one, and is later than every event of it: such a pair weighs
        1/(G(t_i-) G(t_j-)) under ``uno`` if j had the other event by t_i [2]_.

    Returns
    -------
    float
        1 for a perfect order, 1/2 for a random one; the reversed risk gives 1 - C.

    Raises
    ------
    UndefinedMetricError
        If no pair is comparable.

    References
    ----------
    Harrell, Lee and Mark (1996), Statistics in Medicine 15. Uno et al. (2011), Statistics in
    Medicine 30. Kumar et al. (2022), Scientific Reports 12 (margin).

    .. [1] Gerds et al. (2013), Statistics in Medicine 32 (G that depends on the subject).
    .. [2] Wolbers et al. (2014), Concordance for prognostic models with competing risks,
       Biostatistics 15.

    Examples
    --------
    >>> y = ([2, 4, 6, 8], [1, 1, 0, 1])
    >>> concordance_index(y, [4, 2, 3, 1])
    0.8
    >>> round(concordance_index(y, [4, 2, 3, 1], method="uno", y_train=([1, 3, 5], [0, 1, 1])), 4)
    0.8
    """
    options = {
        "y_train": y_train,
        "tau": tau,
        "ties": ties,
        "convention": convention,
        "censoring": censoring,
        "sample_weight": sample_weight,
        "dependence": dependence,
        "cause": cause,
    }
    return concordance_of(y_true, risk, method, False, **options).value
