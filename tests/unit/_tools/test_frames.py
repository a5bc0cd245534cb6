"""Every public door takes tables of every library, and the numbers are the same."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge._tools.frames import in_memory, rows_of, table_columns
from survgauge.report.study.table_one import table_one

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

rng = np.random.default_rng(0)
N = 80
FRAME = pd.DataFrame(
    {
        "time": rng.exponential(100, N).round(1) + 1,
        "event": rng.integers(0, 2, N),
        "sex": np.where(rng.random(N) < 0.5, "f", "m"),
        "site": rng.integers(0, 9, N),
        "x": rng.normal(size=N),
        "said": rng.exponential(100, N) + 1,
    }
)
CURVES = pd.DataFrame(np.sort(rng.random((N, 3)))[:, ::-1], columns=["50", "100", "200"])
LIBRARIES = {
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": pa.Table.from_pandas,
    "batch": pa.RecordBatch.from_pandas,
    "duckdb": duckdb.from_df,
}
LINES = ([50.0, 100.0, 200.0], CURVES.to_numpy())


@pytest.fixture(params=LIBRARIES)
def table(request):
    """Return some columns of a frame in one of the libraries."""
    return lambda frame, *names: LIBRARIES[request.param](frame[list(names)] if names else frame)


def _values(ev):
    return [(row["model"], row.get("group"), row["value"]) for row in ev.rows()]


def test_outcomes_and_curves(table):
    y = sg.Outcomes.of(table(FRAME))
    assert np.array_equal(y.time, FRAME["time"])
    assert np.array_equal(y.event, FRAME["event"] == 1)
    bounds = FRAME.assign(lower=FRAME["time"], upper=FRAME["time"] + 1)
    assert np.array_equal(sg.IntervalOutcomes.of(table(bounds)).upper, bounds["upper"])
    curves = sg.as_curves(table(CURVES))
    assert curves.interpolation == "linear"
    assert np.array_equal(curves.survival, LINES[1])
    both = sg.as_incidence({"a": table(1 - CURVES), "b": table(0 * CURVES)})
    assert both.at(100, cause="a") == pytest.approx(1 - CURVES["100"])


def test_evaluate_is_the_same(table):
    settings = {"metrics": ["mae_within", "ibs"], "confidence": None}
    expected = sg.evaluate(
        {"m": LINES}, FRAME, y_train=FRAME, by=FRAME[["sex"]], cluster=FRAME["site"], **settings
    )
    found = sg.evaluate(
        {"m": table(CURVES)},
        table(FRAME),
        y_train=table(FRAME),
        by=table(FRAME, "sex"),
        cluster=_column(table(FRAME, "site")),
        **settings,
    )
    assert _values(found) == _values(expected)
    weighted = sg.evaluate({"m": LINES}, FRAME, sample_weight=FRAME["time"], **settings)
    weights = _column(table(FRAME, "time"))
    found = sg.evaluate({"m": LINES}, FRAME, sample_weight=weights, **settings)
    assert _values(found) == _values(weighted)


def _column(table):
    """Return the column of a library that has columns; a query stays a table with one."""
    return next(iter(table_columns(table, "y").values())) if hasattr(table, "__array__") else table


def test_times_and_risks_of_one_column(table):
    y = sg.Outcomes.of(FRAME)
    said = _column(table(FRAME, "said"))
    assert sg.concordance_index(y, said) == sg.concordance_index(y, FRAME["said"])
    assert np.array_equal(sg.RiskScores(said).values, FRAME["said"])
    found = sg.evaluate({"m": said}, y, metrics=["mae_hinge"], landmark=20, by=table(FRAME, "sex"))
    expected = sg.evaluate(
        {"m": FRAME["said"]}, y, metrics=["mae_hinge"], landmark=20, by=FRAME[["sex"]]
    )
    assert _values(found) == _values(expected)


def test_features(table):
    names = ["x", "sex"]
    expected = sg.conditional(FRAME[names], FRAME, FRAME[names], members=["km", "cox"])
    found = sg.conditional(table(FRAME, *names), table(FRAME), table(FRAME, *names),
                           members=["km", "cox"])  # fmt: skip
    assert np.array_equal(found.distribution.survival, expected.distribution.survival)
    test = sg.censoring_test(table(FRAME, "x", "site"), FRAME)
    assert test.p_value == sg.censoring_test(FRAME[["x", "site"]], FRAME).p_value
    prepare = sg.preprocessing.Preprocessor().fit(table(FRAME, *names))
    assert np.array_equal(
        prepare.transform(table(FRAME, *names)),
        sg.preprocessing.Preprocessor().fit_transform(FRAME[names]),
    )


def test_readers_and_gaps():
    reader = pa.Table.from_pandas(FRAME[["time", "event"]]).to_reader()
    assert len(sg.Outcomes.of(reader)) == N
    assert rows_of(pa.chunked_array([[5, 6], [7]]), np.array([0, 2])).to_pylist() == [5, 7]
    gap = pa.table({"time": [1.0, 2.0], "event": [True, None]})
    with pytest.raises(sg.InputError, match=r"missing \(nan\) for row 2 "):
        sg.Outcomes.of(gap)
    with pytest.raises(sg.InputError, match="distinct names; it has 'time' twice"):
        sg.Outcomes.of(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["time", "time"]))
    with pytest.raises(sg.InputError, match="times as names of its columns; got 'age', 'sex'"):
        sg.as_curves(pl.DataFrame({"age": [1.0], "sex": [0.0]}))
    assert in_memory(5) == 5


@pytest.mark.parametrize("kind", ["boolean", "Int64", "bool[pyarrow]", "category"])
def test_events_of_pandas(kind):
    events = pd.Series([1, 0, 1, 0]).astype("bool" if kind == "bool[pyarrow]" else "int")
    y = sg.Outcomes([1, 2, 3, 4], events.astype(kind))
    assert y.event.tolist() == [True, False, True, False]
    gap = events.astype(kind).where([True, True, False, True])
    with pytest.raises(sg.InputError, match=r"event must be .* missing \(nan\) for row 3 "):
        sg.Outcomes([1, 2, 3, 4], gap)


def test_categories_say_their_levels():
    status = pd.Series(pd.Categorical(["alive", "dead", "alive"]))
    with pytest.raises(sg.InputError, match=r"categories, 'alive', 'dead': .* event == 'dead'"):
        sg.Outcomes([1, 2, 3], status)
    assert sg.Outcomes([1, 2, 3], status == "dead").event.tolist() == [False, True, False]
    with pytest.raises(sg.InputError, match=r"1 is censored and 2 the event.* event == 2"):
        sg.Outcomes([1, 2, 3], pd.Series([1, 2, 1]).astype("category"))
    with pytest.raises(sg.InputError, match="'c', 'd' and 1 more: pass True"):
        sg.Outcomes([1, 2, 3, 4, 5], list("abcde"))


def test_validation_and_censoring(table):
    X, y = table(FRAME, "x", "site"), sg.Outcomes(FRAME["time"], np.ones(N))
    model, settings = sg.models.build("coxph"), {"metrics": ["harrell"], "resamples": 2}
    expected = sg.validate(model, FRAME[["x", "site"]], y, **settings)
    assert np.array_equal(sg.validate(model, X, y, **settings).apparent, expected.apparent)
    made = sg.semisynthetic(X, y, rate=0.3)
    assert np.array_equal(made.y.time, sg.semisynthetic(FRAME[["x", "site"]], y, rate=0.3).y.time)
    described, known = {"Test": table(FRAME, "sex", "x")}, {"Test": FRAME[["sex", "x"]]}
    rows = [table_one({"Test": y}, [50], features=found).rows for found in (described, known)]
    assert rows[0] == rows[1]


def test_tensors_are_detached_and_copied_once():
    torch = pytest.importorskip("torch")

    class Counted(torch.Tensor):
        copies = 0

        def cpu(self):
            Counted.copies += 1
            return super().cpu()

    grid = [1.0, 2.0, 3.0]
    values = torch.tensor([[0.9, 0.6, 0.3], [0.8, 0.5, 0.2]], requires_grad=True)
    evaluator = sg.Evaluator(([1, 2, 3], [1, 1, 0]), metrics=["ibs"], confidence=None)
    said = (values * 1.0).as_subclass(Counted)
    evaluator.update((grid, said), (torch.tensor([1.0, 3.0]), torch.tensor([True, False])))
    assert Counted.copies == 1
    before = evaluator.compute().rows()[0]["value"]
    with torch.no_grad():
        said.zero_()  # as the next batch may be written where this one was
    assert evaluator.compute().rows()[0]["value"] == before
    half = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    assert sg.RiskScores(half).values.tolist() == [1.0, 2.0]


def test_tensors_of_any_kind_are_features_and_times():
    torch = pytest.importorskip("torch")
    y, x = sg.Outcomes.of(FRAME), FRAME[["x", "site"]].to_numpy(float)
    settings = {"y_train": y, "metrics": ["mae_within"], "tau": 100, "confidence": None}
    features = {"X_test": torch.tensor(x, requires_grad=True), "X_train": torch.tensor(x)}
    found = sg.evaluate(FRAME["said"], y, **settings, **features)
    assert _values(found) == _values(sg.evaluate(FRAME["said"], y, **settings, X_test=x, X_train=x))
    negative = torch._neg_view(torch.tensor([-1.0, -2.0]))  # which NumPy does not read by itself
    assert sg.RiskScores(negative).values.tolist() == [1.0, 2.0]
    with pytest.raises(sg.InputError, match=r"predicted times could not be read: .*no data"):
        sg.evaluate(torch.empty(N, device="meta"), y)
    with pytest.raises(sg.InputError, match=r"list of tensors: join them first, with torch\.cat"):
        sg.evaluate([torch.ones(40), torch.ones(40)], y)
    with pytest.raises(sg.InputError, match=r"got Tensor of shape \(80, 1\): one time per subject"):
        sg.evaluate(torch.ones(N, 1), y)


def test_queries_that_fail_are_named():
    y = sg.Outcomes.of(FRAME)
    connection = duckdb.connect()
    relation = connection.from_df(FRAME)
    connection.close()
    curves = pl.from_pandas(CURVES).lazy().select("nope")
    for call, named in (
        (lambda: sg.evaluate(FRAME["said"], relation), "y_test could not be read: "),
        (lambda: sg.evaluate(relation, y), "predictions of 'model' could not be read: "),
        (lambda: sg.evaluate(curves, y), "predictions of 'model' could not be read: .*nope"),
        (lambda: sg.evaluate(FRAME["said"], y, by=relation), "by could not be read: "),
        (lambda: sg.evaluate(FRAME["said"], y, X_test=relation), "X_test could not be read: "),
    ):
        with pytest.raises(sg.InputError, match=named):
            call()


def test_a_frame_of_pandas_with_predicted_times():
    with pytest.raises(sg.InputError, match=r"pass the column, frame\['said'\]"):
        sg.evaluate(FRAME[["said"]], FRAME)


CURVES_BY_ROW = pd.DataFrame(CURVES.to_numpy().T, index=[50.0, 100.0, 200.0], columns=FRAME.index)
SHUFFLED = np.random.default_rng(1).permutation(N)


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("predictions of 'm'", {"predictions": {"m": FRAME["said"].iloc[SHUFFLED]}}),
        ("predictions of 'm'", {"predictions": {"m": CURVES_BY_ROW.iloc[:, SHUFFLED]}}),
        ("by", {"by": FRAME["sex"].iloc[SHUFFLED]}),
        ("by", {"by": FRAME[["sex"]].iloc[SHUFFLED]}),
        ("cluster", {"cluster": FRAME["site"].iloc[SHUFFLED]}),
        ("sample_weight", {"sample_weight": FRAME["said"].iloc[SHUFFLED]}),
        ("X_test", {"X_test": FRAME[["x"]].iloc[SHUFFLED]}),
        ("X_train", {"X_test": FRAME[["x"]], "X_train": FRAME[["x"]].iloc[SHUFFLED]}),
    ],
)
@pytest.mark.parametrize("frame", [True, False])
def test_the_same_labels_in_another_order_are_refused(argument, given, frame):
    y = FRAME if frame else (FRAME["time"], FRAME["event"])
    asked = {"predictions": FRAME["said"], "metrics": "mae_within", "y_train": y, **given}
    with pytest.raises(sg.InputError, match=f"{argument} must have the subjects in the order of y"):
        sg.evaluate(y_test=y, **asked)


def test_an_error_in_time_refuses_another_order_too():
    y = FRAME["time"], FRAME["event"]
    for given in (FRAME["said"], CURVES_BY_ROW):
        other = given.iloc[SHUFFLED] if given.ndim == 1 else given.iloc[:, SHUFFLED]
        assert sg.mae(y, given, tau=100) > 0
        with pytest.raises(sg.InputError, match="predicted must have the subjects in the order"):
            sg.mae(y, other, tau=100)
    with pytest.raises(sg.InputError, match="true_time must have the subjects in the order"):
        sg.mae(y, FRAME["said"], method="true", true_time=FRAME["time"].iloc[SHUFFLED])


METRICS_OF_CURVES = {
    "brier_score": {"times": [100.0]},
    "binomial_log_likelihood": {"times": [100.0]},
    "cumulative_dynamic_auc": {"times": [100.0]},
    "concordance_td": {},
    "crps": {"tau": 100.0},
    "log_likelihood": {},
    "d_calibration": {},
    "km_calibration": {},
    "one_calibration": {"time": 100.0},
    "observed_expected": {"time": 100.0},
    "calibration_slope": {"time": 100.0},
    "calibration_slope_cox": {"time": 100.0},
    "integrated_calibration_index": {"time": 100.0},
    "integrated_calibration_index_cox": {"time": 100.0},
    "net_benefit": {"time": 100.0, "thresholds": [0.2]},
    "cox_snell_residuals": {},
    "coverage": {},
}


@pytest.mark.parametrize("name", METRICS_OF_CURVES)
def test_a_metric_of_curves_refuses_another_order(name):
    with pytest.raises(sg.InputError, match="must have the subjects in the order of y_true"):
        getattr(sg, name)(FRAME, CURVES_BY_ROW.iloc[:, SHUFFLED], **METRICS_OF_CURVES[name])


@pytest.mark.parametrize(
    "name", ["concordance_index", "cumulative_dynamic_auc", "royston_d", "calibration_slope_cox"]
)
def test_a_metric_of_risks_refuses_another_order(name):
    options = {"times": [100.0]} if name == "cumulative_dynamic_auc" else {}
    with pytest.raises(sg.InputError, match="must have the subjects in the order of y_true"):
        getattr(sg, name)(FRAME, FRAME["said"].iloc[SHUFFLED], **options)


@pytest.mark.parametrize("labels", [range(N), range(N - 1, -1, -1), ["a"] * N, range(5, N + 5)])
def test_other_labels_say_nothing(labels):
    """Also the same ones in the same order, some twice, and predictions without labels."""
    y = FRAME.set_axis(labels)
    expected = sg.mae(FRAME, FRAME["said"].to_numpy())
    assert sg.mae(y, FRAME["said"].set_axis(labels)) == expected
    assert sg.mae(y, FRAME["said"].set_axis(range(9, N + 9))) == expected
    assert sg.mae(y, FRAME["said"].to_numpy()) == expected
