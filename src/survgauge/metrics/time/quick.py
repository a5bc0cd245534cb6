"""Time errors of several models at once, values only: for whoever asks a thousand times."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from ..._tools.arrays import Floats
from ...reference.losses import Loss
from ...reference.surrogates import Method, Setting, Surrogates
from .terms import average_weight, losses_of


def mean_errors(
    setting: Setting, method: Method, rule: Loss, times: Floats, normalize: str = "n"
) -> Floats:
    """Mean error of each model, (models,); NaN where the method has nobody to average over.

    The same numbers as the means of `time_terms`, without support, convention and contributions.

    Parameters
    ----------
    setting : Setting
        Subjects, reference set and horizon.
    method : Method
        What censored subjects count as.
    rule : Loss
        Absolute or squared: a loss of all times, without a scale.
    times : ndarray of shape (models, n)
        Predicted times, at most the horizon.
    normalize : {"n", "weights", "events"}
        What a mean weighted by 1/G is divided by.
    """
    surrogates, average = setting.surrogates(method), average_weight(setting)
    weight = surrogates.weight
    if _is_plain(surrogates):
        loss = rule.of(surrogates.time, times)
    else:  # what hangs on the prediction in another way is computed model by model
        loss = np.stack([losses_of(setting, surrogates, rule, one)[0] for one in times])
    if average is not None:
        weight = weight * average
    if surrogates.defined is not setting.everybody:
        weight = np.where(surrogates.defined, weight, 0.0)
        loss[:, ~surrogates.defined] = 0.0
    whole = float(np.sum(weight))
    if not whole > 0:
        return np.full(times.shape[0], np.nan)
    if method.weights_by_g and normalize != "weights":
        share = np.ones(weight.size) if average is None else average
        whole = float(share[weight > 0].sum() if normalize == "events" else share.sum())
    # Not BLAS: the sums would depend on its number of threads.
    return np.einsum("kn,n->k", loss, weight) / whole


def _is_plain(surrogates: Surrogates) -> bool:
    """Whether the loss of each subject is that of its surrogate time, and nothing else."""
    usual = ("time", "weight", "defined", "notes", "looked_up")
    special = [one.name for one in fields(surrogates) if one.name not in usual]
    return all(getattr(surrogates, name) is None for name in special)
