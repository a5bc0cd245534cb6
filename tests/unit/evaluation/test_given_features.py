"""Features in `evaluate`: distributions given them, and the warning about members of the blend."""

from __future__ import annotations

from datetime import date, time, timedelta
from decimal import Decimal

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.outcomes import Outcomes


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    time, end = rng.exponential(np.exp(X[:, 0])), rng.exponential(2.0, n)
    return X, Outcomes(np.minimum(time, end), time <= end)


X_TRAIN, TRAIN = drawn(150, 0)
X_TEST, TEST = drawn(60, 1)
PREDICTED = {"x": np.exp(X_TEST[:, 0]), "flat": np.full(60, 0.5)}


def values(ev):
    return {(row["model"], row["metric"]): row["value"] for row in ev.rows()}


def test_features_of_both_sets_make_the_distribution():
    names = ["mae_dr", "mae_expected", "mae_po"]
    ev = sg.evaluate(PREDICTED, TEST, y_train=TRAIN, X_train=X_TRAIN, X_test=X_TEST, metrics=names)
    cond = sg.conditional(X_TRAIN, TRAIN, X_TEST, y_test=TEST)
    given = sg.evaluate(PREDICTED, TEST, y_train=TRAIN, conditional=cond, metrics=names)
    plain = sg.evaluate(PREDICTED, TEST, y_train=TRAIN, metrics=names)
    assert values(ev) == values(given)
    assert values(ev)["x", "mae_dr"] != values(plain)["x", "mae_dr"]
    assert values(ev)["x", "mae_po"] == values(plain)["x", "mae_po"]
    reference = sg.Reference(TRAIN)
    again = sg.evaluate(
        PREDICTED, TEST, y_train=reference, X_train=X_TRAIN, X_test=X_TEST, metrics=names
    )
    assert values(ev) == values(again)


def test_frames_with_text_and_gaps():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    train, test = (
        pd.DataFrame({"x": X[:, 0], "arm": np.where(X[:, 1] > 0, "a", "b")})
        for X in (X_TRAIN, X_TEST)
    )
    test.loc[3, "x"] = np.nan
    ev = sg.evaluate(PREDICTED, TEST, y_train=TRAIN, X_train=train, X_test=test, metrics=["mae_dr"])
    assert np.isfinite(values(ev)["x", "mae_dr"])


def test_features_are_refused_by_name_where_subjects_enter_late():
    late, trained = (Outcomes(y.time, y.event, entry=y.time / 2) for y in (TEST, TRAIN))
    given = sg.Conditional(distribution=sg.reference_curves(TRAIN, len(TEST)))
    both = {"X_train": X_TRAIN, "X_test": X_TEST}
    for y, y_train, options, names in (
        (late, trained, both, "X_train and X_test"),
        (late, trained, {"X_test": X_TEST}, "X_test"),
        (late, TRAIN, {"conditional": given}, "conditional"),
        (TEST, trained, both, "X_train"),
    ):
        refusal = f"^{names} cannot be given together with delayed entry"
        with pytest.raises(sg.InputError, match=refusal):
            sg.evaluate(PREDICTED, y, y_train=y_train, **options)
    column = sg.CurveColumns("d", given.distribution.times)
    batch = {"time": late.time, "event": late.event, "entry": late.entry, "x": PREDICTED["x"]}
    batch["d"] = given.distribution.survival
    with pytest.raises(sg.InputError, match=r"^conditional cannot be given together with delayed"):
        sg.evaluate_stream(
            [batch], y_train=trained, predictions={"x": "x"}, conditional={"distribution": column}
        )
    ev = sg.evaluate(PREDICTED, TEST, y_train=trained, X_test=X_TEST)  # what is tested is observed
    assert "assumes" not in ev.support or "not checked" not in ev.support["assumes"]


