"""Datasets by name and by path: counts, search order, messages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from survgauge import datasets  # noqa: E402
from survgauge.bench.datasets import catalogue, readers  # noqa: E402
from survgauge.bench.datasets.record import SETS, Counts  # noqa: E402
from survgauge.errors import InputError  # noqa: E402

SHARED = os.environ.get("SURVGAUGE_DATA")
needs_shared = pytest.mark.skipif(not SHARED, reason="SURVGAUGE_DATA names no folder with the data")


def support_table(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """A table with the columns and the levels of support2."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.normal(10, 2, n).round(3) for name in SETS["support"].columns})
    frame["sex"] = rng.choice(["male", "female"], n)
    frame["dzclass"] = rng.choice(["ARF/MOSF", "Cancer", "Coma", "COPD/CHF/Cirrhosis"], n)
    frame["race"] = rng.choice(["white", "black", "asian"], n)
    frame["income"] = rng.choice([*readers.INCOME, None], n)
    frame["ca"] = rng.choice(["no", "yes", "metastatic"], n)
    frame.loc[:5, "alb"] = np.nan
    for name in SETS["support"].drop:
        frame[name] = 1.0
    frame["d.time"] = rng.integers(3, 2000, n)
    frame["death"] = rng.integers(0, 2, n)
    return frame


@pytest.fixture
def empty_machine(tmp_path, monkeypatch):
    """No data folder, an empty cache, and nothing to be had from elsewhere."""
    monkeypatch.delenv("SURVGAUGE_DATA", raising=False)
    monkeypatch.setenv("SURVGAUGE_CACHE", str(tmp_path / "cache"))

    def offline(source, progress):
        raise InputError(f"{source.name}: offline")

    monkeypatch.setattr(catalogue, "download", offline)
    return tmp_path


# --- the paper's datasets ------------------------------------------------------------------------


@needs_shared
@pytest.mark.parametrize(
    ("name", "rows", "events", "censored", "last", "features", "encoded"),
    [
        # Table 1 of the paper.
        ("gbm", 595, 490, 17.65, 3881, 8, 10),
        ("support", 9105, 6201, 31.89, 1944, 26, 31),
        ("metabric", 1904, 1103, 42.07, 355, 9, 9),
    ],
)
def test_the_papers_counts(name, rows, events, censored, last, features, encoded):
    ds = datasets.load(name)
    assert (len(ds), int(ds.y.event.sum())) == (rows, events)
    assert round(100 * (1 - ds.y.event.mean()), 2) == censored
    assert round(ds.y.time[ds.y.event].max()) == last
    assert ds.X.shape == (rows, features)
    matrix = ds.encoded()
    assert matrix.shape == (rows, encoded)
    assert np.isfinite(matrix.to_numpy()).all()
    assert np.linalg.matrix_rank(matrix - matrix.mean()) == encoded
    assert datasets.available()[name].censored == censored


@needs_shared
def test_support_gaps_take_the_official_values():
    ds = datasets.load("support")
    matrix = ds.encoded()
    official = {"alb": 3.5, "pafi": 333.3, "bili": 1.01, "crea": 1.01, "bun": 6.51, "wblc": 9}
    for column, value in {**official, "urine": 2502}.items():
        gaps = ds.X[column].isna()
        assert gaps.any()
        assert (matrix.loc[gaps, column] == value).all()
    gaps = ds.X["glucose"].isna()
    assert (matrix.loc[gaps, "glucose"] == ds.X["glucose"].median()).all()
    assert ds.X["income"].cat.ordered
    assert (matrix.loc[ds.X["income"].isna(), "income"] == 1.0).all()  # the median level
    assert not {item.column for item in ds.dropped} & set(ds.X.columns)


@needs_shared
def test_a_file_of_another_set_is_refused():
    with pytest.raises(InputError, match=r"lacks the column\(s\) 'age'.*it has"):
        datasets.load("support", path=Path(str(SHARED)) / "gbm.csv")


@needs_shared
def test_metabric_is_the_same_in_single_precision(tmp_path):
    """The wheel holds float32, the CSV decimals: both must give the same doubles."""
    pytest.importorskip("pyarrow")
    csv = datasets.load("metabric", path=SHARED)
    pd.read_csv(Path(str(SHARED)) / "metabric.csv").astype("float32").to_feather(
        tmp_path / "metabric.feather"
    )
    feather = datasets.load("metabric", path=tmp_path)
    pd.testing.assert_frame_equal(csv.X, feather.X)
    np.testing.assert_array_equal(csv.y.time, feather.y.time)


