"""Delayed entry at the door: what is read, kept, refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import survgauge as sg
from survgauge.errors import InputError

TIME, EVENT, ENTRY = [5.0, 8.0, 3.0, 9.0], [1, 0, 1, 1], [0.0, 2.0, 0.0, 6.0]
Y = sg.Outcomes(TIME, EVENT, entry=ENTRY)


def test_entry_of_zero_for_everybody_is_none() -> None:
    assert sg.Outcomes(TIME, EVENT, entry=np.zeros(4)).entry is None
    assert sg.Outcomes([0.0, 1.0], [1, 0], entry=[0.0, 0.0]).entry is None  # an event at 0


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ([0, 8, 0, 9.5], r"rows 2 and 4 .*enters at 8 and is observed until 8"),
        ([0, 2, 0], "one entry per subject"),
        ([0, np.nan, 0, 1], "entry must be finite"),
        ([0, -1, 0, 1], "at least 0"),
        (["a"] * 4, "entry"),
    ],
)
def test_contradictory_rows_are_named(entry: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sg.Outcomes(TIME, EVENT, entry=entry)


def test_selections_keep_it() -> None:
    assert Y[[1, 3]].entry.tolist() == [2.0, 6.0]
    assert Y[[0, 2]].entry is None
    assert Y.part(slice(1, 3)).entry.tolist() == [2.0, 0.0]
    assert Y.reweighted(np.ones(4)).entry.tolist() == ENTRY
    assert Y.own().entry.tolist() == ENTRY
    assert sg.Outcomes.joined([Y, Y[[0]]]).entry.tolist() == [*ENTRY, 0.0]
    assert pickle.loads(pickle.dumps(Y)).entry.tolist() == ENTRY
    assert copy.deepcopy(Y).entry.tolist() == ENTRY
    causes = sg.Outcomes(TIME, [1, 0, 2, 1], entry=ENTRY)
    assert causes.any_cause().entry.tolist() == causes.only(1).entry.tolist() == ENTRY
    with pytest.raises(ValueError, match="read-only"):
        Y.entry[0] = 1.0


def test_stopped_clock_leaves_out_who_enters_later() -> None:
    found = Y.restricted(6.0)
    assert found.weight.tolist() == [1, 1, 1, 0]
    assert found.present().time.tolist() == [5, 6, 3]


def test_landmark() -> None:
    assert Y.observed_at(2.0).tolist() == [True, True, True, False]
    found = Y.from_landmark(2.0)
    assert found.time.tolist() == [3, 6, 1]
    assert found.entry is None


@pytest.mark.parametrize(
    "holder",
    [
        pd.DataFrame({"time": TIME, "event": EVENT, "entry": ENTRY}),
        {"time": TIME, "event": EVENT, "entry": ENTRY},
        Y.to_structured(),
        Y,
    ],
)
def test_read_by_who_knows_it_and_refused_by_others(holder: object) -> None:
    assert sg.Outcomes.of(holder, entry=True).entry.tolist() == ENTRY
    with pytest.raises(InputError, match=r"delayed entry .* for 2 of 4 subjects"):
        sg.Outcomes.of(holder)
    with pytest.raises(InputError, match="delayed entry"):
        sg.concordance_index(holder, [1, 2, 3, 4], method="margin")


def test_at_risk_by_a_loop() -> None:
    rng = np.random.default_rng(0)
    time = rng.integers(1, 9, 60).astype(float)
    entry = np.minimum(rng.integers(0, 8, 60), time - 1)
    event, weight = rng.random(60) < 0.6, rng.uniform(0.1, 3, 60)
    for w in (None, np.rint(weight) + 1, weight):
        km = sg.KaplanMeier.fit(sg.Outcomes(time, event, w, entry=entry))
        copies = np.ones(60) if w is None else w
        value = 1.0
        for t in np.unique(time):
            risk = ((entry < t) & (t <= time) | ((entry == 0) & (t == 0))) * copies
            value *= 1 - (copies * (event & (time == t))).sum() / risk.sum()
            assert np.isclose(km.at(t), value, rtol=1e-12, atol=1e-14)
