"""D-calibration: do predicted probabilities at the subjects' own times spread evenly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import chdtrc

from ..._tools.arrays import Floats, whole_number
from ...data.incidence import IncidenceCurves
from ...data.outcomes import Outcomes
from ...errors import InputError, one_of
from ..checks import check_curves
from ..one_cause import one_cause
from ..support import Support
from . import kernels as kernel
from .cause_survival import cause_survival, given_survived
from .inputs import description, own_survival, present_rows, read_past
from .one_calibration import one_calibration
from .result import CalibrationResult

__all__ = ["CalibrationResult", "d_calibration", "one_calibration"]

ASYMPTOTIC = "Pearson, asymptotic"
CONSERVATIVE = "conservative under censoring: spread masses vary less than counts"
BOUNDS = "[a, b), top bin closed; within 1e-12 of an edge counts as the edge"


def d_calibration(
    y_true: Any,
    curves: Any,
    *,
    bins: int = 10,
    method: str = "ks",
    cause: int | str | None = None,
) -> CalibrationResult:
    r"""D-calibration: whether S_i(t_i) is uniform, as it is under the true model.

    With :math:`s = S_i(t_i)`, Kaplan-Meier of the transforms u = 1 - s (an event of the uniform law
    at u, or censored there) is compared with the uniform law:

    .. math:: D = \max_i |F(u_i) - u_i| \frac{1 - k(u_i)}{1 - u_i}, \quad k = \frac{C}{1 + C}, \quad
              C(u) = \int_0^u \frac{dv}{(1-v)^2 G(v-)},

    over all observed u (both limits), G the reverse Kaplan-Meier of u. Without censoring D is the
    textbook distance; with it, the weights of Hall and Wellner make :math:`\sqrt n D` the largest
    deviation of a Brownian bridge up to time k(largest u), whatever the censoring; the p-value is
    that law's, with Stephens' factor for small n. It keeps its level under censoring. Up to 100
    subjects without censoring have the exact law instead, and up to 200 subjects with fewer than 10
    events the larger of that and of the law in 1,999 drawn samples (the same ones in every call),
    whose censoring is the one found.

    ``method="chi2"`` is the test as published. With K bins of width 1/K, an event adds 1 to the bin
    of its s. A subject censored with s in bin b has its future spread as its own curve says:
    (s - lower_b)/s to b and (1/K)/s to each lower bin. Then

    .. math:: X^2 = \sum_k (O_k - n/K)^2 / (n/K), \qquad K - 1 \text{ degrees of freedom},

    which under censoring almost never rejects, a wrong model neither: spread masses vary less than
    counts.

    With several causes it tests the hazard of one of them among those who had no event yet, as the
    incidence curves of all causes imply it:

    .. math:: s = \exp\Big(-\int_0^{t_i} \frac{dF_{ik}(t)}{S_i(t)}\Big), \qquad
              S_i = 1 - \sum_j F_{ij}.

    Under the true model 1 - s is uniform, censored by whatever else ends the follow-up, an event of
    another cause included. Who is observed past the end of the grid counts as censored there. With
    one cause it is the test above.

    Parameters
    ----------
    y_true : outcomes
        Test outcomes; anything that `Outcomes.of` reads.
    curves : curves
        Predicted survival curves; anything that `as_curves` reads. With `cause`,
        `IncidenceCurves` of all causes.
    bins : int
        Number of bins of the table, [a, b) with the top one closed. A probability within 1e-12 of
        an edge counts as the edge: Kaplan-Meier's own products miss it by rounding.
    method : {"ks", "chi2"}
        The Kolmogorov-Smirnov form, or Pearson's test on the bins. With the former `observed` are
        the bins' masses under Kaplan-Meier; `support` has what it leaves open past the last u.
    cause : int or str, optional
        With several causes, code or name of the one whose hazard is tested.

    Returns
    -------
    CalibrationResult
        `masses()` gives the share of each subject in each bin.

    References
    ----------
    Haider et al. (2020), Effective ways to build and evaluate individual survival distributions,
    JMLR 21. Hall and Wellner (1980), Confidence bands for a survival curve from censored data,
    Biometrika 67. Stephens (1970), JRSS B 32.

    Examples
    --------
    >>> from survgauge import SurvivalCurves
    >>> curves = SurvivalCurves([0, 10], [[1.0, 0.0]] * 4)
    >>> y = ([2, 4, 6, 9], [1, 0, 1, 1])
    >>> round(d_calibration(y, curves).p_value, 3)
    0.771
    >>> result = d_calibration(y, curves, bins=2, method="chi2")
    >>> result.observed, round(result.p_value, 3)
    (array([2.83333333, 1.16666667]), 0.405)
    """
    one_of("method", method, ("chi2", "ks"))
    bins = whole_number(bins, "bins", 2)
    y, read = own_times_of(y_true, curves, cause)
    rows, s, convention, support = read
    test = uniform_test if method == "ks" else _pearson
    found = test(rows, s, bins, convention, support)
    if len(rows) < len(y):  # of who is absent nothing is known
        everybody = np.full(len(y), np.nan)
        everybody[y.weight > 0] = s
        s = everybody
    return replace(found, _survival=s, _event=y.event)


OwnTimesRead = tuple[Outcomes, Floats, dict[str, Any], dict[str, Any]]


def own_times_of(
    y_true: Any, curves: Any, cause: int | str | None
) -> tuple[Outcomes, OwnTimesRead]:
    """Outcomes, with events of the cause alone, and what `own_time_support` reads of them."""
    if cause is None:
        y = one_cause(y_true, curves, None, None, entry=True).y
        return y, own_time_support(y, curves)
    asked = one_cause(y_true, curves, None, cause, entry=True)
    if not isinstance(curves, IncidenceCurves) or asked.code is None or asked.competes is None:
        raise InputError(
            "with cause=, curves must be IncidenceCurves of all causes; got "
            f"{type(curves).__name__}"
        )
    free, end = check_curves(asked.curves, asked.y), float(curves.times[-1])
    late = asked.y.time > end
    y = asked.y._with_event(asked.y.event & ~asked.competes & ~late)
    s = cause_survival(curves, asked.code, np.minimum(y.time, end))
    if y.entry is not None:
        s = given_survived(s, curves, asked.code, np.minimum(y.entry, end))
    rows, s = present_rows(y, s)
    convention, support = description(asked.y.present(), free, asked)
    convention |= {
        "hazard": "of the cause, dF_k/S, from the incidence of all causes",
        "past_curves": "censored at the end of the grid",
    }
    support |= {
        "past_curve": 0.0,  # nothing is read there
        "survival_zero": int((s <= 0).sum()),
        "survival_one": int((s >= 1).sum()),
        "past_curves": int((late & (y.weight > 0)).sum()),
    }
    return y, (rows, s, convention, support)


def own_time_support(y: Outcomes, curves: Any) -> OwnTimesRead:
    """Present subjects with S at their own times, and what D-calibration says of both."""
    curves = check_curves(curves, y)
    rows, s = present_rows(y, own_survival(y, curves))
    convention, support = description(rows, curves)
    support |= read_past(y, curves, y.time)
    past = (y.time > curves.last_time) & (y.weight > 0)
    support |= {
        "survival_zero": int((s <= 0).sum()),
        "survival_one": int((s >= 1).sum()),
        "past_curves": int(past.sum()),
    }
    return rows, s, convention, support


def own_time_counts(y: Outcomes, support: dict[str, Any]) -> Support:
    """Return the support of `own_time_support` as counts that add up over chunks."""
    weight = float(y.weight.sum())
    counts = {name: number for name, number in support.items() if name != "past_curve"}
    return Support(counts=counts, shares={"past_curve": (support["past_curve"] * weight, weight)})


def _pearson(
    y: Outcomes, s: Floats, bins: int, convention: dict[str, Any], support: dict[str, Any]
) -> CalibrationResult:
    """Pearson's test on the bins of S at the own time."""
    n = float(y.weight.sum()) if y.weighted else float(len(y))
    observed = kernel.bin_masses(s, y.event, y.weight if y.weighted else None, bins)
    statistic = float(np.sum((observed - n / bins) ** 2) / (n / bins))
    convention |= {
        "method": "chi2",
        "bins": bins,
        "bin_bounds": BOUNDS,
        "censored": "spread below S(c) in proportion to the bins' widths",
        "p_value": ASYMPTOTIC if y.event.all() else CONSERVATIVE,
    }
    return CalibrationResult(
        float(chdtrc(bins - 1, statistic)), statistic, observed, np.full(bins, n / bins),
        np.arange(bins + 1) / bins, observed, "chi2", bins - 1, convention, support,
    )  # fmt: skip


def uniform_test(
    y: Outcomes, s: Floats, bins: int, convention: dict[str, Any], support: dict[str, Any]
) -> CalibrationResult:
    """Kolmogorov-Smirnov's test of present subjects' S at the own time."""
    n = float(y.weight.sum()) if y.weighted else float(len(y))
    law = kernel.uniform_distance(y, s)
    observed = n * kernel.jump_masses(law.km, bins)
    convention |= {
        "method": "ks",
        "bins": bins,
        "bin_bounds": BOUNDS,
        "censored": "Kaplan-Meier of u = 1 - S, Hall-Wellner weights",
        "p_value": law.law,
    }
    support |= {
        "distance": law.distance,
        "bridge_time": law.coverage,
        "last_u": law.last,
        "open_mass": n * law.km.last_survival,
    }
    return CalibrationResult(
        law.p_value, law.statistic, observed, np.full(bins, n / bins), np.arange(bins + 1) / bins,
        observed, "ks", None, convention, support,
    )  # fmt: skip
