"""Networks in torch: one training loop for all."""

from __future__ import annotations

# First, because it says what to install where torch is missing.
from . import training as training  # isort: skip
from .binned import MTLR, DeepHit
from .continuous import SCA, DeepSurv, SurvivalMDN

__all__ = ["MTLR", "SCA", "DeepHit", "DeepSurv", "SurvivalMDN"]