# --- generated files ------------------------------------------------------------------------------


def test_a_wrong_file_fails_with_both_counts(tmp_path):
    support_table(40).to_csv(tmp_path / "support2.csv", index=False)
    with pytest.raises(InputError) as caught:
        datasets.load("support", path=tmp_path)
    message = str(caught.value)
    assert "rows: expected 9,105, found 40" in message
    assert re.search(r"events: expected 6,201, found \d+", message)
    assert "check=False" in message
    ds = datasets.load("support", path=tmp_path / "support2.csv", check=False)
    assert len(ds) == 40


def test_counts_accept_the_rounding_of_the_paper_only():
    expected = Counts(10, 5, 355)
    assert expected.differences(Counts(10, 5, 355.2)) == []
    assert expected.differences(Counts(10, 5, 356.0)) == [
        "largest event time: expected 355, found 356"
    ]


def test_support_is_built_as_the_paper_does(tmp_path):
    table = support_table(60)
    table.to_csv(tmp_path / "support2.csv", index=False)
    ds = datasets.load("support", path=tmp_path, check=False)
    assert list(ds.X.columns) == list(SETS["support"].columns)
    np.testing.assert_array_equal(ds.X["ca"], table["ca"] == "metastatic")
    assert list(ds.X["income"].cat.categories) == list(readers.INCOME)
    assert ds.X["alb"].isna().sum() == 6
    assert (ds.encoded()["alb"][:6] == 3.5).all()
    # ARF/MOSF and asian come first in their order: the levels without a column.
    dummies = [name for name in ds.encoded().columns if name.startswith(("dzclass", "race"))]
    assert dummies == [
        "dzclass_COPD/CHF/Cirrhosis",
        "dzclass_Cancer",
        "dzclass_Coma",
        "race_black",
        "race_white",
    ]


def test_support_refuses_levels_it_does_not_know(tmp_path):
    table = support_table()
    table.loc[3, "income"] = "plenty"
    table.to_csv(tmp_path / "support2.csv", index=False)
    with pytest.raises(InputError, match=r"'income' must hold one of .* got \['plenty'\]"):
        datasets.load("support", path=tmp_path, check=False)
    table = support_table()
    table.loc[3, "ca"] = "perhaps"
    table.to_csv(tmp_path / "support2.csv", index=False)
    with pytest.raises(InputError, match="'ca' must hold"):
        datasets.load("support", path=tmp_path, check=False)


def test_support_out_of_the_publishers_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "support2csv.zip", "w") as bundle:
        bundle.writestr("folder/support2.csv", support_table().to_csv(index=False))
    assert len(datasets.load("support", path=tmp_path, check=False)) == 40


def picked_clinical() -> pd.DataFrame:
    """TCGA's layout: features in rows, patients in columns."""
    return pd.DataFrame(
        {
            "Hybridization REF": ["tcga-1", "tcga-2", "tcga-3", "tcga-4"],
            "Composite Element REF": ["value"] * 4,
            "years_to_birth": ["44", "50", "68", "60"],
            "vital_status": ["1", "0", "1", "0"],
            "days_to_death": ["45", "NA", "121", "NA"],
            "days_to_last_followup": ["NA", "10", "NA", "NA"],
            "tumor_tissue_site": ["brain"] * 4,
            "gender": ["female", "male", "male", "male"],
            "date_of_initial_pathologic_diagnosis": ["2011", "2013", "2000", "2001"],
            "karnofsky_performance_score": ["NA", "80", "60", "70"],
            "radiation_therapy": ["no", "NA", "yes", "yes"],
            "histological_type": ["a", "b", "a", "a"],
            "race": ["white", "asian", "white", "white"],
            "ethnicity": ["hispanic or latino", "NA", "not hispanic or latino", "NA"],
        }
    ).T


def test_gbm_from_the_picked_clinical_file(tmp_path):
    file = tmp_path / "GBM.clin.merged.picked.txt"
    picked_clinical().to_csv(file, sep="\t", header=False)
    ds = datasets.load("gbm", path=tmp_path, check=False)
    # The fourth patient has neither a death nor a follow-up.
    np.testing.assert_array_equal(ds.y.time, [45, 10, 121])
    np.testing.assert_array_equal(ds.y.event, [True, False, True])
    assert ds.X["karnofsky_performance_score"].isna().tolist() == [True, False, False]
    assert str(ds.X["years_to_birth"].dtype) == "float64"


