"""Evaluation in bounded memory: the numbers of `evaluate`, from batches, files or a cluster."""

from ..reference.counts import OutcomeCounts
from .accumulator import Accumulator
from .call import evaluate_stream
from .dask import evaluate_dask
from .evaluator import Evaluator
from .layout import CurveColumns, RiskColumn, TimeColumn

__all__ = [
    "Accumulator",
    "CurveColumns",
    "Evaluator",
    "OutcomeCounts",
    "RiskColumn",
    "TimeColumn",
    "evaluate_dask",
    "evaluate_stream",
]
