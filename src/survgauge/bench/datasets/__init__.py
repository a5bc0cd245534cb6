"""Survival datasets: the paper's five, those of other packages, and any table of your own.

Nothing heavy is imported until a dataset is loaded: listing them needs the standard library only.
"""

from __future__ import annotations

from .catalogue import Entry, Listing, available, fetch, load
from .readers import from_file
from .record import Dataset, Dropped
from .synthetic import SyntheticCauses, synthetic_causes

__all__ = [
    "Dataset",
    "Dropped",
    "Entry",
    "Listing",
    "SyntheticCauses",
    "available",
    "fetch",
    "from_file",
    "load",
    "synthetic_causes",
]