def test_metabric_from_deepsurvs_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    rng = np.random.default_rng(0)
    parts = {"train": 7, "test": 3}
    file = tmp_path / "metabric_IHC4_clinical_train_test.h5"
    with h5py.File(file, "w") as store:
        for part, n in parts.items():
            store[f"{part}/x"] = rng.normal(size=(n, 9)).astype("float32")
            store[f"{part}/t"] = np.arange(n, dtype="float32") + (100 if part == "test" else 0)
            store[f"{part}/e"] = np.ones(n, dtype="int32")
    ds = datasets.load("metabric", path=file, check=False)
    np.testing.assert_array_equal(ds.y.time, [*range(7), 100, 101, 102])
    assert ds.notes == ("1 subject has time 0; kept",)
    file.write_bytes(b"no HDF5")
    with pytest.raises(InputError, match="not DeepSurv's METABRIC file"):
        datasets.load("metabric", path=file, check=False)


# --- search order ---------------------------------------------------------------------------------


def test_search_order(empty_machine, monkeypatch):
    """Path, then SURVGAUGE_DATA, then the cache, then elsewhere."""
    given, shared = empty_machine / "given", empty_machine / "shared"
    cache = empty_machine / "cache" / "support"
    for folder in (given, shared, cache):
        folder.mkdir(parents=True)

    def rows(**options: object) -> int:
        return len(datasets.load("support", check=False, **options))

    with pytest.raises(InputError, match="support: offline"):
        rows()
    support_table(21).to_csv(cache / "support2.csv", index=False)
    assert rows() == 21
    assert datasets.available()["support"].where.startswith("cache: ")
    monkeypatch.setenv("SURVGAUGE_DATA", str(shared))
    assert rows() == 21
    support_table(22).to_csv(shared / "support2.csv", index=False)
    assert rows() == 22
    assert datasets.available()["support"].where.startswith("SURVGAUGE_DATA: ")
    support_table(23).to_csv(given / "support2.csv", index=False)
    assert rows(path=given) == 23


def test_a_path_never_falls_through(empty_machine, monkeypatch):
    support_table().to_csv(empty_machine / "support2.csv", index=False)
    monkeypatch.setenv("SURVGAUGE_DATA", str(empty_machine))
    with pytest.raises(InputError, match="is neither"):
        datasets.load("support", path=empty_machine / "nowhere")
    (empty_machine / "bare").mkdir()
    with pytest.raises(InputError, match=r"holds none of support2\.csv"):
        datasets.load("support", path=empty_machine / "bare")


def test_missing_files_say_what_to_do(empty_machine, monkeypatch):
    with pytest.raises(InputError, match=r"gbm is not on this machine.*pass path=.*2016-01-28"):
        datasets.load("gbm", fetch_missing=False)
    entry = datasets.available()["gbm"]
    assert not entry.available
    assert "survgauge datasets fetch gbm" in entry.where
    monkeypatch.setenv("SURVGAUGE_DATA", str(empty_machine / "gone"))
    with pytest.raises(InputError, match="SURVGAUGE_DATA must name a folder"):
        datasets.load("gbm")


def test_unknown_names_suggest_known_ones():
    with pytest.raises(InputError, match="did you mean support"):
        datasets.load("suport")
    with pytest.raises(InputError, match="did you mean lifelines_rossi"):
        datasets.load("rossi")
    with pytest.raises(InputError, match=r"mgus .* not offered: columns measured after"):
        datasets.load("mgus")
    with pytest.raises(InputError, match="needs a name"):
        datasets.load()
    with pytest.raises(InputError, match="unknown dataset 'x'"):
        datasets.fetch("x")


# --- the list -------------------------------------------------------------------------------------


def test_listing(empty_machine):
    listing = datasets.available()
    assert len(listing) == len(set(listing.names)) > 80
    frame = listing.frame()
    assert list(frame.columns[:4]) == ["name", "rows", "events", "censored"]
    assert (frame["events"] <= frame["rows"]).all()
    lines = str(listing).splitlines()
    assert len(lines) == len(listing) + 2
    assert lines[3].split()[:4] == ["support", "9,105", "6,201", "31.9"]
    assert listing["mimic_h"].rows == 293_907
    with pytest.raises(KeyError):
        listing["nothing"]


