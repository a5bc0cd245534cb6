"""Semi-synthetic censoring: real events, drawn censoring times, known truth."""

from __future__ import annotations

from .comparison import CensoringComparison
from .copulas import COPULAS
from .entries import Entries, delayed_entry
from .generate import SemiSynthetic, semisynthetic
from .laws import KINDS, PARAMETRIC
from .schedules import Visits, visits

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
