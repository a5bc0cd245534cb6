"""Results that print in a line or two, however many subjects they hold."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

#: Arrays up to this size are shown, longer ones counted.
_FEW = 12


class ShortRepr:
    """A dataclass (with ``repr=False``) that shows its numbers, and counts long arrays.

    Dictionaries, private fields and what is None are left out.

    >>> from dataclasses import dataclass
    >>> @dataclass(repr=False)
    ... class Found(ShortRepr):
    ...     value: float
    ...     each: object
    ...     rules: dict
    >>> Found(1 / 3, np.zeros(300), {"a": 1})
    Found(value=0.3333, each=<300 numbers>)
    """

    def __repr__(self) -> str:
        shown = {
            field.name: _shown(getattr(self, field.name))
            for field in fields(self)  # type: ignore[arg-type]
            if field.repr and not field.name.startswith("_")
        }
        told = ", ".join(f"{name}={text}" for name, text in shown.items() if text)
        return f"{type(self).__name__}({told})"


def _shown(value: Any) -> str:
    """Show a value; nothing where it would only take room."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, np.ndarray):
        few = value.ndim == 1 and value.size <= _FEW and value.dtype.kind in "fiub"
        if few:
            return f"[{', '.join(f'{entry:.4g}' for entry in value.tolist())}]"
        return f"<{' x '.join(map(str, value.shape))} numbers>"
    plain = isinstance(value, int | str | ShortRepr)
    return repr(value) if plain else ""
