"""Preprocessing inside the fold: what is learnt, from which rows, and what comes out."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.model_selection import KFold  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

from survgauge.data.preprocessing import (  # noqa: E402
    Encoding,
    Preprocessor,
    encoded_width,
)
from survgauge.errors import InputError, MissingExtraError  # noqa: E402


@pytest.fixture
def X() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [50.0, np.nan, 70.0, 90.0, 40.0],
            "arm": pd.Categorical(["b", "c", None, "b", "a"]),
            "grade": pd.Categorical(
                ["low", "high", "mid", None, "mid"], ["low", "mid", "high"], ordered=True
            ),
            "smoker": [True, False, True, True, False],
            "count": [1, 2, 3, 4, 5],
        }
    )


def test_fill_and_encode_by_hand(X):
    prep = Preprocessor(standardize=False)
    expected = [
        # age (median 60), arm b, arm c (mode b), grade (median mid = 1), smoker, count
        [50, 1, 0, 0, 1, 1],
        [60, 0, 1, 2, 0, 2],
        [70, 1, 0, 1, 1, 3],
        [90, 1, 0, 1, 1, 4],
        [40, 0, 0, 1, 0, 5],
    ]
    np.testing.assert_array_equal(prep.fit_transform(X), expected)
    names = ["age", "arm_b", "arm_c", "grade", "smoker", "count"]
    assert prep.get_feature_names_out().tolist() == names
    assert encoded_width(X) == len(names)
    full = Preprocessor(standardize=False, drop_first=False).fit(X)
    assert full.get_feature_names_out().tolist()[1:4] == ["arm_a", "arm_b", "arm_c"]


def test_official_fills(X):
    prep = Preprocessor(fill={"age": 33.3, "arm": "c", "grade": "high"}, standardize=False)
    Z = pd.DataFrame(prep.fit_transform(X), columns=prep.get_feature_names_out())
    assert Z.loc[1, "age"] == 33.3
    assert Z.loc[2, ["arm_b", "arm_c"]].tolist() == [0, 1]
    assert Z.loc[3, "grade"] == 2
    with pytest.raises(InputError, match=r"fill names columns that X does not have: \['agee'\]"):
        Preprocessor(fill={"agee": 1}).fit(X)
    with pytest.raises(InputError, match=r"must be one of its levels \['a', 'b', 'c'\]; got 'z'"):
        Preprocessor(fill={"arm": "z"}).fit(X)


def test_training_rows_only(X):
    """Test rows of any value change nothing in what was learnt."""
    train = X.iloc[[0, 2, 4]]
    prep = Preprocessor().fit(train)
    wild = X.iloc[[1, 3]].copy()
    wild["age"] = [1e6, np.nan]
    Z = prep.transform(wild)
    plain = Preprocessor(standardize=False).fit(train).transform(train)
    mean, deviation = plain.mean(axis=0), plain.std(axis=0)
    constant = deviation == 0
    np.testing.assert_allclose(prep.mean_, mean)
    np.testing.assert_allclose(prep.scale_, np.where(constant, 1, deviation))
    # The gap takes the median of the training rows (50), standardised with their moments.
    np.testing.assert_allclose(Z[1, 0], (50 - mean[0]) / deviation[0])


def test_standardised_columns(X):
    Z = Preprocessor().fit_transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1)


def test_levels_come_from_the_type_so_folds_agree(X):
    train = X[X["arm"] != "c"]
    assert Preprocessor().fit(train).get_feature_names_out().tolist()[1:3] == ["arm_b", "arm_c"]
    Z = Preprocessor().fit_transform(train)
    np.testing.assert_array_equal(Z[:, 2], 0)  # constant: centred, not divided by zero
    narrow = Preprocessor(drop_constant=True).fit(train)
    assert "arm_c" not in narrow.get_feature_names_out()
    assert narrow.transform(X).shape == (5, len(narrow.get_feature_names_out()))


def test_a_column_that_rounding_makes_almost_constant():
    X = pd.DataFrame({"a": [0.1] * 10, "b": np.arange(10.0)})
    Z = Preprocessor().fit_transform(X)
    assert np.abs(Z[:, 0]).max() < 1e-12


def test_unseen_levels_count_as_gaps_with_a_warning():
    train = pd.DataFrame({"city": ["x", "x", "y"]})
    prep = Preprocessor(standardize=False).fit(train)
    test = pd.DataFrame({"city": ["z", None, "y"]})
    with pytest.warns(UserWarning, match=r"'city': level\(s\) \['z'\] were not there .* row 1 "):
        Z = prep.transform(test)
    np.testing.assert_array_equal(Z, [[0], [0], [1]])
    as_category = test.astype("category")
    with pytest.warns(UserWarning, match="'city'"):
        np.testing.assert_array_equal(prep.transform(as_category), Z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prep.transform(test[1:])


def test_columns_must_agree(X):
    prep = Preprocessor(standardize=False).fit(X)
    with pytest.raises(InputError, match=r"missing \['age'\], not expected \[\]"):
        prep.transform(X.drop(columns="age"))
    with pytest.raises(InputError, match=r"missing \[\], not expected \['more'\]"):
        prep.transform(X.assign(more=1))
    shuffled = X[["count", "arm", "smoker", "grade", "age"]]
    np.testing.assert_array_equal(prep.transform(shuffled), prep.transform(X))
    with pytest.raises(InputError, match="must stay numbers"):
        prep.transform(X.assign(age=["old"] * 5))


def test_what_cannot_be_fitted(X):
    with pytest.raises(InputError, match="column 'age' has no value"):
        Preprocessor().fit(X.assign(age=np.nan))
    with pytest.raises(InputError, match="column 'arm' has no value"):
        Preprocessor().fit(X[X["arm"].isna()].drop(columns="grade"))
    assert Preprocessor(fill={"age": 1.0}).fit(X.assign(age=np.nan)).mean_[0] == 1.0
    with pytest.raises(InputError, match="column 'age' holds infinite values"):
        Preprocessor().fit(X.assign(age=np.inf))
    with pytest.raises(InputError, match="column 'day' must hold numbers, text or categories"):
        Preprocessor().fit(X.assign(day=pd.Timestamp("2020-01-01")))
    with pytest.raises(InputError, match="at least one row"):
        Preprocessor().fit(X[:0])
    with pytest.raises(InputError, match="distinct column names"):
        Preprocessor().fit(X[["age", "age"]])
    with pytest.raises(InputError, match="got shape"):
        Preprocessor().fit([1.0, 2.0])
    with pytest.raises(NotFittedError):
        Preprocessor().transform(X)


def test_scikit_learn_manners(X):
    prep = Preprocessor(fill={"age": 1.0}, drop_constant=True)
    twin = clone(prep)
    assert twin.get_params() == prep.get_params()
    assert not hasattr(twin, "encoding_")
    prep.fit(X)
    assert prep.n_features_in_ == 5
    assert prep.feature_names_in_.tolist() == list(X.columns)
    again = pickle.loads(pickle.dumps(prep))
    np.testing.assert_array_equal(again.transform(X), prep.transform(X))
    frame = clone(prep).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == prep.get_feature_names_out().tolist()
    assert frame.index.equals(X.index)
    np.testing.assert_array_equal(frame, prep.transform(X))
    model = make_pipeline(Preprocessor(), Ridge()).fit(X, [1.0, 2, 3, 4, 5])
    assert model.predict(X).shape == (5,)
    assert model[:-1].get_feature_names_out().tolist()[0] == "age"


def test_arrays(X):
    values = np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 8.0]])
    prep = Preprocessor(standardize=False).fit(values)
    np.testing.assert_array_equal(prep.transform(values), [[1, 6], [3, 4], [5, 8]])
    assert prep.get_feature_names_out().tolist() == ["x0", "x1"]
    assert not hasattr(prep, "feature_names_in_")
    prep.fit(X).fit(values)
    assert not hasattr(prep, "feature_names_in_")


def test_polars_frames(X):
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame = pl.DataFrame({"age": [50.0, None, 70.0], "arm": ["a", "b", "b"]})
    Z = Preprocessor(standardize=False).fit_transform(frame)
    np.testing.assert_array_equal(Z, [[50, 0], [60, 1], [70, 1]])


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_nullable_types(dtype):
    X = pd.DataFrame({"a": pd.array([1, None, 0, 0], dtype=dtype)})
    Z = Preprocessor(standardize=False).fit_transform(X)
    np.testing.assert_array_equal(Z[:, 0], [1, 0, 0, 0])


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "survgauge.data.preprocessing")
    with pytest.raises(MissingExtraError, match=r"survgauge\[sklearn\]"):
        importlib.import_module("survgauge.data.preprocessing").Preprocessor  # noqa: B018


# --- properties -----------------------------------------------------------------------------------

numbers = st.one_of(st.none(), st.floats(-1e6, 1e6))
letters = st.one_of(st.none(), st.sampled_from("abcd"))
tables = st.lists(st.tuples(numbers, numbers, letters, letters), min_size=1, max_size=30)


def naive(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    """Fill and encode cell by cell."""
    rows = []
    for _, row in test.iterrows():
        cells: list[float] = []
        for name in train.columns:
            known = [v for v in train[name] if not pd.isna(v)]
            value = row[name]
            if name.startswith("n"):
                ranked = sorted(known)
                middle = (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2
                cells.append(middle if pd.isna(value) else float(value))
                continue
            levels = list(train[name].dtype.categories)
            if pd.isna(value):
                if name.startswith("o"):
                    value = sorted(known)[(len(known) - 1) // 2]
                else:
                    value = max(levels, key=lambda level, seen=known: seen.count(level))
            if name.startswith("o"):
                cells.append(float(levels.index(value)))
            else:
                cells.extend(float(level == value) for level in levels[1:])
        rows.append(cells)
    return np.array(rows)


@settings(max_examples=60, deadline=None)
@given(tables, tables)
def test_against_a_cell_by_cell_oracle(train_rows, test_rows):
    def frame(rows):
        table = pd.DataFrame(rows, columns=["n1", "n2", "u", "o"])
        return table.astype(
            {
                "n1": float,
                "n2": float,
                "u": pd.CategoricalDtype(list("abcd")),
                "o": pd.CategoricalDtype(list("abcd"), ordered=True),
            }
        )

    train, test = frame(train_rows), frame(test_rows)
    if train.isna().all().any():
        with pytest.raises(InputError, match="has no value"):
            Encoding.fit(train)
        return
    found = Encoding.fit(train).transform(test)
    np.testing.assert_allclose(found, naive(train, test), rtol=1e-12)
    assert found.shape[1] == encoded_width(train)


@pytest.mark.skipif(
    not os.environ.get("SURVGAUGE_DATA"), reason="SURVGAUGE_DATA names no folder with the data"
)
@pytest.mark.parametrize(("name", "columns"), [("gbm", 10), ("support", 31), ("metabric", 9)])
def test_folds_of_the_papers_data(name, columns):
    from survgauge import datasets

    ds = datasets.load(name)
    for train, test in KFold(5, shuffle=True, random_state=0).split(ds.X):
        prep = clone(ds.preprocessor()).fit(ds.X.iloc[train])
        for rows in (train, test):
            Z = prep.transform(ds.X.iloc[rows])
            assert Z.shape == (len(rows), columns)
            assert np.isfinite(Z).all()
