"""Time errors of several models at once, values only: for whoever asks a thousand times."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property

import numpy as np

from ..._tools.arrays import Floats
from ...data.outcomes import Outcomes
from ...reference.losses import Loss
from ...reference.surrogates import Method, Setting, Surrogates
from .terms import average_weight, losses_of


class QuickErrors:
    """Mean errors of several models on the subjects of one setting.

    The same numbers as the means of `time_terms`, without support, convention and contributions.

    `special` is kept by the caller from one setting to the next: which methods need more than a
    surrogate time of each subject.
    """

    def __init__(
        self,
        setting: Setting,
        models: int,
        normalize: str = "n",
        special: dict[str, bool] | None = None,
    ) -> None:
        self.setting, self.models, self.normalize = setting.with_g(), models, normalize
        #: Methods whose loss is not that of a surrogate time, as far as they were met.
        self._special = {} if special is None else special

    def means(self, method: Method, rule: Loss, times: Floats) -> Floats:
        """Mean error of each model, (models,); NaN where the method has nobody to average over.

        `rule` is absolute or squared, a loss of all times without a scale; `times` are the
        predicted ones, (models, n), at most the horizon.
        """
        average, n = average_weight(self.setting), times.shape[1]
        surrogates, loss = self._losses(method, rule, times)
        # Where the subjects are repeated for every model, they weigh the same under each.
        weight, defined = surrogates.weight[:n], surrogates.defined[:n]
        if average is not None:
            weight = weight * average
        if not defined.all():
            weight = np.where(defined, weight, 0.0)
            loss[:, ~defined] = 0.0
        whole = float(np.sum(weight))
        if not whole > 0:
            return np.full(self.models, np.nan)
        if method.weights_by_g and self.normalize != "weights":
            share = np.ones(n) if average is None else average
            whole = float(share[weight > 0].sum() if self.normalize == "events" else share.sum())
        # Not BLAS: the sums would depend on its number of threads.
        return np.einsum("kn,n->k", loss, weight) / whole

    def _losses(self, method: Method, rule: Loss, times: Floats) -> tuple[Surrogates, Floats]:
        """What each subject counts as, and its loss under each model: (models, n)."""
        if self._special.get(method.name) and self.setting.conditional is None:
            made = self._repeated.surrogates(method)
            loss = losses_of(self._repeated, made, rule, times.ravel())[0]
            return made, loss.reshape(times.shape)
        made = self.setting.surrogates(method)
        if not self._special.setdefault(method.name, not _is_plain(made)):
            return made, rule.of(made.time, times)
        # The first time; and laws of their own are not laid out once more for every model.
        each = [losses_of(self.setting, made, rule, one)[0] for one in times]
        return made, np.stack(each)

    @cached_property
    def _repeated(self) -> Setting:
        """The subjects once for every model, with G of the subjects themselves.

        What looks a prediction up is asked once then; a call for each model takes longer.
        """
        y, mass = self.setting.y, self.setting.mass
        many = Outcomes(
            np.tile(y.time, self.models),
            np.tile(y.event, self.models),
            np.tile(y.weight, self.models) if y.weighted else None,
            copy=False,
        )
        mass = None if mass is None else np.tile(mass, self.models)
        cause = self.setting.cause
        if cause is not None:
            cause = replace(cause, time=np.tile(cause.time, self.models))
        return replace(self.setting, y=many, mass=mass, cause=cause)


def _is_plain(surrogates: Surrogates) -> bool:
    """Whether the loss of each subject is that of its surrogate time, and nothing else."""
    usual = ("time", "weight", "defined", "notes", "looked_up")
    special = [one.name for one in fields(surrogates) if one.name not in usual]
    return all(getattr(surrogates, name) is None for name in special)
