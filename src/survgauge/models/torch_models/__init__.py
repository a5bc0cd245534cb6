"""Networks in torch: one file a model, one training loop for all."""

from __future__ import annotations

from .deephit import DeepHit
from .mtlr import MTLR
from .sca import SCA
from .smdn import SurvivalMDN

__all__ = ["MTLR", "SCA", "DeepHit", "SurvivalMDN"]
