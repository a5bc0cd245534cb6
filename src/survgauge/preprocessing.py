"""Preprocessing inside the fold: filled, encoded and standardised from training rows alone."""

from __future__ import annotations

from .datasets.preprocessor import Preprocessor

__all__ = ["Preprocessor"]
