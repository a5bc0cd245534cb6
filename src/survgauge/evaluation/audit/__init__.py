"""Audit of the metrics: what each of them risks on these predictions and these data."""

from __future__ import annotations

from .call import audit
from .result import Audit

__all__ = ["Audit", "audit"]
