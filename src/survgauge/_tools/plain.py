"""Plain data out of results: for JSON, and as a frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .extras import need


def plain(value: Any) -> Any:
    """Plain data for JSON: NumPy scalars unwrapped, NaN and infinities as None or text.

    >>> plain({"a": np.float64("nan"), "b": [np.int64(2), float("inf")]})
    {'a': None, 'b': [2, 'inf']}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if value is None or isinstance(value, str | int | float) else str(value)


def as_frame(rows: list[dict[str, Any]], what: str = "a table as a pandas frame") -> Any:
    """Rows as a pandas frame; `what` needs it."""
    return need("pandas", what, "pandas").DataFrame(rows)
