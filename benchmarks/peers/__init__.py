"""Other packages as black boxes: each function sets up, untimed, and returns the call to time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = Callable[[], Any]
#: Module to look for, by the name of the peer; those in R are looked for by `in_r`.
MODULES = {
    "SurvivalEVAL": "SurvivalEVAL",
    "scikit-survival": "sksurv",
    "lifelines": "lifelines",
    "survival (Rust)": "survival",
    "pycox": "pycox",
    "hazardous": "hazardous",
    "torchsurv": "torchsurv",
    "dcurves": "dcurves",
    "rtichoke": "rtichoke",
}
#: What a distribution is called where it differs from the name of the peer.
DISTRIBUTIONS = {"survival (Rust)": "survival"}


def package_of(peer: str) -> str:
    """Return the package of a peer whose name may go on with a remark after a comma."""
    return peer.split(",")[0]
