"""A scikit-learn transformer over `encoding`: fills, encodes and standardises inside the fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tools.arrays import Floats
from ..errors import InputError, MissingExtraError
from .encoding import Encoding

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise MissingExtraError("preprocessing", "sklearn") from error


@dataclass(eq=False, repr=False)
class Preprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn transformer that fills, encodes and standardises survival features.

    Everything that it needs (medians, modes, levels, means and deviations) is learnt in `fit` from
    the rows given there, so inside a pipeline nothing of the test fold leaks into the training.
    With m and s the mean and the standard deviation of an encoded training column,

    .. math:: z_{ij} = (x_{ij} - m_j) / s_j,

    where s counts as 1 for a column that is constant in the training rows.

    Parameters
    ----------
    fill : mapping, optional
        Values for gaps by column, such as `Dataset.fill`; other gaps take the median of numbers,
        the lower median of ordered levels, or the most frequent unordered level.
    drop_first : bool
        Whether the first level of unordered categories gets no column of its own.
    standardize : bool
        Whether to centre and scale.
    drop_constant : bool
        Whether to leave out columns that are constant in the training rows (a rare level that is
        missing in a fold), which some models cannot handle.

    Notes
    -----
    Levels of a pandas category are those of its type, so all folds have the same columns. A level
    that is new at `transform` counts as a gap, with a warning.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [50.0, None, 70.0], "arm": pd.Categorical(["a", "b", "b"])})
    >>> prep = Preprocessor(standardize=False).fit(X)
    >>> prep.transform(X)
    array([[50.,  0.],
           [60.,  1.],
           [70.,  1.]])
    >>> list(prep.get_feature_names_out())
    ['age', 'arm_b']
    """

    fill: Mapping[str, Any] | None = None
    drop_first: bool = True
    standardize: bool = True
    drop_constant: bool = False

    def fit(self, X: Any, y: Any = None) -> Preprocessor:
        """Learn from training rows; `y` is not looked at."""
        frame, named = _as_frame(X)
        if len(frame) == 0:
            raise InputError("X must have at least one row to fit on; got none")
        self.encoding_ = Encoding.fit(frame, fill=self.fill, drop_first=self.drop_first)
        values = self.encoding_.transform(frame)
        constant = (values == values[:1]).all(axis=0)
        self.kept_ = np.flatnonzero(~constant) if self.drop_constant else np.arange(values.shape[1])
        kept = values[:, self.kept_]
        self.mean_ = kept.mean(axis=0)
        deviation = kept.std(axis=0)
        # Rounding leaves a constant column a deviation that is not quite zero.
        self.scale_ = np.where(constant[self.kept_] | (deviation == 0), 1.0, deviation)
        self.n_features_in_ = frame.shape[1]
        if named:
            self.feature_names_in_ = np.asarray(frame.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def transform(self, X: Any) -> Floats:
        """Fill, encode and standardise rows with what was learnt."""
        check_is_fitted(self, "encoding_")
        frame, _ = _as_frame(X)
        values = self.encoding_.transform(frame)[:, self.kept_]
        if self.standardize:
            values -= self.mean_
            values /= self.scale_
        return values

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Names of the columns that come out."""
        check_is_fitted(self, "encoding_")
        return np.asarray(self.encoding_.names, dtype=object)[self.kept_]


def _as_frame(X: Any) -> tuple[Any, bool]:
    """Accept pandas and polars frames and arrays of numbers; whether columns have names."""
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return X, all(isinstance(column, str) for column in X.columns)
    to_pandas = getattr(X, "to_pandas", None)
    if callable(to_pandas):
        return to_pandas(), True
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(
            f"X must be a frame or a matrix with a row per subject; got shape {array.shape}"
        )
    return pd.DataFrame(
        array, columns=[f"x{i}" for i in range(array.shape[1])]
    ).infer_objects(), False
