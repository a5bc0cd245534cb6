"""Semi-synthetic censoring: real events, drawn censoring times, known truth."""

from __future__ import annotations

from .comparison import CensoringComparison
from .copulas import COPULAS
from .generate import SemiSynthetic, semisynthetic
from .laws import KINDS, PARAMETRIC

__all__ = [
    "COPULAS",
    "KINDS",
    "PARAMETRIC",
    "CensoringComparison",
    "SemiSynthetic",
    "semisynthetic",
]
