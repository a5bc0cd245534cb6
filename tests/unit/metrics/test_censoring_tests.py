"""Whether G describes the subjects: mean weights, follow-ups, features that tell censoring."""

from __future__ import annotations

import numpy as np
import pytest
from streaming_data import cut, differences

import survgauge as sg
from survgauge.cli.main import main
from survgauge.errors import InputError
from survgauge.evaluation.warnings import marked_advice
from survgauge.metrics.censoring_tests import follow_up_p_value
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details


def draw(n=300, seed=0, follow=12.0, depends=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    t = rng.exponential(8 * np.exp(-0.4 * x[:, 0]))
    c = rng.exponential(follow * np.exp(-depends * x[:, 0]))
    return sg.Outcomes(np.minimum(t, c).round(1) + 0.1, t <= c), x


def curves(n, seed=3):
    grid = np.linspace(0, 40, 9)
    rng = np.random.default_rng(seed)
    return sg.SurvivalCurves(grid, np.exp(-grid / rng.uniform(4, 12, (n, 1))))


# -- mean weights ------------------------------------------------------------------------------


def test_weights_of_the_test_subjects_are_one_on_average():
    y, _ = draw()
    predicted = curves(300)
    results = [
        sg.brier_score(y, predicted, [5.0]).details,
        sg.integrated_brier_score(y, predicted, np.linspace(0, 8, 9)),
        sg.concordance_index(y, -predicted.median(), method="uno", tau=8.0),
        cumulative_dynamic_auc_details(y, predicted, [5.0]),
        sg.time_error(y, predicted, method="ipcw_d", tau=8.0),
    ]
    for details in results:
        assert details.support["mean_weight"] == pytest.approx(1.0, abs=1e-12)


def test_the_mean_weight_is_that_of_the_subjects():
    y = sg.Outcomes([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0], [2, 1, 1, 1])
    g = sg.KaplanMeier.fit_censoring(([1.0, 1.5, 3.5], [0, 1, 1]))  # 2/3 from 1 on
    found = sg.brier_score(y, curves(4), [3.2], censoring=g).support["mean_weight"]
    assert found == pytest.approx((2 * 1 + 0 + 1.5 + 1.5) / 5)
    error = sg.time_error(y, [1, 2, 3, 4], method="ipcw_d", censoring=g)
    assert error.support["mean_weight"] == pytest.approx((2 * 1 + 1.5) / 5)


def test_an_error_tells_the_mean_weight():
    y, _ = draw()
    weighted = sg.Outcomes(y.time, y.event, np.arange(300) % 3 + 1.0)
    for outcomes in (y, weighted):
        details = sg.time_error(outcomes, outcomes.time, method="ipcw_d")
        expected = details.weight.sum() / outcomes.weight.sum()
        assert details.support["mean_weight"] == pytest.approx(expected, rel=1e-12)


def test_a_g_that_does_not_fit_is_a_warning_once_a_metric():
    y, _ = draw()
    y_train, _ = draw(seed=1, follow=3.0)
    models = {"a": curves(300), "b": curves(300, 4)}
    names = ["brier", "ibs", "uno", "auc", "mae_po"]
    options = {"y_train": y_train, "metrics": names}
    usual = sg.evaluate(models, y, **options)
    assert "mean-weight" not in {w.code for w in usual.warnings}
    ev = sg.evaluate(models, y, censoring="train", **options)
    found = [w for w in ev.cases if w.code == "mean-weight"]
    assert [w.metric for w in found] == ["brier", "ibs", "uno", "auc"]
    assert all("weights 1/G" in w.message and w.model is None for w in found)
    assert "(`sg.Convention(censoring=...)`)" in marked_advice("mean-weight", "brier", ev.support)


def test_errors_past_the_follow_up_are_told():
    rng = np.random.default_rng(1)
    t = rng.exponential(10, 300)
    y = (np.minimum(t, 8.0), t <= 8.0)  # administrative: nobody is seen past 8
    ev = sg.evaluate(t, y, y_train=y, metrics=["mae_ipcw_d"])
    (found,) = (w for w in ev.warnings if w.code == "mean-weight")
    assert "survive beyond the follow-up, are missing" in found.message
    assert "set `tau`" in marked_advice("mean-weight", "mae_ipcw_d", ev.support)
    ev = sg.evaluate(t, y, y_train=y, metrics=["mae_ipcw_d"], tau=7.0)
    assert "mean-weight" not in {w.code for w in ev.warnings}


# -- follow-ups --------------------------------------------------------------------------------


def test_follow_ups_that_differ_are_a_warning():
    y, _ = draw()
    other, _ = draw(seed=1, follow=4.0)
    alike, _ = draw(seed=2)
    assert follow_up_p_value(y, alike) > 0.05
    assert follow_up_p_value(y, other) < 0.001
    predicted = y.time + 1
    for names, train, warned in (
        (["mae_po"], other, True),
        (["mae_margin", "harrell"], other, True),
        (["mae_ipcw_d", "harrell"], other, False),  # nothing comes from the training set
        (["mae_po"], alike, False),
        (["mae_po"], None, False),
    ):
        ev = sg.evaluate(predicted, y, y_train=train, metrics=names)
        told = [w.numbers for w in ev.cases if w.code == "follow-up-differs"]
        assert len(told) == warned
        assert all(numbers["train"] < 0.7 * numbers["test"] for numbers in told)


@pytest.mark.parametrize("names", [["mae_po"], ["mae_po", "mae_ipcw_d"]])  # one pass, two
def test_a_stream_says_so_too(names):
    y, _ = draw()
    other, _ = draw(seed=1, follow=4.0)
    columns = {"time": y.time, "event": y.event, "p": y.time + 1}
    whole = sg.evaluate({"p": columns["p"]}, y, y_train=other, metrics=names)
    found = sg.evaluate_stream(
        cut(columns, [50, 120]), y_train=other, predictions={"p": "p"}, metrics=names
    )
    assert "follow-up-differs" in {w.code for w in found.warnings}
    assert differences(whole.to_dict(), found.to_dict()) == []


# -- features ----------------------------------------------------------------------------------


def naive_score(x, y):
    """Score test of one feature for the censoring times, by loops: z."""
    slope = curvature = 0.0
    for i in np.flatnonzero(~y.event):
        # Events at the same time have left.
        later = [j for j in range(len(y)) if y.time[j] > y.time[i]]
        tied = [j for j in range(len(y)) if y.time[j] == y.time[i] and not y.event[j]]
        risk = x[later + tied]
        slope += x[i] - risk.mean()
        curvature += (risk**2).mean() - risk.mean() ** 2
    return slope / np.sqrt(curvature)


def test_censoring_test_equals_the_loops():
    y, x = draw(60, depends=0.5)
    result = sg.censoring_test(x, y)
    for k, row in enumerate(result.features):
        assert row["z"] == pytest.approx(naive_score(x[:, k], y), rel=1e-9)
    assert result.degrees == 2
    assert result.censored == int((~y.event).sum())
    single = sg.censoring_test(x[:, :1], y)
    assert single.statistic == pytest.approx(single.features[0]["z"] ** 2, rel=1e-9)


def test_frequencies_are_replicated_rows():
    y, x = draw(60, depends=0.5)
    weight = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weight)
    one = sg.censoring_test(x, sg.Outcomes(y.time, y.event, weight))
    other = sg.censoring_test(x[rows], y[rows])
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9)


