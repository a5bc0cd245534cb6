"""Bad and awkward input that once crashed, leaked a warning or gave a wrong number."""

import json
import os
import pickle

import numpy as np
import pytest

import survgauge as sg
from survgauge._tools.writing import write_atomically
from survgauge.cli.main import main
from survgauge.evaluation.inference import bootstrap_counts
from survgauge.metrics.task import Task

RNG = np.random.default_rng(5)
N = 40
TIME = RNG.integers(1, 20, N).astype(float)
EVENT = RNG.random(N) < 0.6
Y = sg.Outcomes(TIME, EVENT)
GRID = np.linspace(0, 25, 11)
SURVIVAL = np.exp(-np.outer(RNG.uniform(0.05, 0.2, N), GRID))
CURVES = sg.SurvivalCurves(GRID, SURVIVAL)
PREDICTED = RNG.uniform(1, 20, N)


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (np.array(["1", "2"], dtype=object), "time must be numbers; got str '1'"),
        ([10**400, 1], "time must be numbers"),
        ([1e308, 1.0], r"time must be at most 1e\+60"),
        ([1e-300, 2e-300], "time must reach 1e-60, or squares are 0; got at most 2e-300"),
        (np.array([np.longdouble("1e4000"), 1]), "time must be finite"),
    ],
)
def test_times_that_are_text_or_too_large_are_refused(time, words):
    with pytest.raises(sg.InputError, match=words):
        sg.Outcomes(time, [1, 0])


def test_selections_are_vectors_and_not_empty():
    with pytest.raises(sg.InputError, match="selection of outcomes is empty"):
        Y[[]]
    with pytest.raises(sg.InputError, match="1 dimension"):
        Y[[[0, 1]]]


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("tail", ["linear", "exponential", "hold", "nan"])
@pytest.mark.parametrize("end", [0.0, 0.4, 1.0])
def test_curves_can_be_read_at_infinity(interpolation, tail, end):
    curves = sg.SurvivalCurves([0, 10, 20], [[1.0, 1.0, end]], interpolation, tail)
    limit = {"linear": 0.0, "exponential": 0.0, "hold": end, "nan": np.nan}[tail]
    expected = end if end == 0 or (end == 1 and tail != "nan") else limit
    np.testing.assert_equal(curves.at(np.inf), [expected])
    np.testing.assert_equal(curves.at([np.inf]), [[expected]])


@pytest.mark.parametrize("bad", ["x", [1.0, 2.0], np.nan, None])
def test_one_number_is_asked_for_by_name(bad):
    for call in (
        lambda: CURVES.rmst(bad),
        lambda: sg.KaplanMeier.fit(Y).quantile(bad),
        lambda: CURVES.quantile(bad),
        lambda: sg.mae(Y, PREDICTED, tau=bad if bad is not None else "none"),
        lambda: sg.evaluate(PREDICTED, Y, confidence=bad if bad is not None else "none"),
    ):
        with pytest.raises(sg.InputError):
            call()


