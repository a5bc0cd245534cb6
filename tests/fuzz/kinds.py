"""Kinds of cases: how each is made and what must hold. Filled by the modules named below."""

from __future__ import annotations

KINDS = {}


def kind(make):
    """Register a check `name(case, rng, call)` of cases that `make(rng)` gives."""

    def register(check):
        KINDS[check.__name__] = (make, check)
        return check

    return register


from . import (  # noqa: E402
    contribution_checks,
    curve_checks,
    invalid,
    metric_checks,
    probability_checks,
    readers,
    whole_checks,
)

__all__ = [
    "KINDS",
    "contribution_checks",
    "curve_checks",
    "invalid",
    "kind",
    "metric_checks",
    "probability_checks",
    "readers",
    "whole_checks",
]
