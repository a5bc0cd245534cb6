"""Threads over blocks: the same numbers for any number of threads, and no more than asked for."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from survgauge import InputError, SurvivalCurves, evaluate
from survgauge._tools.running import VARIABLE, in_order, run_all, thread_count


@pytest.fixture
def threads(monkeypatch):
    def choose(number: object) -> None:
        monkeypatch.setenv(VARIABLE, str(number))

    return choose


def test_results_come_in_order_whatever_ends_first(threads):
    threads(3)
    waits = [threading.Event() for _ in range(3)]

    def work(k: int) -> tuple[int, str]:
        if k < 2:  # the first two end after the third has started
            waits[k].wait(5)
        elif k == 2:
            waits[0].set()
            waits[1].set()
        return k, threading.current_thread().name

    found = list(in_order(work, range(9)))
    assert [k for k, _ in found] == list(range(9))
    assert all(name.startswith("survgauge") for _, name in found)


def test_an_error_in_a_block_is_raised_here(threads):
    threads(2)

    def work(k: int) -> None:
        if k == 5:
            raise InputError(f"block {k}")

    with pytest.raises(InputError, match="block 5"):
        run_all(work, range(40))


def test_the_callers_floating_point_settings_hold_in_the_threads(threads):
    threads(2)
    with np.errstate(divide="ignore"):
        found = list(in_order(lambda k: np.ones(1000) / np.zeros(1000), range(8)))
    assert all(np.isinf(part).all() for part in found)


def test_threads_do_not_start_threads(threads):
    threads(4)
    assert thread_count() == 4
    assert set(in_order(lambda _: thread_count(), range(20))) == {1}


def test_workers_of_others_get_one_thread(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(thread_count).result() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count() == 1


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "1.5"])
def test_a_number_of_threads_that_is_none_is_refused(threads, wrong):
    threads(wrong)
    with pytest.raises(InputError, match=VARIABLE):
        thread_count()


def _many(n: int, dtype: type) -> tuple[SurvivalCurves, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(5)
    grid = np.linspace(0.0, 12.0, 30)
    rate = rng.gamma(3.0, 0.06, n)
    survival = np.exp(-rate[:, None] * grid).astype(dtype)
    time = rng.exponential(1 / rate)
    limit = rng.exponential(9.0, n)
    return SurvivalCurves(grid, survival), (np.minimum(time, limit), time <= limit)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_and_three_threads_give_the_same_bits(threads, dtype):
    n = 60_000  # several spans of blocks
    curves, y = _many(n, dtype)
    _, y_train = _many(n + 1, np.float32)
    metrics = ["mae_po", "mae_expected", "uno", "auc", "brier", "ibs", "ibll", "crps",
               "log_likelihood", "d_calibration", "km_calibration", "ici"]  # fmt: skip
    found = []
    for number in (1, 3):
        threads(number)
        # New curves, so that nothing is remembered from the first time.
        again = SurvivalCurves(curves.times, curves.survival)
        result = evaluate(again, y, y_train=y_train, metrics=metrics)
        found.append([(r["metric"], r["value"], r["stderr"], r["skill"]) for r in result.rows()])
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one[1:], three[1:], err_msg=one[0])
