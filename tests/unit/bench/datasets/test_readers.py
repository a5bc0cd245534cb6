"""Datasets of SurvSet, lifelines and scikit-survival."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from survgauge import datasets  # noqa: E402
from survgauge.bench.datasets import catalogue, record  # noqa: E402
from survgauge.errors import InputError, MissingExtraError  # noqa: E402


def install(monkeypatch, name: str, **contents: object) -> None:
    """Put a stand-in for a package in place."""
    parent, _, child = name.partition(".")
    package, module = ModuleType(parent), ModuleType(name)
    for key, value in contents.items():
        setattr(module, key, value)
    setattr(package, child, module)
    monkeypatch.setitem(sys.modules, parent, package)
    monkeypatch.setitem(sys.modules, name, module)


def survset_with(monkeypatch, frame: pd.DataFrame) -> None:
    class SurvLoader:
        def load_dataset(self, ds_name):
            return {"df": frame, "ref": f"reference of {ds_name}"}

    install(monkeypatch, "SurvSet.data", SurvLoader=SurvLoader)


@pytest.fixture
def grace_like() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "pid": [0, 1, 2],
            "event": [1, 0, 1],
            "time": [0.0, 4.0, 2.5],
            "num_los": [1, 2, 3],
            "num_age": [50, 60, 70],
            "num_stage": [1, 2, 3],
            "fac_stage": pd.Categorical(["1", "2", "3"]),
            "fac_revasc": pd.Categorical(["0", "1", "0"]),
            "fac_stchange": pd.Categorical(["0", "1", "0"], categories=["0", "1", "9"]),
        }
    )


def test_survset_drops_leaks_and_repetitions(monkeypatch, grace_like):
    survset_with(monkeypatch, grace_like)
    ds = datasets.load("grace", check=False)
    assert list(ds.X.columns) == ["age", "stage", "stchange"]
    assert list(ds.X["stchange"].cat.categories) == ["0", "1"]
    np.testing.assert_array_equal(ds.y.time, [0, 4, 2.5])
    dropped = {item.column: item.reason for item in ds.dropped}
    assert set(dropped) == {"los", "revasc", "fac_stage"}
    assert "follow-up" in dropped["los"]
    assert ds.source == "SurvSet; reference of grace"
    assert ds.notes == ("1 subject has time 0; kept",)


def test_a_changed_package_is_noticed(monkeypatch, grace_like):
    survset_with(monkeypatch, grace_like)
    with pytest.raises(InputError, match=r"the package SurvSet .* rows: expected 1,000, found 3"):
        datasets.load("grace")
    survset_with(monkeypatch, grace_like.drop(columns="num_los"))
    with pytest.raises(InputError, match=r"lacks the column\(s\) 'los'"):
        datasets.load("grace", check=False)


def test_lifelines_stand_in(monkeypatch):
    frame = pd.DataFrame({"week": [20, 52], "arrest": [1, 0], "age": [27, 18], "prio": [3, 8]})
    install(monkeypatch, "lifelines.datasets", load_rossi=lambda: frame)
    ds = datasets.load("lifelines_rossi", check=False)
    assert list(ds.X.columns) == ["age", "prio"]
    assert ds.time_unit == "weeks"


def test_scikit_survival_stand_in(monkeypatch):
    outcome = np.array([(True, 5.0), (False, 9.0)], dtype=[("fstat", "?"), ("lenfol", "<f8")])
    X = pd.DataFrame({"age": [70.0, 80.0], "los": [3.0, 4.0]})
    install(monkeypatch, "sksurv.datasets", load_whas500=lambda: (X, outcome))
    ds = datasets.load("sksurv_whas500", check=False)
    assert list(ds.X.columns) == ["age"]
    np.testing.assert_array_equal(ds.y.event, [True, False])


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("rhc", "SurvSet", "survset"),
        ("lifelines_rossi", "lifelines", "lifelines"),
        ("sksurv_gbsg2", "sksurv", "sksurv"),
    ],
)
def test_missing_packages_name_the_extra(monkeypatch, name, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, f"{module}.datasets", None)
    monkeypatch.setitem(sys.modules, f"{module}.data", None)
    with pytest.raises(MissingExtraError, match=rf"survgauge\[{extra}\]"):
        datasets.load(name)


def test_fetching_a_bundled_set(monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"survgauge\[survset\]"):
        datasets.fetch("rhc", progress=False)


def test_bundled_sets_take_no_path(tmp_path):
    with pytest.raises(InputError, match="takes no path"):
        datasets.load("rhc", path=tmp_path)


def test_no_unsuitable_set_is_offered():
    names = set(datasets.available().names)
    assert not names & set(record.UNSUITABLE)
    assert names == set(record.SETS)


# --- the packages themselves ----------------------------------------------------------------------


def of_package(home: str, causes: bool = False) -> list[str]:
    """Names of the sets of a package, of one kind of event or of several causes."""
    found = [known for known in record.SETS.values() if known.home == home]
    return [known.name for known in found if bool(known.counts.causes) == causes]


def check_real(name: str) -> None:
    """Load with the counts compared, and look at what a model would get."""
    ds = datasets.load(name)
    assert {str(dtype) for dtype in ds.X.dtypes} <= {"float64", "category"}
    assert not {item.column for item in ds.dropped} & set(ds.X.columns)
    matrix = ds.encoded().to_numpy()
    assert np.isfinite(matrix).all()


@pytest.mark.peer
@pytest.mark.parametrize("name", of_package("SurvSet"))
def test_survset(name):
    pytest.importorskip("SurvSet")
    check_real(name)


@pytest.mark.peer
@pytest.mark.parametrize("name", of_package("lifelines"))
def test_lifelines(name):
    pytest.importorskip("lifelines")
    check_real(name)


@pytest.mark.peer
@pytest.mark.parametrize("name", of_package("sksurv"))
def test_scikit_survival(name):
    pytest.importorskip("sksurv")
    check_real(name)


@pytest.mark.peer
def test_every_set_of_survset_is_offered_or_explained():
    data = pytest.importorskip("SurvSet.data")
    known = {*of_package("SurvSet"), *record.UNSUITABLE}
    assert set(data.SurvLoader().df_ds["ds"]) == known


@pytest.mark.peer
@pytest.mark.parametrize(("ours", "theirs"), [("GBSG2", "sksurv_gbsg2"), ("actg", "sksurv_aids")])
def test_two_packages_agree_on_the_same_study(ours, theirs):
    """An independent source of the same data gives the same outcomes."""
    pytest.importorskip("SurvSet")
    pytest.importorskip("sksurv")
    one, two = datasets.load(ours).y, datasets.load(theirs).y
    assert sorted(zip(one.time, one.event, strict=True)) == sorted(
        zip(two.time, two.event, strict=True)
    )


# --- several causes -------------------------------------------------------------------------------


def test_sets_of_several_causes_are_listed_with_their_number_of_causes():
    listed = {entry.name: entry.causes for entry in datasets.available() if entry.causes > 1}
    assert listed == {
        "follic_causes": 2,
        "mgus_causes": 2,
        "flchain_causes": 3,
        "lifelines_senators_causes": 3,
        "sksurv_bmt_causes": 2,
        "sksurv_cgvhd_causes": 3,
    }


@pytest.mark.parametrize("name", of_package("SurvSet", causes=True))
def test_real_survset_with_causes(name):
    pytest.importorskip("SurvSet")
    check_real(name)


@pytest.mark.parametrize("name", of_package("lifelines", causes=True))
def test_real_lifelines_with_causes(name):
    pytest.importorskip("lifelines")
    check_real(name)


@pytest.mark.parametrize("name", of_package("sksurv", causes=True))
def test_real_scikit_survival_with_causes(name):
    module = pytest.importorskip("sksurv.datasets")
    if not hasattr(module, "load_cgvhd"):
        pytest.skip("this scikit-survival has no data of several causes")
    check_real(name)


def test_mgus_ends_with_progression(monkeypatch):
    frame = pd.DataFrame({
        "pid": [0, 1, 2, 3], "event": [1, 1, 0, 0], "time": [50, 60, 70, 80],
        "num_pctime": [np.nan, 20.0, 30.0, np.nan], "num_age": [70, 71, 72, 73],
        "num_dxyr": [68, 68, 69, 69], "fac_pcdx": ["missing", "MM", "LP", "missing"],
    })  # fmt: skip
    survset_with(monkeypatch, frame)
    ds = datasets.load("mgus_causes", check=False)
    np.testing.assert_array_equal(ds.y.time, [50, 20, 30, 80])
    np.testing.assert_array_equal(ds.y.cause, [2, 1, 1, 0])
    assert list(ds.X.columns) == ["age"]


def test_other_counts_of_causes_are_noticed(monkeypatch):
    frame = pd.DataFrame({"pid": [0, 1], "event": [1, 2], "time": [5.0, 6.0], "num_age": [1, 2]})
    survset_with(monkeypatch, frame)
    with pytest.raises(InputError, match=r"events of each cause: expected \{'relapse': 272"):
        datasets.load("follic_causes")


def test_a_package_without_the_loader_is_named(monkeypatch):
    install(monkeypatch, "sksurv.datasets")
    with pytest.raises(MissingExtraError, match=r"newer version"):
        datasets.load("sksurv_bmt_causes")
