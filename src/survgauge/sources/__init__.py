"""Evaluation in bounded memory: the numbers of `evaluate`, from batches, files or a cluster."""

from .accumulator import Accumulator
from .call import evaluate_stream
from .cluster import evaluate_dask
from .counts import OutcomeCounts
from .layout import CurveColumns, RiskColumn, TimeColumn
from .means import StreamedMean

__all__ = [
    "Accumulator",
    "CurveColumns",
    "OutcomeCounts",
    "RiskColumn",
    "StreamedMean",
    "TimeColumn",
    "evaluate_dask",
    "evaluate_stream",
]