def test_kaplan_meier_has_no_value_at_nan():
    with pytest.raises(sg.InputError, match="got NaN"):
        sg.KaplanMeier.fit(Y).at([1.0, np.nan])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_boot": -1}, "n_boot"),
        ({"n_boot": 1.5}, "n_boot"),
        ({"metrics": []}, "at least one metric"),
        ({"metrics": 5}, "list of names"),
        ({"min_at_risk": 0}, "min_at_risk"),
        ({"min_g": np.nan}, "min_g"),
        ({"time": [3, -4]}, "time must be finite and positive; got -4"),
        ({"time": []}, "time must be one or several times"),
        ({"time": [[3, 4]]}, "time must have 1 dimension"),
        ({"by": np.r_[np.nan, np.ones(N - 1)]}, "missing in row 1 "),
        ({"by": np.array([None] + ["a"] * (N - 1), dtype=object)}, "missing in row 1 "),
        ({"by": np.array([1, "a"] * (N // 2), dtype=object)}, "labels of one kind"),
    ],
)
def test_evaluate_names_the_bad_option(options, words):
    with pytest.raises(sg.InputError, match=words):
        sg.evaluate(CURVES, Y, **{"metrics": ["mae_po"], **options})


def test_evaluate_refuses_unknown_settings():
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        sg.evaluate(CURVES, Y, foo=1)


def test_names_that_collide_and_ragged_predictions_are_refused():
    with pytest.raises(sg.InputError, match="distinct names"):
        sg.evaluate({1: PREDICTED, "1": PREDICTED}, Y)
    with pytest.raises(sg.InputError, match="predictions of 'model'"):
        sg.evaluate([[1], [1, 2]], Y)


def test_unknown_settings_of_a_scorer_are_refused_when_it_is_made():
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        sg.scorer("mae_po", foo=1)


def test_a_curve_that_never_falls_does_not_stop_the_evaluation():
    survival = SURVIVAL.copy()
    survival[0] = 1.0
    result = sg.evaluate(sg.SurvivalCurves(GRID, survival), Y, metrics=["mae_po", "ibs"])
    values = {row["metric"]: row["value"] for row in result.rows()}
    assert np.isnan(values["mae_po"])
    assert np.isfinite(values["ibs"])
    assert "undefined-metric" in {w.code for w in result.warnings}


def test_a_group_of_one_has_no_standard_error_and_warnings_name_groups():
    result = sg.evaluate(CURVES, Y, by=["x"] + ["y"] * (N - 1), metrics=["mae_po", "harrell"])
    alone = [row for row in result.rows() if row["group"] == "x"]
    assert all(np.isnan(row["stderr"]) for row in alone)
    assert ("x", "harrell") in {(w.group, w.metric) for w in result.cases}
    assert set(result.support["metrics"]["model"]["groups"]) == {"x", "y"}


@pytest.mark.parametrize("unit", [1e-60, 1e50])
def test_any_unit_gives_the_same_squared_errors(unit):
    names = ["mse_po", "rmse_expected", "crps"]
    plain = sg.evaluate(CURVES, Y, metrics=names).rows()
    curves = sg.SurvivalCurves(GRID * unit, SURVIVAL)
    scaled = sg.evaluate(curves, sg.Outcomes(TIME * unit, EVENT), metrics=names).rows()
    for a, b in zip(plain, scaled, strict=True):
        factor = unit**2 if a["unit"] == "time^2" else unit
        assert b["value"] == pytest.approx(a["value"] * factor, rel=1e-9)
        assert b["stderr"] == pytest.approx(a["stderr"] * factor, rel=1e-9)


@pytest.mark.parametrize("train", [None, ([0.0, 0.0], [1, 0])])
def test_follow_up_that_ends_at_zero_is_undefined_not_an_error(train):
    y = ([0.0, 0.0, 0.0, 0.0], [1, 0, 1, 0])
    result = sg.evaluate(CURVES[:4], y, y_train=train, n_boot=10)
    said = {w.metric for w in result.cases if w.code == "undefined-metric"}
    assert {"uno", "ibs", "auc"} <= said


def test_one_event_leaks_no_warning_from_the_bootstrap():
    y = sg.Outcomes(TIME[:30], np.arange(30) == 3)
    assert sg.evaluate(CURVES[:30], y, metrics=["ici"]).rows()


def test_too_few_replicates_say_so():
    result = sg.evaluate(CURVES, Y, metrics=["mae_po"], n_boot=3, reference="redrawn")
    assert "few-replicates" in {w.code for w in result.warnings}


def test_an_evaluation_can_be_pickled_and_written_as_json():
    days = np.array(["2020-01-01", "2021-01-01"] * (N // 2), dtype="datetime64[D]")
    result = sg.evaluate(CURVES, Y, metrics=["mae_po", "ici"], by=days)
    assert pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()
    assert json.dumps(result.to_dict(), allow_nan=False)


def test_time_of_interest_and_horizon_count_frequencies():
    rng = np.random.default_rng(0)
    for _ in range(20):
        weight = rng.integers(0, 4, N)
        rows = np.repeat(np.arange(N), weight)
        one = Task.of(sg.Outcomes(TIME, EVENT, weight))
        other = Task.of(sg.Outcomes(TIME[rows], EVENT[rows]))
        assert (one.time, one.horizon) == (other.time, other.horizon)


def test_bootstrap_draws_subjects_not_rows():
    weight = np.array([0.0, 3.0, 7.0])
    counts = [bootstrap_counts(3, b, 0, frequency=weight) for b in range(200)]
    assert all(c[0] == 0 for c in counts)
    assert np.mean(counts, axis=0) == pytest.approx([0, 3, 7], abs=0.6)
    heavy = sg.Outcomes(TIME, EVENT, np.full(N, 9.0))
    options = {"metrics": ["km_calibration"], "random_state": 1}
    light = sg.evaluate(CURVES, Y, **options).rows()[0]["stderr"]
    # Nine times the subjects: a third of the standard error.
    ratio = light / sg.evaluate(CURVES, heavy, **options).rows()[0]["stderr"]
    assert 2.2 < ratio < 4.0


def test_censoring_that_depends_on_the_subject_is_cut_to_groups():
    rate = np.linspace(0.01, 0.02, N)
    groups = np.repeat(["a", "b"], N // 2)
    result = sg.evaluate(
        CURVES, Y, by=groups, metrics=["ibs"], censoring=lambda t, side: np.exp(-rate * t)
    )
    first = sg.evaluate(
        CURVES[: N // 2],
        Y[: N // 2],
        metrics=["ibs"],
        min_at_risk=1,
        censoring=lambda t, side: np.exp(-rate[: N // 2] * t),
    )
    assert {row["group"] for row in result.rows()} == {None, "a", "b"}
    assert np.isfinite(first.rows()[0]["value"])


def test_writing_follows_links_and_spares_pipes(tmp_path):
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to(real)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    os.mkfifo(pipe)
    with pytest.raises(sg.InputError, match="device or a pipe"):
        write_atomically(pipe, "text")
    assert pipe.is_fifo()


def test_folders_dates_and_compressed_files_are_named(tmp_path, capsys):
    (tmp_path / "y.csv").write_bytes(b"\x1f\x8b\x08")
    assert main(["evaluate", "--test", str(tmp_path), "--pred", "a=b"]) == 2
    assert "--train must be given where --test is a folder" in capsys.readouterr().err
    assert main(["evaluate", "--test", str(tmp_path / "y.csv"), "--pred", "a=b"]) == 2
    assert "unpack" in capsys.readouterr().err
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"time": pd.to_timedelta([1, 2], "D"), "event": [1, 0]})
    frame.to_parquet(tmp_path / "y.parquet")
    assert main(["evaluate", "--test", str(tmp_path / "y.parquet"), "--pred", "a=b.csv"]) == 2
    assert "dates or durations" in capsys.readouterr().err