def test_a_member_of_the_blend_is_told():
    cond = sg.conditional(X_TRAIN, TRAIN, X_TEST, members=["km", "cox"])
    models = {
        "same": cond.members["cox"],
        "near": cond.members["cox"] * 1.01,
        "other": cond.members["cox"][::-1],
        "km": cond.members["km"],
        "risk": sg.RiskScores(X_TEST[:, 0]),
    }
    ev = sg.evaluate(models, TEST, y_train=TRAIN, conditional=cond, metrics=["mae_dr", "harrell"])
    told = [w for w in ev.cases if w.code == "member-of-blend"]
    assert [w.model for w in told] == ["same", "near"]
    assert "'cox'" in told[0].message
    own = sg.Conditional(distribution=cond.distribution)
    quiet = sg.evaluate(models, TEST, y_train=TRAIN, conditional=own, metrics=["mae_dr"])
    assert "member-of-blend" not in [w.code for w in quiet.warnings]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_test": None}, "X_test must be given together with X_train"),
        ({"y_train": None}, "y_train must be given together with X_train"),
        ({"X_train": X_TRAIN[:9]}, "X_train must have one row per subject"),
        ({"X_test": X_TEST[:9]}, "X_test must have one row per subject"),
        (
            {"conditional": sg.Conditional(distribution=sg.SurvivalCurves([1], [[0.5]] * 60))},
            "both",
        ),
    ],
)
def test_errors_say_what_is_missing(changes, message):
    given = {"y_train": TRAIN, "X_train": X_TRAIN, "X_test": X_TEST, "metrics": ["mae_dr"]}
    with pytest.raises(sg.InputError, match=message):
        sg.evaluate(PREDICTED, TEST, **{**given, **changes})


def test_text_that_does_not_vary_says_nothing():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    train, test = (pd.DataFrame({"arm": ["a"] * n}) for n in (len(TRAIN), len(TEST)))
    ev = sg.evaluate(
        PREDICTED, TEST, y_train=TRAIN, X_train=train, X_test=test, metrics=["mae_dr"], tau=1.0
    )
    assert all(np.isfinite(list(values(ev).values())))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda X: X[:-1], "X_test: X must have one row per subject"),
        (lambda X: X[:, :0], "X_test: X must have at least one column"),
        (lambda X: np.where(X > 1, np.inf, X), "X_test: X must be finite"),
    ],
)
def test_features_of_the_test_set_are_named(change, said):
    with pytest.raises(sg.InputError, match=said):
        sg.evaluate(PREDICTED, TEST, X_test=change(X_TEST), metrics=["mae_hinge"])


@pytest.mark.parametrize(
    "value", [date(2020, 1, 1), time(12), Decimal("1.5"), timedelta(days=1)], ids=str
)
def test_objects_that_are_neither_numbers_nor_text_are_refused(value):
    """Arrow and DuckDB give them as objects, of which each value became a category."""
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("sklearn")
    train, test = (pa.table({"x": [value] * n, "arm": ["a"] * n}) for n in (150, 60))
    with pytest.raises(sg.InputError, match="column 'x' must hold numbers, text or categories"):
        sg.evaluate(PREDICTED, TEST, y_train=TRAIN, X_train=train, X_test=test, metrics=["mae_dr"])


def test_columns_of_the_same_name_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X_TEST, columns=["a", "b", "a"])
    with pytest.raises(sg.InputError, match="distinct names; it has 'a' twice"):
        sg.evaluate(PREDICTED, TEST, X_test=frame, metrics=["mae_hinge"])


def test_features_with_the_outcome_among_them_are_refused():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    time, event = rng.exponential(1, 60), rng.random(60) < 0.6
    y, said = sg.Outcomes(time, event), np.ones(60)
    age = rng.normal(size=60)
    for column, name in ((time, "days"), (event.astype(int), "died")):
        table = {"age": age, name: column}
        with pytest.raises(
            sg.InputError, match=f"X_test must not hold the outcome: column '{name}'"
        ):
            sg.evaluate({"m": said}, y, X_test=pd.DataFrame(table), metrics=["mae_hinge"])
    with pytest.raises(sg.InputError, match="column 1 equals the time"):
        sg.evaluate({"m": said}, y, X_test=np.c_[age, time], metrics=["mae_hinge"])
    sg.evaluate({"m": said}, y, X_test=np.c_[age, time + 1], metrics=["mae_hinge"])
