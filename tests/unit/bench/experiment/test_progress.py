"""Lines about a run: counts, failures, the time that is left."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from survgauge.bench.experiment.runner import RunProgress


class FakeCell:
    def __init__(self, dataset, model):
        self.dataset, self.model = (type("Spec", (), {"label": x})() for x in (dataset, model))

    def __str__(self):
        return f"{self.dataset.label}/{self.model.label}"


def test_time_left_from_finished_cells_of_the_same_model():
    cells = [FakeCell("p", m) for m in ("fast", "slow")] + [
        FakeCell("q", m) for m in ("fast", "slow")
    ]
    shown = RunProgress(cells, 2, shown=False)
    assert shown.seconds_left() is None
    shown.done(cells[0], "ok", 1.0)
    shown.done(cells[1], "ok", 9.0)
    assert shown.seconds_left() == pytest.approx((1.0 + 9.0) / 2)


def test_lines_say_how_far_a_run_is(capsys):
    cells = [FakeCell("p", "a"), FakeCell("p", "b")]
    shown = RunProgress(cells, 1)
    shown.done(cells[0], "failed", 1.0, "FitError: no")
    shown.done(cells[1], "ok", 1.0)
    error = capsys.readouterr().err.splitlines()
    assert error[0] == "failed: p/a: FitError: no"
    assert error[-1].startswith("2/2 cells, 1 failed, 0:00:00 passed")


def test_silence(capsys):
    RunProgress([FakeCell("p", "a")], 1, shown=False).done(FakeCell("p", "a"), "ok", 1.0)
    assert capsys.readouterr().err == ""
