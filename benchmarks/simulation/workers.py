"""Processes that do the parts, and that end together with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, NoReturn


@contextmanager
def workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Give a pool whose processes are ended at once where this process is interrupted or fails.

    Leaving a pool otherwise waits for everything that was submitted, which takes hours here.
    """
    others = set(multiprocessing.active_children())
    usual = signal.signal(signal.SIGTERM, _stop)
    try:
        with ProcessPoolExecutor(jobs, initializer=_begin) as pool:
            try:
                yield pool
            except BaseException:
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        signal.signal(signal.SIGTERM, usual)


def _stop(number: int, frame: Any) -> NoReturn:
    """Leave by an exception, so that the workers are ended before this process is."""
    sys.exit(128 + number)


def _begin() -> None:
    """Prepare a worker to be ended by its parent, whatever happens to that.

    A pool takes an interrupt inside a task for its result and goes on with the next task, so
    interrupts are left to the parent, and a worker that was forked forgets the parent's handler.
    A parent that was killed outright can end nobody; its workers notice that it is gone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
