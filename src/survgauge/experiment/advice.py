"""The paper's advice on which metric to use, checked against results."""

from __future__ import annotations

from typing import Any

import numpy as np

from .comparisons import wilcoxon
from .panels import TruthPanel

#: Kind of situation: whether a censoring label belongs to it, what is recommended, against what.
_ADVICE = (
    ("exponential censoring", True, "margin", "po"),
    ("other censoring", False, "po", "margin"),
)


def advice_rows(panels: list[TruthPanel]) -> list[dict[str, Any]]:
    """Evidence for and against the advice, one row per kind of situation."""
    rows = []
    for situation, exponential, recommended, other in _ADVICE:
        chosen = [p for p in panels if p.censoring.startswith("exponential") == exponential]
        pairs = [(p, _column(p, recommended), _column(p, other)) for p in chosen]
        known = [(p, a, b) for p, a, b in pairs if a is not None and b is not None]
        if not known:
            continue
        row: dict[str, Any] = {
            "situation": situation,
            "recommended": recommended,
            "other": other,
            "data_sets": len(known),
        }
        both = np.array([[_numbers(p, k) for k in (a, b)] for p, a, b in known])
        for side, name in enumerate(("recommended", "other")):
            row |= {
                f"{name}_wins": int(both[:, side, 0].sum()),
                f"{name}_tau": float(both[:, side, 1].mean()),
                f"{name}_relative": float(both[:, side, 2].mean()),
            }
        gap = both[:, 0, 2] - both[:, 1, 2]
        row["closer"] = int((gap < 0).sum())
        row["p_value"] = wilcoxon(gap)
        row["verdict"] = _verdict(row)
        rows.append(row)
    return rows


def _column(panel: TruthPanel, method: str) -> int | None:
    names = (f"mae_{method}", method)
    return next((k for k, name in enumerate(panel.metrics) if name in names), None)


def _numbers(panel: TruthPanel, column: int) -> tuple[float, float, float]:
    found = panel.answers
    return float(found.winner[column]), float(found.tau[column]), float(found.relative[column])


def _verdict(row: dict[str, Any]) -> str:
    """Say whether the recommended metric is the closer and the better ranking one."""
    closer = row["recommended_relative"] < row["other_relative"]
    ranks = row["recommended_tau"] >= row["other_tau"]
    if closer and ranks:
        return "holds"
    return "half: closer only" if closer else "half: ranks only" if ranks else "does not hold"
