"""Subjects in parts, curves left where they are: the same numbers in less memory."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streaming_data import differences

from survgauge import Outcomes, Reference, SurvivalCurves, evaluate
from survgauge.estimators.pseudo import PseudoMeans
from survgauge.evaluation import cells
from survgauge.metrics.registry import metrics_of
from survgauge.metrics.time import time_errors
from survgauge.metrics.time.time_errors import time_error


def _outcomes(rng: np.random.Generator, n: int) -> Outcomes:
    time = rng.integers(0, 9, n).astype(float)
    return Outcomes(time, rng.random(n) < 0.6, rng.integers(1, 4, n))


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), tail=st.sampled_from(["linear", "exponential", "hold"]))
def test_pseudo_means_do_not_depend_on_the_pieces(seed, tail):
    rng = np.random.default_rng(seed)
    y = _outcomes(rng, int(rng.integers(2, 40)))
    if not y.event.any():
        return
    whole = PseudoMeans(Reference(y), tail)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("survgauge._tools.running.CHUNK", 3)
        pieces = PseudoMeans(Reference(y), tail)
    np.testing.assert_array_equal(pieces.by_index, whole.by_index)
    c = np.array([y.time.max() + 1.0])
    j = np.array([whole.by_index.size - 1])
    np.testing.assert_array_equal(pieces.at(c, j), whole.at(c, j))


def _many(n: int, m: int, where: object = None) -> SimpleNamespace:
    rng = np.random.default_rng(3)
    grid = np.linspace(0.0, 45.0, m)
    rate = rng.gamma(3.0, 0.06, n)
    survival = np.exp(-rate[:, None] * grid).astype(np.float32)
    if where is not None:
        kept = np.memmap(where, np.float32, "w+", shape=survival.shape)
        kept[:] = survival
        kept.flush()
        survival = np.memmap(where, np.float32, "r", shape=survival.shape)
    time, limit = rng.exponential(1 / rate), rng.exponential(9.0, n)
    y = np.minimum(time, limit), time <= limit
    return SimpleNamespace(grid=grid, survival=survival, y=y)


@pytest.mark.parametrize("mapped", [False, True])
def test_float32_curves_are_neither_copied_nor_widened(mapped, tmp_path):
    n, m = 100_000, 200
    given_ = _many(n, m, tmp_path / "curves" if mapped else None)
    evaluate(SurvivalCurves(given_.grid, given_.survival[:500]), tuple(v[:500] for v in given_.y),
             confidence=None)  # fmt: skip
    tracemalloc.start()
    try:
        curves = SurvivalCurves(given_.grid, given_.survival)
        assert np.shares_memory(curves.survival, given_.survival)
        metrics = ["mae_po", "harrell", "brier", "ibs", "ibll", "crps", "log_likelihood",
                   "d_calibration", "km_calibration"]  # fmt: skip
        evaluate(curves, given_.y, y_train=given_.y, metrics=metrics, confidence=None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # 80 MB of curves: a copy, let alone a wide one, would show.
    assert peak < 0.6 * given_.survival.nbytes


def test_evaluation_of_many_takes_less_than_a_third_of_its_input(monkeypatch):
    monkeypatch.setenv("SURVGAUGE_THREADS", "2")  # each thread holds a chunk
    n = 250_000
    given_, train = _many(n, 100), _many(n, 1).y
    few = SurvivalCurves(given_.grid, given_.survival[:500])
    evaluate(few, tuple(v[:500] for v in given_.y), confidence=None)  # imports
    arrays = (given_.survival, *given_.y, *train)
    tracemalloc.start()
    try:
        evaluate((given_.grid, given_.survival), given_.y, y_train=train, confidence=None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Here chunks of constant size weigh more than at a million subjects.
    assert peak < 0.33 * sum(array.nbytes for array in arrays)


def test_an_evaluation_keeps_its_own_outcomes():
    given_ = _many(50, 5)
    y, train = given_.y, tuple(v.copy() for v in given_.y)
    found = evaluate(given_.y[0], y, y_train=train, metrics=["mae_po"])
    before = found.task.y.time.copy(), found.task.reference.y.time.copy()
    for array in (*y, *train):
        array[:] = 0
    np.testing.assert_array_equal(found.task.y.time, before[0])
    np.testing.assert_array_equal(found.task.reference.y.time, before[1])
    lent, kept = Outcomes(before[0], y[1], copy=False), Outcomes(before[0], y[1])
    assert np.shares_memory(lent.time, before[0])
    assert not lent.time.flags.writeable
    assert not np.shares_memory(lent.own().time, before[0])
    assert kept.own() is kept


def test_medians_are_computed_once_for_a_family_of_metrics(monkeypatch):
    given_ = _many(3000, 20)
    curves = SurvivalCurves(given_.grid, given_.survival)
    y = Outcomes(*given_.y)
    asked: list[SurvivalCurves] = []
    quantile = SurvivalCurves.quantile
    monkeypatch.setattr(
        SurvivalCurves, "quantile", lambda self, q: asked.append(self) or quantile(self, q)
    )
    evaluate(curves, y, y_train=given_.y, n_boot=0)
    # Once for the errors of a chunk under each assumed tail, and once for the metrics that rank all
    # subjects.
    tails = [one.tail for one in asked if len(one) == 3000 and not one.one_curve]
    assert sorted(tails) == ["exponential", "hold", "linear", "linear"]


def test_above_a_size_cells_have_the_same_numbers(monkeypatch):
    given_ = _many(3000, 20)
    models = {
        "a": SurvivalCurves(given_.grid, given_.survival),
        "b": SurvivalCurves(given_.grid, given_.survival**1.3),
    }
    metrics = ["mae_po", "harrell", "ibs", "ibll", "auc", "crps", "ici", "d_calibration"]
    # Follow-up ends within the predicted times, so that every metric has a value.
    y = np.minimum(given_.y[0], 11.0), given_.y[1] & (given_.y[0] <= 11.0)
    whole = evaluate(models, y, y_train=y, metrics=metrics, n_boot=12)
    monkeypatch.setattr(cells, "CONTRIBUTIONS_LIMIT", 100)
    slim = evaluate(models, y, y_train=y, metrics=metrics, n_boot=12)
    assert differences(whole.to_dict(), slim.to_dict()) == []


@pytest.mark.parametrize("in_sample", [False, True])
@pytest.mark.parametrize("confidence", [None, 0.95])
def test_nothing_waits_for_the_collector_of_cycles(in_sample, confidence):
    given_ = _many(300, 20)
    curves, y_train = SurvivalCurves(given_.grid, given_.survival), None if in_sample else given_.y

    def work() -> None:
        evaluate({"a": curves, "b": given_.y[0]}, given_.y, y_train=y_train, n_boot=12,
                 metrics=list(metrics_of()), threshold=0.3,
                 confidence=confidence).compare()  # fmt: skip
        for method in time_errors.censored_methods():
            time_error(given_.y, given_.y[0], y_train=y_train, method=method, tau=5.0)

    work()  # imports
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        work()
        gc.collect()
        ours = {type(one).__name__ for one in gc.garbage if "survgauge" in type(one).__module__}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert ours == set()


def test_threads_may_share_a_reference():
    rng = np.random.default_rng(0)
    n = 20_000
    y = rng.exponential(size=n), rng.random(n) < 0.6
    predicted, methods = rng.random(n), ("expected", "po", "margin", "ipcw_t", "ipcw_d")
    alone = {m: time_error(y, predicted, y_train=y, method=m) for m in methods}
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            asked, shared = [m for m in methods for _ in range(2)], Reference(y)
            ask = partial(time_error, y, predicted, y_train=shared)
            with ThreadPoolExecutor(4) as pool:
                found = [pool.submit(ask, method=m) for m in asked]
                assert [one.result() for one in found] == [alone[m] for m in asked]
    finally:
        sys.setswitchinterval(interval)
