"""What the calibration tests return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._tools.arrays import Bools, Floats
from ..._tools.short_repr import ShortRepr
from ...errors import InputError
from . import kernels as kernel


@dataclass(frozen=True, repr=False)
class CalibrationResult(ShortRepr):
    """A calibration test with the table behind it.

    Attributes
    ----------
    p_value, statistic : float
        The test; small p-values speak against calibration.
    observed, expected : ndarray of shape (K,)
        D-calibration: number of subjects per bin of S, from low to high S. 1-calibration:
        probability of the event by the time, per group from low to high risk.
    edges : ndarray
        D-calibration: bounds of the bins, (K + 1,). 1-calibration: lowest and highest predicted
        probability of the event in each group, (K, 2).
    size : ndarray of shape (K,)
        Number of subjects per bin or group, frequencies counted.
    method : str
        Which test.
    degrees_of_freedom : int or None
        Of the chi-squared distribution; None for the Kolmogorov-Smirnov form.
    convention, support : dict
        Which definitions the numbers follow; what the data covered.
    """

    p_value: float
    statistic: float
    observed: Floats
    expected: Floats
    edges: Floats
    size: Floats
    method: str
    degrees_of_freedom: int | None
    convention: dict[str, Any]
    support: dict[str, Any]
    _survival: Floats | None = None
    _event: Bools | None = None

    def __float__(self) -> float:
        return self.p_value

    def masses(self) -> Floats:
        """D-calibration: share of each subject in each bin, (n, K); rows sum to one."""
        if self._survival is None or self._event is None:
            raise InputError(f"method '{self.method}' has no masses per subject")
        return kernel.subject_masses(self._survival, self._event, self.observed.size)
