"""Outcomes of several causes: reading, keeping, refusing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import survgauge as sg
from survgauge.data.files import read_outcomes

TIME = [5.0, 8.0, 3.0, 7.0]
CODES = [1, 0, 2, 2]
NAMES = ("relapse", "death")


def of(**given):
    return sg.Outcomes(TIME, CODES, **{"causes": NAMES, **given})


def same(a, b):
    assert list(a.time) == list(b.time)
    assert list(a.cause) == list(b.cause)
    assert list(a.event) == list(b.event)
    assert list(a.weight) == list(b.weight)
    assert a.causes == b.causes


def test_codes_without_names():
    y = sg.Outcomes(TIME, np.array(CODES, dtype=float))
    assert y.causes == ("1", "2")
    assert list(y.cause) == CODES
    assert list(y.event) == [True, False, True, True]
    assert repr(y) == "Outcomes(n=4, 1=1, 2=2, last time=8)"


def test_one_cause_is_what_it_was():
    for y in (
        sg.Outcomes([1, 2], [1, 0]),
        sg.Outcomes([1, 2], [True, False]),
        sg.Outcomes([1, 2], ["dead", "Censored"], causes=["dead"]),
        sg.Outcomes.of(([1, 2], [1, 0]), causes=True),
    ):
        assert y.cause is None
        assert y.causes is None
        assert y.event.dtype == bool
        assert list(y.event) == [True, False]
        assert y.any_cause() is y
        assert y.to_structured().dtype["event"].kind == "b"


def test_names_are_read_as_their_codes():
    words = np.array(["relapse", "censored", "death", " death "], dtype=object)
    same(sg.Outcomes(TIME, words, causes=NAMES), of())
    # A cause that did not occur keeps its code.
    y = sg.Outcomes([1, 2], ["death", ""], causes=NAMES)
    assert list(y.cause) == [2, 0]
    # A cause may have the name of nothing.
    assert list(sg.Outcomes([1, 2], ["none", "0"], causes=["none", "some"]).cause) == [1, 0]


def test_the_same_from_frames_arrays_and_files(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"time": TIME, "event": CODES})
    words = pd.Series(["relapse", "censored", "death", "death"], dtype="category")
    frame.to_csv(tmp_path / "codes.csv")
    frame.to_parquet(tmp_path / "codes.parquet")
    frame.assign(event=words).to_csv(tmp_path / "words.csv")
    frame.assign(event=words).to_parquet(tmp_path / "words.parquet")
    structured = of().to_structured()
    assert structured["event"].dtype == np.int32
    for obj in (
        frame,
        frame.assign(event=words),
        {"time": TIME, "event": CODES},
        (TIME, CODES),
        structured,
        np.array(list(zip(CODES, TIME, strict=True)), dtype=[("status", "i8"), ("ftime", "f8")]),
    ):
        same(sg.Outcomes.of(obj, causes=NAMES), of())
    for name in ("codes.csv", "codes.parquet", "words.csv", "words.parquet"):
        same(read_outcomes(tmp_path / name, causes=NAMES), of())
    assert read_outcomes(tmp_path / "codes.csv", causes=True).causes == ("1", "2")


def test_a_file_with_several_codes_is_not_read_as_one_kind_of_event(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("time,event\n1,0\n2,1\n3,2\n")
    with pytest.raises(sg.InputError, match="all others then count as censored, which is wrong"):
        read_outcomes(path)
    path.write_text("time,event\n1,alive\n2,dead\n3,alive\n")
    with pytest.raises(sg.InputError, match=r"--event-value dead$"):
        read_outcomes(path)


def test_causes_are_kept():
    y = of(weight=[1, 2, 0, 4])
    assert list(y[[2, 3]].cause) == [2, 2]
    assert y[[2, 3]].causes == NAMES
    assert list(y.part(slice(1, 3)).cause) == [0, 2]
    assert list(y.present().cause) == [1, 0, 2]
    assert list(y.reweighted(np.ones(4)).cause) == CODES
    same(pickle.loads(pickle.dumps(y)), y)
    same(sg.Outcomes.joined([y[:1], y[1:]]), y)
    same(y.part(slice(0, 4)).own(), y)
    assert y.own() is not None
    with pytest.raises(ValueError, match="read-only"):
        y.cause[0] = 2


def test_joined_outcomes_have_the_same_causes():
    with pytest.raises(sg.InputError, match="causes must be the same"):
        sg.Outcomes.joined([of(), sg.Outcomes(TIME, CODES)])
    with pytest.raises(sg.InputError, match="causes must be the same"):
        sg.Outcomes.joined([of(), of().any_cause()])


def test_one_cause_on_request():
    y = of(weight=[1, 2, 3, 4])
    y.order(keep=True)
    only = y.only("death")
    assert list(only.event) == [False, False, True, True]
    assert list(only.weight) == [1, 2, 3, 4]
    assert only.cause is None
    assert list(y.only(1).event) == [True, False, False, False]
    assert list(y.any_cause().event) == [True, False, True, True]
    with pytest.raises(sg.InputError, match="cause must be the code or the name"):
        y.only("dead")
    with pytest.raises(sg.InputError, match="did you mean 'death'"):
        y.only("deat")
    for bad in (0, 3, True, 1.0, None):
        with pytest.raises(sg.InputError, match=r"1 \('relapse'\), 2 \('death'\)"):
            y.only(bad)
    with pytest.raises(sg.InputError, match="these have one"):
        y.any_cause().only(1)


BAD = {
    # Many files of R have 1 for censored and 2 for dead: two causes have to be named there.
    "no zero": ({"event": [1, 2, 2, 1]}, "Its codes are 1, 2: .* give their names, .*--causes"),
    "a gap": ({"event": [0, 3, 1, 1]}, "Its codes are 0, 1, 3"),
    "fraction": ({"event": [0, 1, 1.5, 2]}, "event must be 0/1 or booleans .* got 1.5 for rows 3"),
    "negative": ({"event": [0, 1, -1, 2]}, "event must be 0/1 or booleans .* got -1 for rows 3"),
    "nan": (
        {"event": [0, 1, np.nan, 2]},
        r"event must be 0/1 or booleans .* missing \(nan\) for row 3",
    ),
    "words with censored": (
        {"event": ["dementia", "death", "censored", "death"]},
        r"causes=\['death', 'dementia'\]\) or --causes death,dementia",
    ),
    "words": ({"event": ["a", "b", "c", "c"]}, "with several causes give their names, .*--causes"),
    "text": ({"causes": "ab"}, "causes must be a list of names"),
    "twice": ({"causes": ["a", "a"]}, "causes must be names, distinct and not empty"),
    "empty": ({"causes": []}, "causes must be names, distinct and not empty"),
    "numbers": ({"causes": [1, 2]}, "causes must be a list of names"),
    "few": ({"causes": ["a"]}, "a code from 1 to 1, one per name in causes; got 2 for rows 3 and"),
    "other word": (
        {"event": ["relapse", "censored", "death", "dead"], "causes": NAMES},
        "event must be one of 'relapse', 'death' or 'censored'; got 'dead' for row 4",
    ),
    "gap in words": (
        {"event": ["relapse", None, "death", "death"], "causes": NAMES},
        "got None for row 2",
    ),
    "matrix": ({"event": [[0, 1, 1, 2]], "causes": NAMES}, "event must have 1 dimension"),
    "length": ({"event": [0, 1, 2]}, "same length; got 4 and 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_causes_are_named(case):
    given, message = BAD[case]
    with pytest.raises(sg.InputError, match=message):
        sg.Outcomes(TIME, **{"event": CODES, **given})


def test_the_door_says_what_to_do():
    for refuse in (
        lambda: sg.Outcomes.of(of()),
        lambda: sg.Outcomes.of((TIME, CODES)),
        lambda: of().restricted(5.0),
        lambda: sg.KaplanMeier.fit(of()),
    ):
        with pytest.raises(sg.InputError, match="y must have one kind of event here") as error:
            refuse()
        for word in ("cause=", "y.any_cause()", "y.only(cause)", "overstates"):
            assert word in str(error.value)


def test_censoring_has_no_cause():
    wanted = sg.KaplanMeier.fit_censoring(of().any_cause()).survival
    np.testing.assert_array_equal(sg.KaplanMeier.fit_censoring(of()).survival, wanted)


def test_folds_are_stratified_by_cause():
    pytest.importorskip("sklearn")
    y = sg.Outcomes(np.arange(1.0, 31), np.arange(30) % 3)
    fold = sg.SurvivalKFold(5).folds(y)
    for code in range(3):
        assert list(np.bincount(fold[y.cause == code])) == [2] * 5


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["Censored", "death"], "'Censored' is not one of them: leave it out"),
        (["2", "1"], "the one with code 1 '2', which reads as another code"),
        (["relapse", "0"], "the one with code 2 '0', which reads as another code"),
    ],
)
def test_names_that_would_be_mistaken(names: list[str], said: str) -> None:
    with pytest.raises(sg.InputError, match=said):
        sg.Outcomes([1, 2, 3], [0, 1, 2], causes=names)
    assert sg.Outcomes([1, 2, 3], [0, 1, 2], causes=["1", "2"]).causes == ("1", "2")
