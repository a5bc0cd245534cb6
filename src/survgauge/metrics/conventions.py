"""Conventions in which packages differ, as presets, so that published numbers can be checked."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ..errors import InputError, one_of

#: Fields that only metrics of ranking look at.
_RANKING = {"concerns": "ranking"}


@dataclass(frozen=True)
class Convention:
    """How ties, limits and divisors are taken by the metrics that weight by 1/G.

    Attributes
    ----------
    name : str
        Of the preset, or your own.
    g_ties : {"events_first", "flipped"}
        Whether events leave the risk set of G before tied censorings, or G is plain Kaplan-Meier
        on flipped flags.
    g_floor : float
        Smallest value of G; 0 means none.
    event_limit, survivor_limit : {"left", "right"}
        G(t-) or G(t) for an event at t, and for somebody event-free past t.
    censored_at_t : str
        Whether somebody censored exactly at t is known to be event-free there.
    divisor : {"n", "weights"}
        Brier scores are divided by the number of subjects or by the sum of weights.
    unweighted_divisor : {"known", "n"}
        Brier scores without weights: "known" averages over subjects of known status, "n" over all.
    integration : {"trapezoid", "simpson", "simpson_average"}
        Rule for integrals over a grid: "simpson" lays a parabola through the last three of an even
        number of points, "simpson_average" takes the mean of a line first and a line last, as SciPy
        before 1.11.
    anchors_at_tau : bool
        Whether anchors exactly at tau count in truncated C-indices.
    clip : float
        Probabilities are kept within [clip, 1 - clip] before logarithms; 0 means they are not.
    g_influence : {"estimated", "hazard"}
        Standard errors where G is estimated in sample: "estimated" differentiates G exactly,
        "hazard" writes 1/Y for 1/(Y - c) and counts tied events as at risk.
    g_source : {"test", "train"}
        Whose censoring G describes: that of the test subjects, or of the training subjects where
        they are given.
    risk_tolerance, auc_tolerance : float
        Risks or probabilities closer than this are tied, in C-indices and in AUC.
    td_ties : {"risk", "strict"}
        Usual ties of the time-dependent C.
    td_curves : {"interpolated", "steps"}
        How curves are read between their times by the time-dependent C.
    margin_area : {"step", "trapezoid"}
        Area under Kaplan-Meier of the margin times in ``concordance_index(method="margin")``.
    margin_pairs : {"weighted", "seen_whole"}
        Whether pairs whose order was seen weigh 1 there, whatever their margin times weigh.
    """

    name: str
    g_ties: str = "events_first"
    g_floor: float = 0.0
    event_limit: str = "left"
    survivor_limit: str = "right"
    censored_at_t: str = "unknown"
    divisor: str = "n"
    integration: str = "trapezoid"
    anchors_at_tau: bool = False
    unweighted_divisor: str = "known"
    clip: float = 0.0
    g_influence: str = "estimated"
    g_source: str = "test"
    risk_tolerance: float = field(default=0.0, metadata=_RANKING)
    auc_tolerance: float = field(default=0.0, metadata=_RANKING)
    td_ties: str = field(default="risk", metadata=_RANKING)
    td_curves: str = field(default="interpolated", metadata=_RANKING)
    margin_area: str = field(default="step", metadata=_RANKING)
    margin_pairs: str = field(default="weighted", metadata=_RANKING)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that concern G and scores, with `convention` for the name."""
        shown = {f.name: getattr(self, f.name) for f in fields(self) if f.metadata != _RANKING}
        return {"convention": shown.pop("name"), **shown}


CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention("survgauge"),
        Convention("paper", g_source="train"),
        Convention("riskregression", g_influence="hazard"),
        Convention(
            "sksurv",
            event_limit="right",
            g_source="train",
            risk_tolerance=1e-8,
            auc_tolerance=1e-8,
        ),
        Convention(
            "torchsurv",
            event_limit="right",
            unweighted_divisor="n",
            g_source="train",
            risk_tolerance=1e-8,
            auc_tolerance=1e-8,
        ),
        Convention(
            "survivaleval",
            survivor_limit="left",
            censored_at_t="event_free",
            unweighted_divisor="n",
            g_source="train",
            risk_tolerance=1e-8,
            margin_area="trapezoid",
            margin_pairs="seen_whole",
        ),
        Convention(
            "pycox",
            g_ties="flipped",
            divisor="weights",
            integration="simpson",
            clip=1e-7,
            td_ties="strict",
            td_curves="steps",
        ),
        Convention(
            "hazardous",
            g_ties="flipped",
            g_floor=0.05,
            event_limit="right",
            anchors_at_tau=True,
            g_source="train",
            risk_tolerance=1e-8,
            auc_tolerance=1e-8,
        ),
    )
}


def convention_of(value: str | Convention | None) -> Convention:
    """Look a preset up by name; None is our own."""
    if value is None:
        return CONVENTIONS["survgauge"]
    if isinstance(value, Convention):
        return value
    if not isinstance(value, str):
        raise InputError(f"convention must be a name or a Convention; got {type(value).__name__}")
    one_of("convention", value.lower(), CONVENTIONS)
    return CONVENTIONS[value.lower()]
