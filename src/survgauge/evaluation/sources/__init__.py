"""Evaluation in bounded memory: the numbers of `evaluate`, from batches, files or a cluster."""

from ...estimators.reference import OutcomeCounts
from .call import Evaluator, evaluate_dask, evaluate_stream
from .layout import RiskColumn, TimeColumn
from .specs import CurveColumns, IncidenceColumns

__all__ = [
    "CurveColumns",
    "Evaluator",
    "IncidenceColumns",
    "OutcomeCounts",
    "RiskColumn",
    "TimeColumn",
    "evaluate_dask",
    "evaluate_stream",
]
