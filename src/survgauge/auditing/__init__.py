"""Audit of the metrics: which of them can be trusted on these predictions and these data."""

from __future__ import annotations

from .call import audit
from .result import Audit

__all__ = ["Audit", "audit"]
