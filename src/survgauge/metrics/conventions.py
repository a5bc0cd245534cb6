"""Conventions in which packages differ, as named presets, so that published numbers can be checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..errors import InputError, one_of


@dataclass(frozen=True)
class Convention:
    """How ties, limits and divisors are taken by the metrics that weight by 1/G."""

    name: str
    #: "events_first": events leave the risk set of G before tied censorings; "flipped": plain
    #: Kaplan-Meier on flipped flags.
    g_ties: str = "events_first"
    #: Smallest value of G; 0 means none.
    g_floor: float = 0.0
    #: G(t-) or G(t) for an event at t.
    event_limit: str = "left"
    #: G(t) or G(t-) for somebody event-free past t.
    survivor_limit: str = "right"
    #: Whether somebody censored exactly at t is known to be event-free there.
    censored_at_t: str = "unknown"
    #: Brier scores are divided by the number of subjects or by the sum of weights.
    divisor: str = "n"
    #: Rule for integrals over a grid.
    integration: str = "trapezoid"
    #: Whether anchors exactly at tau count in truncated C-indices.
    anchors_at_tau: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for a result's convention, with `convention` for the name."""
        fields = asdict(self)
        return {"convention": fields.pop("name"), **fields}


CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention("survgauge"),
        Convention("riskregression"),
        Convention("sksurv", event_limit="right"),
        Convention("torchsurv", event_limit="right"),
        Convention("survivaleval", survivor_limit="left", censored_at_t="event_free"),
        Convention("pycox", g_ties="flipped", divisor="weights", integration="simpson"),
        Convention(
            "hazardous", g_ties="flipped", g_floor=0.05, event_limit="right", anchors_at_tau=True
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
