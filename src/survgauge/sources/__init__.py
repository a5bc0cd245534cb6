"""Evaluation in bounded memory: the numbers of `evaluate`, from batches, files or a cluster."""

from .accumulator import Accumulator
from .call import evaluate_stream
from .counts import OutcomeCounts
from .dask import evaluate_dask
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
