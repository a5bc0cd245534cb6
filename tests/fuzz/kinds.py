"""Kinds of cases: how each is made and what must hold. Filled by the modules named below."""

from __future__ import annotations

KINDS = {}


def kind(make):
    """Register a check `name(case, rng, call)` of cases that `make(rng)` gives."""

    def register(check):
        KINDS[check.__name__] = (make, check)
        return check

    return register


from . import curve_checks, invalid, metric_checks, probability_checks, readers, whole_checks  # noqa: E402

__all__ = [
    "KINDS",
    "curve_checks",
    "invalid",
    "kind",
    "metric_checks",
    "probability_checks",
    "readers",
    "whole_checks",
]
