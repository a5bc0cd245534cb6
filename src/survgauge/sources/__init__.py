"""Evaluation in bounded memory: the numbers of `evaluate`, from batches, files or a cluster."""

from ..reference.counts import OutcomeCounts
from .accumulator import Accumulator
from .call import evaluate_stream
from .curve_columns import CurveColumns, IncidenceColumns
from .dask import evaluate_dask
from .evaluator import Evaluator
from .layout import RiskColumn, TimeColumn

__all__ = [
    "Accumulator",
    "CurveColumns",
    "Evaluator",
    "IncidenceColumns",
    "OutcomeCounts",
    "RiskColumn",
    "TimeColumn",
    "evaluate_dask",
    "evaluate_stream",
]
