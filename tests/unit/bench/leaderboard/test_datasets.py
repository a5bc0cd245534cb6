"""The list of datasets: licences with evidence, enough events, and nothing said twice."""

from __future__ import annotations

import pytest

from survgauge.bench import datasets
from survgauge.bench.datasets.record import HOMES, SETS
from survgauge.bench.leaderboard.problems import FEWEST_EVENTS, LEFT_OUT, LISTED


def test_thirty_datasets_with_licence_event_and_unit():
    assert len(LISTED) >= 30
    for entry in LISTED.values():
        assert entry.licence
        assert entry.origin in entry.evidence
        assert entry.title
        assert entry.event
        assert entry.unit
        assert entry.kind in ("medicine", "genes", "social")
    titles = [entry.title for entry in LISTED.values()]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("name", LISTED)
def test_shipped_with_one_event_type_and_enough_events(name):
    record = SETS[name]
    assert record.home in HOMES
    assert record.home != "mimic"
    assert not record.counts.causes
    assert FEWEST_EVENTS <= record.counts.events < record.counts.rows
    assert record.counts.features >= 3
    assert not record.unit or record.unit == LISTED[name].unit


def test_every_dataset_with_enough_events_is_in_or_has_a_reason():
    enough = {
        name
        for name, record in SETS.items()
        if record.counts.events >= FEWEST_EVENTS and not record.counts.causes
    }
    assert not set(LISTED) & set(LEFT_OUT)
    assert enough <= set(LISTED) | set(LEFT_OUT)
    assert all(len(why) >= 8 for why in LEFT_OUT.values())


@pytest.mark.parametrize(
    "name", ["veteran", "d.oropha.rec", "ova", "lifelines_rossi", "sksurv_whas500"]
)
def test_a_listed_dataset_loads_with_its_counts(name):
    pytest.importorskip("SurvSet", reason="datasets of SurvSet")
    loaded = datasets.load(name)  # compares counts itself
    counts = LISTED[name].counts
    assert (len(loaded), int(loaded.y.event.sum())) == (counts.rows, counts.events)
    assert loaded.X.shape[1] == counts.features