def test_listing_imports_nothing_heavy():
    code = (
        "import sys, survgauge.bench.datasets as d; str(d.available()); "
        "heavy = {'pandas', 'scipy.stats', 'duckdb', 'pooch', 'sklearn', 'pyarrow', 'lifelines', "
        "'SurvSet', 'sksurv', 'h5py'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- tables of one's own --------------------------------------------------------------------------


@pytest.fixture
def own_table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "months": [5, 8, 0, 12],
            "died": [1, 0, 1, 0],
            "age": [61, 70, 58, None],
            "arm": ["b", "a", None, "b"],
            "smoker": [True, False, True, True],
            "id": ["p1", "p2", "p3", "p4"],
        }
    )


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", ".feather"])
def test_from_file(own_table, tmp_path, ending):
    file = tmp_path / f"study{ending}"
    if ending in (".parquet", ".feather"):
        pytest.importorskip("pyarrow")
        getattr(own_table, f"to_{ending[1:]}")(file)
    else:
        own_table.to_csv(file, index=False, sep="\t" if ending == ".tsv" else ",")
    ds = datasets.load(path=file, time="months", event="died", drop=["id"])
    assert ds.name == "study"
    np.testing.assert_array_equal(ds.y.time, [5, 8, 0, 12])
    np.testing.assert_array_equal(ds.y.event, [True, False, True, False])
    assert [str(t) for t in ds.X.dtypes] == ["float64", "category", "float64"]
    assert ds.encoded().to_numpy().tolist() == [[61, 1, 1], [70, 0, 0], [58, 1, 1], [61, 1, 1]]
    assert ds.notes == ("1 subject has time 0; kept",)
    assert [item.column for item in ds.dropped] == ["id"]
    assert datasets.load("mine", path=file, time="months", event="died").name == "mine"


def test_a_flipped_bit_in_a_parquet_file_with_checksums_is_found(own_table, tmp_path):
    pytest.importorskip("pyarrow")
    file = tmp_path / "study.parquet"
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    own_table.to_parquet(file, **options)
    assert datasets.from_file(file, time="months", event="died", drop="id").y.time[1] == 8
    content = bytearray(file.read_bytes())
    content[content.index(own_table["months"].to_numpy().tobytes()) + 8] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"study\.parquet cannot be read as parquet"):
        datasets.from_file(file, time="months", event="died", drop="id")


def test_from_file_errors(own_table, tmp_path):
    file = tmp_path / "study.csv"
    own_table.to_csv(file, index=False)
    with pytest.raises(
        InputError, match=r"lacks the column\(s\) 'time', 'event'; it has \['months'"
    ):
        datasets.load(path=file)
    with pytest.raises(InputError, match="'nothing'"):
        datasets.from_file(file, time="months", event="died", drop="nothing")
    with pytest.raises(InputError, match="no such file"):
        datasets.load(path=tmp_path / "gone.csv", time="months", event="died")
    with pytest.raises(InputError, match="event"):
        datasets.from_file(file, time="months", event="age")
    with pytest.raises(InputError, match="has its columns"):
        datasets.load("support", path=file, time="months")
    own_table.to_pickle(tmp_path / "study.pkl")
    with pytest.raises(InputError, match="pickles are not read"):
        datasets.load(path=tmp_path / "study.pkl", time="months", event="died")
    (tmp_path / "study.xlsx").write_bytes(b"")
    with pytest.raises(InputError, match="ending must be one of"):
        datasets.load(path=tmp_path / "study.xlsx")
    (tmp_path / "broken.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        datasets.load(path=tmp_path / "broken.parquet")


def test_dates_are_refused_with_advice(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {"time": [1.0, 2.0], "event": [1, 0], "day": pd.to_datetime(["2020-01-01", "2020-01-02"])}
    )
    frame.to_parquet(tmp_path / "dates.parquet")
    with pytest.raises(InputError, match="column 'day' must hold numbers, text or categories"):
        datasets.from_file(tmp_path / "dates.parquet")


def test_identifiers_are_pointed_out(tmp_path):
    n = 30
    frame = pd.DataFrame(
        {"time": np.arange(n), "event": 1, "name": [f"person {i}" for i in range(n)]}
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    with pytest.warns(UserWarning, match=r"\['name'\] have a different text in nearly every row"):
        datasets.from_file(tmp_path / "people.csv")


def test_record(own_table, tmp_path):
    own_table.to_csv(tmp_path / "study.csv", index=False)
    ds = datasets.from_file(tmp_path / "study.csv", time="months", event="died", drop="id")
    with pytest.raises(InputError, match="same length; got 2 and 4"):
        replace(ds, X=ds.X[:2])
    with pytest.raises(AttributeError):
        ds.name = "other"
    prep = ds.preprocessor(standardize=False)
    np.testing.assert_array_equal(prep.fit_transform(ds.X), ds.encoded())
