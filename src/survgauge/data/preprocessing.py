"""Features: encoded as numbers, and a scikit-learn transformer that fills and standardises them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tools.arrays import Floats
from .._tools.frames import in_memory, kinds_of, levels_of
from ..errors import InputError, MissingExtraError, numbered

if TYPE_CHECKING:
    import pandas as pd


def encoded_width(X: pd.DataFrame) -> int:
    """Count the columns after encoding without encoding."""
    kinds = kinds_of(X)
    unordered = [i for i, kind in enumerate(kinds) if kind == "unordered"]
    levels = sum(len(levels_of(X.iloc[:, i])) - 1 for i in unordered)
    return len(kinds) - len(unordered) + levels


@dataclass(frozen=True)
class Encoding:
    """What was learnt from training rows: fills, levels and the names of the columns that come out.

    Numbers keep their value; ordered levels become 0, 1, 2, ...; unordered levels become one
    column each, without the first if `drop_first`. Gaps take the value of `fill` if it has one,
    else the median (numbers; lower median for ordered levels) or the most frequent level.
    """

    #: Names of the columns that go in.
    columns: tuple[Any, ...]
    #: Levels of the columns that are no numbers, by position.
    levels: dict[int, list[Any]]
    #: What stands in for a gap of each column: a number, or the code of a level.
    fills: Floats
    #: Levels that get a column each, by the position of an unordered column.
    shown: dict[int, range]
    #: Names of the columns that come out.
    names: tuple[str, ...]

    @classmethod
    def fit(
        cls, X: pd.DataFrame, fill: Mapping[str, Any] | None = None, drop_first: bool = True
    ) -> Encoding:
        """Learn from the rows of `X`."""
        columns, kinds = tuple(X.columns), kinds_of(X)
        unknown = [name for name in fill or {} if name not in columns]
        if unknown:
            raise InputError(f"fill names columns that X does not have: {unknown}")
        if len(set(columns)) != len(columns):
            raise InputError("X must have distinct column names; some occur twice")
        levels = {i: levels_of(X.iloc[:, i]) for i, k in enumerate(kinds) if k != "number"}
        values = _values(X, levels)
        fills = np.empty(len(columns))
        own = [i for i, name in enumerate(columns) if name not in (fill or {})]
        for i in np.flatnonzero(np.isnan(values[:, own]).all(axis=0)).tolist():
            name = columns[own[i]]
            raise InputError(
                f"column {name!r} has no value in the rows it is fitted on; drop it, or "
                f"say what stands in for a gap with fill={{{name!r}: ...}}"
            )
        numeric = [i for i in own if kinds[i] == "number"]
        fills[numeric] = np.nanmedian(values[:, numeric], axis=0) if numeric else 0.0
        for i, kind in enumerate(kinds):
            if i not in own and fill:
                fills[i] = _fill_value(columns[i], fill[columns[i]], levels.get(i))
            elif kind == "ordered":
                fills[i] = np.nanquantile(values[:, i], 0.5, method="lower")
            elif kind == "unordered":
                found = values[~np.isnan(values[:, i]), i]
                fills[i] = np.bincount(found.astype(np.intp)).argmax()
        unordered = [i for i, kind in enumerate(kinds) if kind == "unordered"]
        shown = {i: range(int(drop_first), len(levels[i])) for i in unordered}
        names: list[str] = []
        for i, name in enumerate(columns):
            codes = shown.get(i)
            names += [str(name)] if codes is None else [f"{name}_{levels[i][k]}" for k in codes]
        return cls(columns, levels, fills, shown, tuple(names))

    def transform(self, X: pd.DataFrame) -> Floats:
        """Fill and encode rows; a level that was not seen counts as a gap, with a warning."""
        expected, found = set(self.columns), set(X.columns)
        missing = [c for c in self.columns if c not in found]
        extra = [c for c in X.columns if c not in expected]
        if missing or extra:
            raise InputError(
                f"X must have the columns of the rows that were fitted; missing {missing[:5]}, "
                f"not expected {extra[:5]}"
            )
        values = _values(X[list(self.columns)], self.levels)
        values = np.where(np.isnan(values), self.fills, values)
        parts = [
            values[:, [i]] == np.array(self.shown[i]) if i in self.shown else values[:, [i]]
            for i in range(len(self.columns))
        ]
        return np.hstack([np.empty((len(X), 0)), *parts])


def _values(X: pd.DataFrame, levels: dict[int, list[Any]]) -> Floats:
    """Numbers as they are and levels by their code, as one matrix; gaps are NaN."""
    values = np.empty(X.shape)
    numbers = [i for i in range(X.shape[1]) if i not in levels]
    try:
        values[:, numbers] = X.iloc[:, numbers].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"columns that were numbers when fitted must stay numbers; {error}"
        ) from error
    for i, known in levels.items():
        values[:, i] = _codes(X.iloc[:, i], known)
    # The gaps of R are signalling NaNs, at which sums inside scikit-learn warn.
    values[np.isnan(values)] = np.nan
    bad = np.flatnonzero(np.isinf(values).any(axis=0))
    if bad.size:
        raise InputError(f"column {X.columns[bad[0]]!r} holds infinite values; replace them")
    return values


def _codes(column: pd.Series, levels: list[Any]) -> Floats:
    """Position of each value among the levels; NaN for gaps and, with a warning, unseen levels."""
    import pandas as pd

    codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(column, dtype=object))
    unseen = np.flatnonzero((codes < 0) & column.notna().to_numpy())
    if unseen.size:
        values = sorted({str(v) for v in column.iloc[unseen].unique()})
        warnings.warn(
            f"column {str(column.name)!r}: level(s) {values[:5]} were not there when fitted, in "
            f"{numbered(unseen)}; they count as gaps",
            UserWarning,
            stacklevel=5,
        )
    return np.where(codes < 0, np.nan, codes)


def _fill_value(name: Any, given: Any, levels: list[Any] | None) -> float:
    """Number or code of a level that stands in for a gap."""
    if levels is None:
        return float(given)
    if given not in levels:
        raise InputError(
            f"fill for column {str(name)!r} must be one of its levels {levels}; got {given!r}"
        )
    return float(levels.index(given))


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
    """Accept tables of any library and arrays of numbers; whether columns have names."""
    import pandas as pd

    X = in_memory(X, "X")
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
