"""Figures as objects: `frame()` gives the table behind a figure, `plot()` draws it."""

from __future__ import annotations
