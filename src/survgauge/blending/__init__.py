"""Laws of event and censoring times given features, estimated as a blend of several learners."""

from __future__ import annotations

from .call import conditional

__all__ = ["conditional"]
