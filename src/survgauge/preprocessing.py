"""Preprocessing inside the fold: filled, encoded and standardised from training rows alone.

The class is loaded when it is first used, so that the module loads without the extra it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .datasets.preprocessor import Preprocessor

__all__ = ["Preprocessor"]

if not TYPE_CHECKING:  # to type checkers, what is not imported above does not exist

    def __getattr__(name: str) -> Any:
        if name != "Preprocessor":
            raise AttributeError(f"module 'survgauge.preprocessing' has no attribute {name!r}")
        from .datasets.preprocessor import Preprocessor

        return Preprocessor
