"""Cumulative incidence of several causes: reading it, checking it, turning it into numbers."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

TIMES = np.array([1.0, 2.0, 4.0])
VALUES = np.array([
    [[0.1, 0.3, 0.5], [0.2, 0.3, 0.5]],
    [[0.0, 0.2, 0.4], [0.1, 0.1, 0.2]],
])  # fmt: skip
NAMES = ("relapse", "death")


def curves(**given):
    return sg.IncidenceCurves(TIMES, VALUES, **{"causes": NAMES, **given})


def test_lines_and_steps():
    lines, steps = curves(), curves(interpolation="step")
    np.testing.assert_allclose(lines.at(1.5, "relapse"), [0.2, 0.1])
    np.testing.assert_allclose(lines.at(0.5, "death"), [0.1, 0.05])  # from the origin
    np.testing.assert_allclose(steps.at(1.5, 1), [0.1, 0.0])
    np.testing.assert_allclose(steps.at(0.5, 2), [0.0, 0.0])
    np.testing.assert_array_equal(steps.at(TIMES, 2), VALUES[:, 1])
    np.testing.assert_array_equal(lines.at(TIMES, 2), VALUES[:, 1])
    assert lines.at([], 1).shape == (2, 0)
    for c in (lines, steps):
        own = c.at_own([0.5, 3.0], 1)
        np.testing.assert_array_equal(own, [c.at(0.5, 1)[0], c.at(3.0, 1)[1]])


def test_past_the_grid_nothing_is_known_unless_nothing_is_left():
    c = curves()
    np.testing.assert_array_equal(c.at(9.0, 1), [0.5, np.nan])
    np.testing.assert_array_equal(c.at_own([9.0, 9.0], 1), [0.5, np.nan])
    np.testing.assert_allclose(c.rmtl(5.0, 1), [c.rmtl(4.0, 1)[0] + 0.5, np.nan])


def test_time_lost_is_the_area():
    np.testing.assert_allclose(curves(interpolation="step").rmtl(4.0, 1), [0.1 + 0.6, 0.4])
    np.testing.assert_allclose(curves(interpolation="step").rmtl(3.0, 1), [0.1 + 0.3, 0.2])
    np.testing.assert_allclose(curves().rmtl(4.0, 1), [0.05 + 0.2 + 0.8, 0.1 + 0.6])
    # Time lost to all causes and time without an event make up the whole.
    for how in ("linear", "step"):
        c = curves(interpolation=how)
        for tau in (0.3, 1.0, 2.7, 4.0):
            lost = c.rmtl(tau, 1) + c.rmtl(tau, 2)
            np.testing.assert_allclose(lost + c.survival().rmst(tau), tau)


def test_survival_and_freedom_of_one_cause():
    c = curves()
    np.testing.assert_allclose(c.survival().survival, 1 - VALUES.sum(axis=1), atol=1e-15)
    assert c.survival(tail="hold").tail == "hold"
    np.testing.assert_allclose(c.cause("death").survival, 1 - VALUES[:, 1])
    # One cause is what 1 - survival is.
    one = sg.IncidenceCurves(TIMES, VALUES[:, :1])
    np.testing.assert_allclose(one.survival().at(1.7), 1 - one.at(1.7, 1))


def test_one_curve_for_all_is_stored_once():
    shared = sg.AalenJohansen.fit(([1, 2, 3, 4], [1, 2, 0, 1])).curves(1000)
    for found in (shared.cause(1), shared.survival()):
        assert found.one_curve
        assert len(found) == 1000
    np.testing.assert_allclose(shared.survival().at(2.0), 0.5)


def test_quantiles_exist_or_not():
    c = curves()
    np.testing.assert_allclose(c.quantile(0.3, "relapse"), [2.0, 3.0])
    np.testing.assert_allclose(c.quantile(0.2, "death"), [1.0, 4.0])
    # Subject 1 gets to one half at the end; subject 2 may later, nobody knows.
    np.testing.assert_array_equal(c.median(1), [4.0, np.nan])
    # 0.2 + 0.4 left: subject 2 cannot get to 0.7, and subject 1 not above 0.5.
    np.testing.assert_array_equal(c.quantile(0.7, 2), [np.inf, np.inf])
    np.testing.assert_array_equal(c.quantile(0.6, 2), [np.inf, np.nan])


def test_rows_and_words():
    c = curves()
    assert len(c) == 2
    np.testing.assert_array_equal(c[[1]].values, VALUES[[1]])
    assert c[1:].causes == NAMES
    assert repr(c) == "IncidenceCurves(2 subjects x 3 times, causes relapse, death, linear)"
    assert sg.IncidenceCurves(TIMES, VALUES).causes == ("1", "2")
    with pytest.raises(TypeError, match="not numbers"):
        np.exp(c)
    with pytest.raises(ValueError, match="read-only"):
        c.values[0, 0, 0] = 1.0


def test_memory_and_order():
    for kind in (np.float32, np.float64):
        given = VALUES.astype(kind)
        assert np.shares_memory(sg.IncidenceCurves(TIMES, given).values, given)
    turned = sg.IncidenceCurves(TIMES[::-1], VALUES[:, :, ::-1])
    np.testing.assert_array_equal(turned.times, TIMES)
    np.testing.assert_array_equal(turned.values, VALUES)
    whole = sg.IncidenceCurves([1, 2], np.array([[[0, 1], [0, 0]]]))
    assert whole.values.dtype == np.float64


def spoilt(where, value):
    values = VALUES.copy()
    values[where] = value
    return {"values": values}


BAD = {
    "nan": (spoilt((1, 1, 0), np.nan), r"NaN or infinite values of cause 2 \('death'\) for row 2 "),
    "falls": (
        spoilt((1, 0, 2), 0.1),
        r"cause 1 \('relapse'\) in row 2 falls from 0.2 to 0.1; .* in row 2 .*running_maximum",
    ),
    "above": (spoilt((0, 0, 2), 1.05), r"cause 1 \('relapse'\) in row 1 leaves \[0, 1\]"),
    "sum": (spoilt((1, 1, 2), 0.7), "the sum in row 2 reaches 1.1"),
    "negative": (spoilt((0, 0, 0), -0.1), "leaves .* pass probabilities"),
    "percent": ({"values": VALUES * 100}, "percentages: pass values / 100"),
    "survival": ({"values": 0.5 - VALUES / 2 + 0.001}, "look like survival: pass 1 - values"),
    "pmf": ({"values": VALUES[:, :, ::-1] / 10}, r"layout='pmf_rows'\) adds them up"),
    "states": (
        {"values": np.concatenate([1 - VALUES.sum(axis=1, keepdims=True), VALUES], axis=1),
         "causes": None},
        r"layout='hazardous'\) reads it from the first place",
    ),
    "twice": ({"times": [1, 1, 2]}, "times must be distinct; 1 appears twice"),
    "axes": ({"values": VALUES.transpose(0, 2, 1)}, "times lie along axis 1 of values"),
    "subjects last": ({"values": VALUES.transpose(2, 0, 1)}, "times lie along axis 0 of values"),
    "grid": ({"times": [1, 2]}, r"with 2 times; got \(2, 2, 3\)"),
    "matrix": ({"values": VALUES[0]}, "values must have 3 dimensions"),
    "names": ({"causes": ["a"]}, "causes must have 2 names"),
    "empty": ({"values": np.empty((0, 2, 3))}, "at least one subject, cause and time"),
    "pchip": ({"interpolation": "pchip"}, "interpolation must be one of 'linear', 'step'"),
    "repair": ({"repair": "isotonic"}, "repair must be one of 'running_maximum'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_incidence_is_named(case):
    given, message = BAD[case]
    given = {"times": TIMES, "values": VALUES, "causes": NAMES, **given}
    with pytest.raises(sg.InputError, match=message):
        sg.IncidenceCurves(**given)


def test_bad_questions_are_named():
    with pytest.raises(sg.InputError, match="cause must be the code or the name"):
        curves().at(1.0, 3)
    with pytest.raises(sg.InputError, match="did you mean 'death'"):
        curves().rmtl(1.0, "dead")
    with pytest.raises(sg.InputError, match="t must be at least 0"):
        curves().at(-1.0, 1)
    with pytest.raises(sg.InputError, match="tau must be finite and positive"):
        curves().rmtl(0.0, 1)


def test_repair_and_rounding():
    mended = sg.IncidenceCurves(TIMES, spoilt((1, 0, 2), 0.1)["values"], repair="running_maximum")
    np.testing.assert_allclose(mended.values[1, 0], [0.0, 0.2, 0.2])
    scaled = sg.IncidenceCurves(TIMES, spoilt((1, 1, 2), 0.7)["values"], repair="running_maximum")
    assert scaled.values[1, :, -1].sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(scaled.values[0], VALUES[0])
    # Off by rounding: mended without a word, and never above 1.
    rounded = VALUES.copy()
    rounded[0, 0, 2] += 1e-8
    rounded[1, 0, 1] = rounded[1, 0, 0] - 1e-9
    found = sg.IncidenceCurves(TIMES, rounded)
    assert found.values.sum(axis=1).max() <= 1 + 1e-15
    assert (np.diff(found.values, axis=2) >= 0).all()


# -- readers ------------------------------------------------------------------------------------


class Step:
    def __init__(self, x, y):
        self.x, self.y = x, y


def same(found, interpolation="linear", tolerance=1e-15):
    np.testing.assert_array_equal(found.times, TIMES)
    np.testing.assert_allclose(found.values, VALUES, atol=tolerance)
    assert found.interpolation == interpolation


def test_arrays_of_every_layout():
    survival = 1 - VALUES.sum(axis=1, keepdims=True)
    pmf = np.diff(VALUES, axis=2, prepend=0.0)
    same(sg.as_incidence(VALUES, TIMES))
    same(sg.as_incidence(np.concatenate([survival, VALUES], axis=1), TIMES, layout="hazardous"))
    same(sg.as_incidence(pmf, TIMES, layout="pmf_rows"))
    same(sg.as_incidence(pmf.transpose(1, 2, 0), TIMES, layout="pmf"))
    known = curves()
    assert sg.as_incidence(known) is known


def test_one_entry_per_cause(tmp_path):
    pd = pytest.importorskip("pandas")
    same(sg.as_incidence([VALUES[:, 0], VALUES[:, 1]], TIMES))
    named = sg.as_incidence(dict(zip(NAMES, VALUES.transpose(1, 0, 2), strict=True)), TIMES)
    same(named)
    assert named.causes == NAMES
    frames = [pd.DataFrame(VALUES[:, k].T, index=TIMES) for k in range(2)]
    same(sg.as_incidence(frames), "step")
    functions = [[Step(TIMES, row) for row in VALUES[:, k]] for k in range(2)]
    same(sg.as_incidence(functions), "step")
    same(sg.as_incidence([np.array(f, dtype=object) for f in functions]), "step")
    same(sg.as_incidence(frames, interpolation="linear"), "linear")
    paths = {}
    for k, name in enumerate(NAMES):
        paths[name] = tmp_path / f"{name}.csv"
        # As R writes it: an X before numbers, and a column of row names.
        table = pd.DataFrame(VALUES[:, k], columns=[f"X{t:g}" for t in TIMES], index=[1, 2])
        table.to_csv(paths[name], index=bool(k))
    found = sg.as_incidence(paths)
    same(found)
    assert found.causes == NAMES


def test_orientation_is_checked():
    pmf = np.diff(VALUES, axis=2, prepend=0.0)
    for array, layout, message in (
        (VALUES, "hazardous", "add up to 1 over axis 1 at every time"),
        (VALUES[:, ::-1], "pmf_rows", "each subject at most 1 together"),
        (np.repeat(pmf, 9, axis=0), "pmf", "those of subject .* add up to"),
        (pmf.transpose(1, 2, 0), "incidence", "shape"),
        (pmf, "incidence", r"layout='pmf_rows'\) adds them up"),
    ):
        with pytest.raises(sg.InputError, match=message):
            sg.as_incidence(array, TIMES, layout=layout)
    with pytest.raises(sg.InputError, match="layout must be one of"):
        sg.as_incidence(VALUES, TIMES, layout="deephit")
    with pytest.raises(sg.InputError, match="times must be given"):
        sg.as_incidence(VALUES)
    with pytest.raises(sg.InputError, match="same subjects and times"):
        sg.as_incidence([VALUES[:, 0], VALUES[:1, 1]], TIMES)
    with pytest.raises(sg.InputError, match="causes must be the keys"):
        sg.as_incidence({"a": VALUES[:, 0]}, TIMES, causes=["b"])
    with pytest.raises(sg.InputError, match="at least one cause"):
        sg.as_incidence([])


def test_causes_above_one_together_name_the_usual_reason() -> None:
    values = np.tile([0.0, 0.5, 0.8], (3, 2, 1))
    with pytest.raises(sg.InputError, match=r"reaches 1.6; .* with the others as censored"):
        sg.IncidenceCurves([0, 1, 2], values)


def test_sums_that_were_rounded_are_told_from_models_of_one_cause():
    rounded = np.array([[[0.2, 0.6], [0.1, 0.401]]])
    with pytest.raises(sg.InputError, match=r"rounded when .* repair='running_maximum'"):
        sg.IncidenceCurves([1, 2], rounded)
    assert sg.IncidenceCurves([1, 2], rounded, repair="running_maximum").at(2, 1) < 0.6
    with pytest.raises(sg.InputError, match="one model per cause"):
        sg.IncidenceCurves([1, 2], [[[0.2, 0.6], [0.1, 0.5]]])
