"""What was done to get the laws, in words and numbers, for the convention of every result."""

from __future__ import annotations

from typing import Any

import numpy as np

from .blend import FOLDS, Blend
from .laws import FEWEST_CENSORED, Choices, Laws, censoring_gain, models_censoring
from .members import MEMBERS


def account_of(
    parts: list[Laws], choices: Choices, missing: dict[str, str], remarks: list[str]
) -> dict[str, Any]:
    """Describe laws; with several folds, weights are means over them."""
    weights = _weights([laws.law for laws in parts])
    left_out = dict(missing)
    for laws in parts:
        left_out |= laws.law.left_out
    left_out = {name: reason for name, reason in left_out.items() if name not in weights}
    models = [laws.censoring for laws in parts if laws.censoring is not None]
    modelled = models_censoring(parts, choices)
    return {
        "law": _words(weights),
        "censoring": _words(_weights(models)) if modelled else "Kaplan-Meier",
        "members": list(weights),
        "weights": weights,
        "left_out": left_out,
        "censoring_weights": _weights(models) if modelled else {},
        "censoring_reason": _reason(parts, choices),
        "folds": FOLDS,
        "remarks": list(remarks),
        "random_state": choices.seed,
    }


def _weights(blends: list[Blend]) -> dict[str, float]:
    """Mean weight of each member, in the order in which members are told."""
    found = [dict(zip(blend.names, blend.weights.tolist(), strict=True)) for blend in blends]
    names = [name for name in MEMBERS if any(name in weights for weights in found)]
    return {name: float(np.mean([w.get(name, 0.0) for w in found])) for name in names}


def _words(weights: dict[str, float]) -> str:
    """Say what a mixture is made of."""
    if len(weights) == 1:
        return MEMBERS[next(iter(weights))].title
    shares = [f"{MEMBERS[name].title} {share:.0%}" for name, share in weights.items()]
    return f"blend of {', '.join(shares)}"


def _reason(parts: list[Laws], choices: Choices) -> str:
    """Say why censoring has a model, or none."""
    if choices.censoring == "km":
        return "Kaplan-Meier was asked for"
    found = censoring_gain(parts)
    if found is None:
        return f"fewer than {FEWEST_CENSORED} censored subjects: Kaplan-Meier"
    gain, error = found
    evidence = (
        f"gain over Kaplan-Meier in mean log-likelihood {gain:.4f}, standard error {error:.4f}"
    )
    if choices.censoring == "model":
        return f"a model was asked for; {evidence}"
    return evidence if models_censoring(parts, choices) else f"no clear gain by a model: {evidence}"