def test_what_it_says():
    y, x = draw(depends=1.0)
    found = sg.censoring_test({"age": x[:, 0], "size": x[:, 1]}, y)
    assert found.rows()[0]["feature"] == "age"
    assert str(found).startswith("Censoring depends on the features, most of all on age")
    assert float(found) == found.p_value < 0.001
    quiet = sg.censoring_test(x[:, 1:], draw(seed=5)[0])
    assert str(quiet).startswith("No sign that censoring depends on the features (p = ")


def test_columns_that_say_the_same_count_once():
    y, x = draw(depends=0.5)
    twice = np.column_stack((x[:, 0], 2 * x[:, 0] + 1, np.ones(300)))
    one, both = sg.censoring_test(x[:, :1], y), sg.censoring_test(twice, y)
    assert both.degrees == 1
    assert both.statistic == pytest.approx(one.statistic, rel=1e-6)


def test_frames_with_words_get_advice():
    pd = pytest.importorskip("pandas")
    y, x = draw(depends=0.5)
    frame = pd.DataFrame({"age": x[:, 0], "sex": np.where(x[:, 1] > 0, "f", "m")})
    with pytest.raises(sg.InputError, match=r"column 'sex' holds words.*get_dummies"):
        sg.censoring_test(frame, y)
    numbers = pd.get_dummies(frame, drop_first=True)
    assert {row["feature"] for row in sg.censoring_test(numbers, y).features} == {"age", "sex_m"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[1.0], [2.0]]}, "X must have one row per subject"),
        ({"X": np.full((300, 1), np.nan)}, "X must be finite"),
        ({"features": ["a"]}, "features must name every column of X: 2"),
    ],
)
def test_bad_features_are_named(change, message):
    y, x = draw()
    with pytest.raises(sg.InputError, match=message):
        sg.censoring_test(**{"X": x, "y": y, **change})


