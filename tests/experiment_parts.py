"""Models and metrics for tests of the experiment harness; worker processes import them by name."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from survgauge import Conditional, SurvivalCurves
from survgauge.metrics.score import Score
from survgauge.metrics.time.time_errors import time_error


class Constant:
    """Predicts one time for everybody, and can be told to misbehave while it fits."""

    def __init__(
        self, value: float = 10.0, log: str = "", trouble: str = "", once: str = ""
    ) -> None:
        self.value, self.log, self.trouble, self.once = value, log, trouble, once

    def fit(self, X: Any, y: Any) -> Constant:
        if self.log:
            # One file a fit, so that a test can count fits over all processes.
            Path(self.log, f"{time.time_ns()}-{os.getpid()}").touch()
        if self.trouble and not (self.once and Path(self.once).exists()):
            if self.once:
                Path(self.once).touch()
            self._misbehave()
        return self

    def _misbehave(self) -> None:
        if self.trouble == "raise":
            raise ArithmeticError("on purpose")
        if self.trouble == "swallow":
            with suppress(Exception):
                time.sleep(30)
        if self.trouble == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.trouble == "slow":
            time.sleep(0.15)
        if self.trouble == "busy":
            # Python code that never sleeps: only an exception from outside stops it.
            end = time.monotonic() + 30
            while time.monotonic() < end:
                sum(range(100))

    def predict_time(self, X: Any) -> Any:
        return np.full(len(X), float(self.value))


class Shifted(Constant):
    """Predicts times that depend on the first feature."""

    def predict_time(self, X: Any) -> Any:
        return np.maximum(self.value + 3.0 * np.asarray(X)[:, 0], 0.5)


def truth_plus_one(task: Any, prediction: Any) -> Score:
    """A metric of one's own: the uncensored error plus one."""
    details = time_error(task.y, prediction.times, method="uncensored")
    return Score(details.value + 1.0, influence=details.contributions)


def halving_distribution(
    X_train: Any, y_train: Any, X_test: Any, random_state: int = 0
) -> Conditional:
    """A distribution of one's own: event times that halve or double with the first feature."""
    if os.environ.get("DISTRIBUTION_LOG"):
        Path(os.environ["DISTRIBUTION_LOG"], f"{time.time_ns()}-{os.getpid()}").touch()
    if os.environ.get("DISTRIBUTION_TROUBLE"):
        raise ArithmeticError("a distribution on purpose")
    grid = np.linspace(0, float(y_train.time.max()), 40)[1:]
    scale = 20.0 * 2.0 ** np.asarray(X_test)[:, :1]
    curves = SurvivalCurves(grid, np.exp(-grid / scale), "step")
    later = SurvivalCurves(grid, np.exp(-0.5 * grid / scale), "step")
    return Conditional(curves, later, {"distribution": "halving"})


def no_distribution(X_train: Any, y_train: Any, X_test: Any, random_state: int = 0) -> Any:
    """Something that is not a distribution."""
    return {"distribution": X_test}
