"""Networks in torch: one training loop for all."""

from __future__ import annotations

# First, because it says what to install where torch is missing.
from . import training as training  # isort: skip
from .binned import MTLR
from .deephit import DeepHit
from .deepsurv import DeepSurv
from .sca import SCA
from .smdn import SurvivalMDN

__all__ = ["MTLR", "SCA", "DeepHit", "DeepSurv", "SurvivalMDN"]
