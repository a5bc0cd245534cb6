"""Semi-synthetic censoring: real events, drawn censoring times, known truth."""

from __future__ import annotations

from ...estimators.copulas import COPULAS
from .generate import CensoringComparison, SemiSynthetic, semisynthetic
from .kinds import KINDS, PARAMETRIC
from .observation import Entries, Visits, delayed_entry, visits

__all__ = [
    "COPULAS",
    "KINDS",
    "PARAMETRIC",
    "CensoringComparison",
    "Entries",
    "SemiSynthetic",
    "Visits",
    "delayed_entry",
    "semisynthetic",
    "visits",
]
