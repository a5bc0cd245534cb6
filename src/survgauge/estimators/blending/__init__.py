"""Distributions of event and censoring times given covariates: a blend of several learners."""

from __future__ import annotations

from .call import conditional

__all__ = ["conditional"]
