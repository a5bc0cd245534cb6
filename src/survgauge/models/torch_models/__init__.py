"""Networks in torch: one file per model, one training loop for all."""

from __future__ import annotations

# First, because it says what to install where torch is missing.
from .. import _training as _training
from .deephit import DeepHit
from .mtlr import MTLR
from .sca import SCA
from .smdn import SurvivalMDN

__all__ = ["MTLR", "SCA", "DeepHit", "SurvivalMDN"]