def test_nothing_to_test():
    y, x = draw()
    with pytest.raises(sg.UndefinedMetricError, match="no subject is censored"):
        sg.censoring_test(x, (y.time, np.ones(300)))
    with pytest.raises(sg.UndefinedMetricError, match="do not vary"):
        sg.censoring_test(np.ones((300, 2)), y)


def test_evaluate_warns_of_censoring_that_depends_on_features(tmp_path, capsys):
    y, x = draw(depends=1.0)
    ev = sg.evaluate(y.time, y, X_test=x, metrics=["mae_hinge"])
    (found,) = (w for w in ev.warnings if w.code == "dependent-censoring")
    assert "x0" in found.message
    for features, outcomes in ((x[:, 1:], draw(seed=5)[0]), (x, (y.time, np.ones(300)))):
        quiet = sg.evaluate(y.time, outcomes, X_test=features, metrics=["mae_hinge"])
        assert "dependent-censoring" not in {w.code for w in quiet.warnings}
    for name, columns in (
        ("y", {"time": y.time, "event": y.event.astype(int)}),
        ("x", {"age": x[:, 0], "size": x[:, 1]}),
        ("p", {"time": y.time}),
    ):
        table = np.column_stack(list(columns.values()))
        head = ",".join(columns)
        np.savetxt(tmp_path / f"{name}.csv", table, delimiter=",", header=head, comments="")
    files = {name: str(tmp_path / f"{name}.csv") for name in "yxp"}
    command = ["evaluate", "--test", files["y"], "--pred", f"p={files['p']}"]
    command += ["--metrics", "mae_hinge,mae_ipcw_d", "--features", files["x"]]
    assert main([*command, "--censoring", "test", "--all"]) == 0
    assert "most of all on age" in " ".join(capsys.readouterr().out.split())
    assert main([*command, "--censoring", "train"]) != 0
    assert "y_train is missing" in capsys.readouterr().err


def test_too_many_features_for_the_censored_are_refused():
    rng = np.random.default_rng(0)
    time, limit = rng.exponential(10, 40), rng.exponential(15, 40)
    y = np.minimum(time, limit), time <= limit
    with pytest.raises(sg.UndefinedMetricError, match="too few to test"):
        sg.censoring_test(rng.normal(size=(40, 60)), y)
    assert 0 < sg.censoring_test(rng.normal(size=(40, 2)), y).p_value < 1


@pytest.mark.parametrize("names", [["mae_po"], ["mae_po", "mae_ipcw_d", "brier"]])
@pytest.mark.parametrize("by", [False, True])
def test_a_stream_compares_follow_ups_whatever_g_is(names, by):
    y, _ = draw()
    other, _ = draw(seed=1, follow=4.0)
    group = np.arange(len(y)) % 2
    grid = np.linspace(0, 30, 16)
    curves = np.exp(-grid / (1 + y.time[:, None]))
    columns = {"time": y.time, "event": y.event, "group": group}
    columns |= {f"s{k}": curves[:, k] for k in range(16)}
    model = sg.CurveColumns([f"s{k}" for k in range(16)], grid)
    options = {"y_train": other, "metrics": names, "censoring": "train"}
    whole = sg.evaluate(
        {"m": sg.SurvivalCurves(grid, curves)}, y, by=group if by else None, **options
    )
    found = sg.evaluate_stream(
        cut(columns, [50, 120]), predictions={"m": model}, by="group" if by else None, **options
    )
    told = [[str(w) for w in ev.warnings if w.code == "follow-up-differs"] for ev in (whole, found)]
    assert len(told[0]) == 1
    assert told[0] == told[1]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e308, 1e-300])
def test_features_of_any_size_give_the_same_test(scale):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 2))
    t, c = rng.exponential(10, 200), rng.exponential(10 * np.exp(-x[:, 0]))
    y = np.minimum(t, c), t <= c
    want, found = sg.censoring_test(x, y), sg.censoring_test(x * scale, y)
    assert found.statistic == pytest.approx(want.statistic, rel=1e-9)
    assert found.degrees == 2


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_swapped_arguments_are_named(columns):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, columns)), (rng.exponential(1, 50), rng.random(50) < 0.5)
    for outcomes in (y, sg.Outcomes(*y)):
        with pytest.raises(InputError, match="X and y are swapped"):
            sg.censoring_test(outcomes, x)
    with pytest.raises(InputError, match="one row per subject"):
        sg.censoring_test(x[1:], y)
