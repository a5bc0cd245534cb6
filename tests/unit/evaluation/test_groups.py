"""Groups by several columns: their names, what is refused, and whether they differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import survgauge as sg

RNG = np.random.default_rng(5)
N = 200
_EVENT, _CENSORING = RNG.weibull(1.3, N) * 300, RNG.uniform(0, 900, N)
Y = sg.Outcomes(time=np.minimum(_EVENT, _CENSORING), event=_EVENT <= _CENSORING)
SEX = np.where(np.arange(N) % 2 == 0, "f", "m")
STAGE = np.arange(N) % 3
MODELS = {"a": RNG.uniform(100, 400, N), "b": np.full(N, 200.0)}


def evaluated(by, models=MODELS, metrics=("mae_uncensored", "mae_within", "uno")):
    return sg.evaluate(models, Y, y_train=Y, metrics=list(metrics), by=by, unit="days")


def told_differences(ev):
    return ev.group_differences().to_dict("records")


def test_a_mapping_and_frames_of_pandas_and_polars_agree():
    polars = pytest.importorskip("polars")
    columns = {"sex": SEX, "stage": STAGE}
    first = evaluated(columns)
    assert set(first.table["group"]) == {
        "all subjects", "sex=f", "sex=m", "stage=0", "stage=1", "stage=2",
    }  # fmt: skip
    for frame in (pd.DataFrame(columns), polars.DataFrame(columns)):
        pd.testing.assert_frame_equal(evaluated(frame).table, first.table)


def test_the_test_between_groups_is_cochrans_q_on_the_scale_of_the_interval():
    ev = evaluated({"sex": SEX, "stage": STAGE})
    found = {(r["by"], r["model"], r["metric"]): r for r in told_differences(ev)}
    for column, labels in (("sex", "fm"), ("stage", "012")):
        ps = []
        for model in ("a", "b"):
            cells = [
                row for row in ev.rows()
                if row["model"] == model and row["metric"] == "mae_within"
                and row.get("group") in [f"{column}={label}" for label in labels]
            ]  # fmt: skip
            # The intervals of errors are symmetric on the scale of the logarithm.
            value = np.log([row["value"] for row in cells])
            weight = np.array([(row["value"] / row["stderr"]) ** 2 for row in cells])
            statistic = np.sum(weight * (value - np.sum(weight * value) / weight.sum()) ** 2)
            row = found[column, model, "mae_within"]
            assert row["groups"] == len(labels)
            assert row["statistic"] == pytest.approx(statistic, rel=1e-12)
            assert row["p_value"] == pytest.approx(chi2.sf(statistic, len(labels) - 1), rel=1e-9)
            assert row["least"] == cells[int(value.argmin())]["group"]
            assert row["largest"] == cells[int(value.argmax())]["group"]
            ps.append(row["p_value"])
        adjusted = [found[column, m, "mae_within"]["p_holm"] for m in ("a", "b")]
        assert adjusted == pytest.approx(sg.holm(ps).tolist())


def test_a_difference_that_is_there_is_found_and_told():
    off = np.where(SEX == "f", 1.0, 5.0)
    ev = evaluated({"sex": SEX}, {"off": off * 200.0}, ["mae_within"])
    (row,) = told_differences(ev)
    assert row["p_value"] < 1e-6
    assert (row["least"], row["largest"]) == ("sex=f", "sex=m")
    assert "of off differs between groups of sex (p < 0.001)" in ev.verdict


def test_one_sentence_says_that_several_models_show_no_difference():
    near = {"a": np.full(N, 200.0), "b": np.full(N, 201.0)}
    ev = evaluated({"coin": np.arange(N) // 2 % 2}, near, ["mae_within"])
    least = min(row["p_holm"] for row in told_differences(ev))
    assert least > 0.05
    assert ev.verdict.count("groups of coin") == 1
    assert f"shows no clear difference between groups of coin (p = {least:.3f}" in ev.verdict


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({}, "by must have at least one column"),
        (pd.DataFrame(index=range(N)), "by must have at least one column"),
        ({1: SEX, "1": SEX}, r"each with its own name; got \['1', '1'\]"),
        (pd.DataFrame(np.c_[SEX, SEX], columns=["s", "s"]), "distinct names; it has 's' twice"),
        ({"sex": SEX, "stage": STAGE[:-1]}, r"by\['stage'\] must have one label per subject: 200"),
        ({"sex": [None, *SEX[1:]]}, r"by\['sex'\] must have a label for every .* row 1 "),
        ({"stage": np.where(STAGE == 1, np.nan, 0.0)}, r"by\['stage'\] .* rows 2, 5, 8"),
        ({"sex": "f"}, r"by\['sex'\] must have one label per subject"),
        (["sex", "stage"], r"by must have one label per subject: 200; got shape \(2,\)"),
        (
            Y.time,
            "by must have a group label .* 200 different ones .* looks like a measurement",
        ),
        ({"id": np.arange(N)}, r"by\['id'\] .* 200 different ones for 200 .* cut it into bands"),
        # The group 'a=b=x' would be one of either column.
        ({"a": SEX, "a=b": STAGE}, "columns 'a' and 'a=b' could have the same names"),
    ],
)
def test_bad_groups_are_refused_with_their_name(by, message):
    with pytest.raises(sg.InputError, match=message):
        evaluated(by)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("labels", [["all"] * N, ["one"] + ["rest"] * (N - 1)])
def test_one_group_or_one_subject_cannot_be_compared(labels):
    ev = evaluated({"s": labels})
    assert ev.group_differences().empty
    assert "groups of s" not in ev.verdict


def test_small_groups_take_no_part_in_the_test():
    """Standard errors of three subjects are no ground to say that groups differ."""
    assert evaluated({"five": np.arange(N) // 5}).group_differences().empty
    labels = np.where(np.arange(N) < 20, "few", SEX)
    found = told_differences(evaluated({"s": labels}))
    assert {row["groups"] for row in found} == {2}
    assert not any("few" in row["least"] + row["largest"] for row in found)


def test_a_metric_that_does_not_apply_is_not_said_to_read_past_the_curves():
    """A step curve has no density: that it ends early does not matter."""
    grid = np.linspace(0, np.sort(Y.time)[-6], 30)
    rows = np.tile(np.exp(-grid / 300), (N, 1))
    steps = sg.SurvivalCurves(grid, rows, interpolation="step")
    ev = sg.evaluate({"m": steps}, Y, y_train=Y, metrics=["log_likelihood", "d_calibration"])
    found = {(remark.metric, remark.code) for remark in ev.cases}
    assert ("log_likelihood", "not-applicable") in found
    assert ("log_likelihood", "past-curve") not in found
    assert ("d_calibration", "past-curve") in found


def test_a_stream_refuses_columns_whose_groups_share_names():
    frame = pd.DataFrame({"time": Y.time, "event": Y.event, "m": 200.0, "a": SEX, "a=b": STAGE})
    for by, message in (
        (["a", "a=b"], "columns 'a' and 'a=b' could have the same names"),
        (["a", "a"], "each with its own name"),
        (["a", "nope"], "no column 'nope'"),
    ):
        with pytest.raises(sg.InputError, match=message):
            sg.evaluate_stream(frame, y_train=Y, predictions={"m": "m"}, by=by)


def test_a_short_text_has_one_metric_of_the_largest_groups():
    rng = np.random.default_rng(2)
    text = str(evaluated({"site": rng.integers(0, 20, N)}))
    overall, groups = text.split("\n\n")[1:3]
    assert overall.startswith("Metrics with 95 % intervals")
    assert "site=" not in overall
    assert "Uno's C" in overall
    assert groups.startswith("MAE within the horizon up to ")
    assert groups.count("site=") == 12
    assert groups.endswith("8 smaller groups: .table")


def test_distances_of_calibration_are_not_compared_between_groups():
    rng = np.random.default_rng(3)
    y, grid = sg.Outcomes(rng.exponential(5, 200), rng.random(200) < 0.7), np.linspace(0, 20, 9)
    curves = sg.SurvivalCurves(grid, np.exp(-grid / rng.uniform(3, 9, (200, 1))))
    ev = sg.evaluate(curves, y, metrics=["ici", "brier"], by=np.arange(200) % 2)
    assert {row["metric"] for row in ev.to_dict()["group_differences"]} == {"brier"}
