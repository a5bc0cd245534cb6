"""Up to when the reference set was followed by more than a handful of subjects."""

from __future__ import annotations

import numpy as np

from .reference import Reference

#: Fewer subjects at risk than this are a handful.
FEW_AT_RISK = 10


def thinned_out(reference: Reference) -> dict[str, float]:
    """Say from when on a handful is observed, who should be event-free then, and who was lost.

    `reference_lost` is S (1 - G) at the last time with `FEW_AT_RISK` subjects at risk, with S and G
    of Kaplan-Meier: the share of the subjects that is expected to be event-free and was censored
    before. It is near zero where everybody is followed until the event, however few are left.

    Examples
    --------
    >>> y = np.arange(1.0, 101.0), np.arange(100) % 2
    >>> {name: round(value, 2) for name, value in thinned_out(Reference.of(y)).items()}
    {'reference_thin_from': 91.0, 'reference_survival_then': 0.31, 'reference_lost': 0.22}
    """

    def build() -> dict[str, float]:
        table = reference.table
        enough = np.flatnonzero(table.at_risk >= FEW_AT_RISK)
        place = int(enough[-1]) if enough.size else 0
        # One value of each is needed, so the tables of both are not kept.
        alive, uncensored = (
            float(table.survival(censoring, restart=True)[place + 1]) for censoring in (False, True)
        )
        return {
            "reference_thin_from": float(table.times[place]),
            "reference_survival_then": alive,
            "reference_lost": alive * (1.0 - uncensored),
        }

    found: dict[str, float] = reference.cached(thinned_out, build)
    return found
