"""Delayed entry in streams: any cutting into chunks gives what `evaluate` gives."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from streaming_data import (
    COLUMNS,
    ENTRY_NAMES,
    cut,
    differences,
    draw,
    in_memory,
    trained_late,
    with_entry,
)

import survgauge as sg

cuts = st.lists(st.integers(1, 39), max_size=6)


def streamed(batches, y_train, **options):
    options = {"metrics": ENTRY_NAMES, "predictions": COLUMNS, **options}
    return sg.evaluate_stream(batches, y_train=y_train, **options)


@settings(max_examples=12, deadline=None)
@given(st.integers(2, 40), st.integers(0, 1000), cuts, st.sampled_from([None, 8.0]), st.booleans())
@example(40, 3, [1, 2, 3], None, True)
def test_chunks_give_what_the_whole_gives(n, seed, places, tau, weighted):
    columns, y_train = draw(n, seed, train=20)
    columns = with_entry(columns, seed)
    options = {"n_boot": 12, "tau": tau}
    more = {}
    if weighted:
        columns["weight"] = np.random.default_rng(seed).integers(0, 4, n).astype(float)
        columns["weight"][0] = 1.0
        more = {"weight_column": "weight"}
    whole = in_memory(columns, trained_late(y_train), metrics=ENTRY_NAMES, **options)
    stream = streamed(cut(columns, places), trained_late(y_train), **options, **more)
    wrong = differences(whole.to_dict(), stream.to_dict())
    assert wrong == []
