"""Calibration of one cause in streams: the numbers and intervals of `evaluate(cause=)`."""

import numpy as np
import pytest

import survgauge as sg

pytest.importorskip("pyarrow")
CAUSES = ("relapse", "death")
GRID = np.linspace(0.5, 20, 40)
METRICS = [
    "d_calibration", "a_calibration", "one_calibration", "km_calibration", "ici",
    "calibration_intercept", "calibration_slope", "observed_expected",
]  # fmt: skip
SPEC = {
    name: sg.IncidenceColumns({"relapse": f"{name}_1", "death": f"{name}_2"}, GRID)
    for name in ("good", "off")
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    n = 260
    x = rng.normal(size=n)
    rates = np.stack([0.1 * np.exp(x), 0.05 * np.exp(-0.5 * x)], axis=1)
    total = rates.sum(axis=1)
    time = np.ceil(rng.exponential(1 / total) * 4) / 4
    cause = np.where(rng.random(n) < rates[:, 0] / total, 1, 2)
    limit = np.minimum(np.ceil(rng.exponential(15, size=n) * 4) / 4, 18.0)
    values = (1 - np.exp(-total[:, None] * GRID))[:, None] * (rates / total[:, None])[:, :, None]
    y = sg.Outcomes(np.minimum(time, limit), np.where(time <= limit, cause, 0), causes=CAUSES)
    return y, {"good": values, "off": values * 0.8}


def columns(y, models, rows):
    table = {
        "time": y.time[rows], "event": y.cause[rows], "sex": np.resize(["f", "m"], len(y))[rows]
    }  # fmt: skip
    for name, values in models.items():
        table |= {f"{name}_{k + 1}": values[rows, k] for k in range(2)}
    return table


@pytest.mark.parametrize("by", [None, "sex"])
@pytest.mark.parametrize("cuts", [(0, 260), (0, 1, 90, 200, 260)])
def test_batches_give_the_numbers_of_evaluate(data, by, cuts):
    y, models = data
    train = y[::2]
    parts = [slice(a, b) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
    batches = [columns(y, models, rows) for rows in parts]
    given = {"y_train": train, "cause": "relapse", "metrics": METRICS, "time": 4.0}
    found = sg.evaluate_stream(batches, predictions=SPEC, by=by, **given)
    curves = {name: sg.IncidenceCurves(GRID, values, CAUSES) for name, values in models.items()}
    groups = None if by is None else np.resize(["f", "m"], len(y))
    whole = sg.evaluate(curves, y, by=groups, **given)
    theirs = {(row["model"], row["metric"], row.get("group")): row for row in whole.rows()}
    rows = found.rows()
    assert len(rows) == len(theirs) >= 16
    for row in rows:
        key = row["model"], row["metric"], row.get("group")
        assert np.isfinite(row["value"]), key
        for column in ("value", "low", "high", "until"):
            wanted = theirs[key][column]
            if wanted is None:
                assert row[column] is None, (key, column)
            else:
                told = pytest.approx(wanted, rel=1e-10, abs=1e-12, nan_ok=True)
                assert row[column] == told, (key, column)


def test_one_chunk_after_the_other_is_the_same(data):
    y, models = data
    curves = {name: sg.IncidenceCurves(GRID, values, CAUSES) for name, values in models.items()}
    given = {"cause": 1, "metrics": METRICS, "time": 4.0, "y_train": y}
    whole = sg.evaluate(curves, y, **given)
    functions = {
        "d_calibration": lambda c: sg.d_calibration(y, c, cause=1).p_value,
        "a_calibration": lambda c: sg.a_calibration(y, c, cause=1).p_value,
        "one_calibration": lambda c: sg.one_calibration(y, c, 4.0, cause=1).p_value,
        "ici": lambda c: sg.integrated_calibration_index(y, c, 4.0, cause=1).ici,
        "calibration_slope": lambda c: sg.weak_calibration(y, c, 4.0, cause=1).slope.value,
    }
    for row in whole.rows():
        if row["metric"] in functions:
            wanted = functions[row["metric"]](curves[row["model"]])
            assert row["value"] == pytest.approx(wanted, rel=1e-12), row["metric"]
        if row["metric"] == "km_calibration":  # its clock stops where the data support ends
            wanted = sg.km_calibration(y, curves[row["model"]], tau=row["until"], cause=1)
            assert row["value"] == pytest.approx(wanted, rel=1e-12)
