"""Predictions of a cell: asked of a model, and as bytes of a store."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..data.curves import SurvivalCurves
from ..data.estimators import predict
from ..data.incidence import IncidenceCurves
from ..data.predictions import Prediction
from ..errors import InputError
from .scoring import Questions


def said(model: Any, X: Floats, questions: Questions) -> Prediction:
    """Ask a model for the most that it can say; where a cause is asked about, for incidence."""
    if questions.cause is None:
        return predict(model, X)
    name = type(model).__name__
    if not hasattr(model, "predict_incidence"):
        raise InputError(f"{name} must have predict_incidence where a plan asks about a cause")
    causes = questions.y.causes or ()
    return Prediction.of_cause(model.predict_incidence(X), len(X), name, causes, questions.cause)


def pack(prediction: Prediction) -> bytes:
    """Predictions as the bytes of a compressed NumPy file."""
    file = io.BytesIO()
    curves, incidence = prediction.curves, prediction.incidence
    if incidence is not None:
        how = np.array([incidence.interpolation, *incidence.causes])
        np.savez_compressed(file, times=incidence.times, incidence=incidence.values, how=how)
    elif curves is not None:
        how = np.array([curves.interpolation, curves.tail])
        np.savez_compressed(file, times=curves.times, survival=curves.survival, how=how)
    elif prediction.kind == "times":
        np.savez_compressed(file, predicted=prediction.times)
    else:
        np.savez_compressed(file, risk=prediction.risk)
    return file.getvalue()


def unpack(content: bytes, cause: int | None = None) -> Prediction:
    """Read what `pack` wrote; of several causes, for the one with this code.

    >>> unpack(pack(Prediction.of([3.0, 4.0], 2, "m"))).times
    array([3., 4.])
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        if "incidence" in arrays:
            how, *causes = map(str, arrays["how"])
            incidence = IncidenceCurves(arrays["times"], arrays["incidence"], causes, how)
            return Prediction(incidence.only(cause or 1), None, None, incidence)
        if "survival" in arrays:
            how, tail = (str(word) for word in arrays["how"])
            return Prediction(
                SurvivalCurves(arrays["times"], arrays["survival"], how, tail), None, None
            )
        if "predicted" in arrays:
            return Prediction(None, arrays["predicted"], None)
        return Prediction(None, None, arrays["risk"])
