"""Doubly robust errors: small bias if the distribution or G is right, coverage, size.

`python tests/statistical/test_doubly_robust.py` prints the table of docs/metrics/mae_dr.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import survgauge as sg
from survgauge.estimators.cox import CoxModel

pytestmark = pytest.mark.slow

TAU, SHAPE = 10.0, 1.5
GRID = np.linspace(0.0, TAU, 61)


@dataclass
class Drawn:
    """Subjects with one feature, and two models that are equally good and one that is worse."""

    x: np.ndarray
    time: np.ndarray
    y: sg.Outcomes
    models: dict


def scale(x):
    return 10 * np.exp(0.5 * x)


def censoring_mean(x, dependent):
    return 14 * np.exp(-0.8 * x) if dependent else np.full(x.size, 12.0)


def draw(rng, n, dependent):
    x = rng.normal(size=n).clip(-2, 2)
    time = scale(x) * rng.weibull(SHAPE, n)
    censored = censoring_mean(x, dependent) * rng.exponential(size=n)
    median = scale(x) * np.log(2) ** (1 / SHAPE)
    spread = {"one": 0.3, "other": 0.3, "worse": 0.45}
    models = {name: median * np.exp(s * rng.normal(size=n)) for name, s in spread.items()}
    return Drawn(x, time, sg.Outcomes(np.minimum(time, censored), time <= censored), models)


def true_distribution(x):
    values = np.exp(-((GRID / scale(x)[:, None]) ** SHAPE))
    return sg.SurvivalCurves(GRID, values)


def wrong_distribution(x):
    """Everybody dies soon, those the sooner who live longest."""
    return sg.SurvivalCurves(GRID, np.exp(-GRID / (3 * np.exp(-0.5 * x[:, None]))))


def true_g(x, dependent):
    return sg.SurvivalCurves(GRID, np.exp(-GRID / censoring_mean(x, dependent)[:, None]))


def cox_distribution(train, x):
    fitted = CoxModel.fit(train.x[:, None], train.y)
    return sg.SurvivalCurves(GRID, fitted.survival(x[:, None], GRID))


@cache
def truth(name, dependent=False):
    rng = np.random.default_rng(1)
    many = draw(rng, 400_000, dependent)
    return float(np.abs(np.minimum(many.time, TAU) - np.minimum(many.models[name], TAU)).mean())


def details(drawn, name, train, given, floor=0.02):
    return sg.time_error(
        drawn.y, drawn.models[name], y_train=train.y, method="dr", tau=TAU, conditional=given,
        floor=floor,
    )  # fmt: skip


def conditionals(drawn):
    """Distribution and G, right or badly wrong, where censoring depends on the feature."""
    right, wrong = true_distribution(drawn.x), wrong_distribution(drawn.x)
    g = true_g(drawn.x, True)
    return {
        "distribution right, G wrong": sg.Conditional(distribution=right),
        "distribution wrong, G right": sg.Conditional(distribution=wrong, censoring=g),
        "both right": sg.Conditional(distribution=right, censoring=g),
        "both wrong": sg.Conditional(distribution=wrong),
    }


def biases(replications, n=1000):
    """Mean of each estimate against the truth in %, with its standard error."""
    rng = np.random.default_rng(2)
    found: dict[str, list[float]] = {}
    for _ in range(replications):
        drawn, train = draw(rng, n, True), draw(rng, n, True)
        for name, given in conditionals(drawn).items():
            found.setdefault(name, []).append(details(drawn, "one", train, given).value)
        found.setdefault("Kaplan-Meier for both", []).append(
            details(drawn, "one", train, None).value
        )
        found.setdefault("IPCW-D", []).append(
            sg.mae(drawn.y, drawn.models["one"], method="ipcw_d", tau=TAU)
        )
    wanted = truth("one", True)
    return {
        name: (100 * (np.mean(v) / wanted - 1), 100 * np.std(v) / wanted / len(v) ** 0.5)
        for name, v in found.items()
    }


def coverage(replications, n, size, dependent, distribution="cox"):
    """Shares of intervals that cover, and of paired differences that are significant, in %."""
    rng = np.random.default_rng([n, size, dependent, distribution == "cox"])
    covered = differ = power = 0
    values = []
    for _ in range(replications):
        drawn, train = draw(rng, n, dependent), draw(rng, size, dependent)
        given = (
            sg.Conditional(distribution=cox_distribution(train, drawn.x))
            if distribution == "cox"
            else None
        )
        found = {name: details(drawn, name, train, given, floor=0.1) for name in drawn.models}
        one = found["one"]
        values.append(one.value)
        covered += abs(one.value - truth("one", dependent)) <= 1.96 * one.stderr
        for other in ("other", "worse"):
            gap = found["one"].loss - found[other].loss
            significant = abs(gap.mean()) > 1.96 * gap.std(ddof=1) / n**0.5
            differ += significant and other == "other"
            power += significant and other == "worse"
    shares = tuple(100 * count / replications for count in (covered, differ, power))
    return (*shares, 100 * (np.mean(values) / truth("one", dependent) - 1))


def test_the_bias_is_small_where_the_distribution_or_g_is_right():
    found = biases(150)
    for name in ("distribution right, G wrong", "distribution wrong, G right", "both right"):
        bias, error = found[name]
        assert abs(bias) < 2 + 2 * error, (name, found[name])
    for name in ("both wrong", "Kaplan-Meier for both", "IPCW-D"):
        assert abs(found[name][0]) > 3, (name, found[name])


@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("size", [200, 1000])
def test_intervals_cover_and_differences_keep_their_level(n, size):
    replications = (
        1200  # a run of 400 once had 91.5 % by chance, as the true distribution and G had, too
    )
    covered, differ, power, bias = coverage(replications, n, size, dependent=False)
    spread = 2.6 * 100 * (0.05 * 0.95 / replications) ** 0.5
    assert 95 - spread - 1 < covered < 95 + spread + 1
    assert 5 - spread < differ < 5 + spread
    assert power > (10 if n == 300 else 35)
    assert abs(bias) < 2


def main(replications):
    for name, (bias, error) in biases(max(100, replications // 4)).items():
        print(f"| {name} | {bias:+.1f} (± {1.96 * error:.1f}) |", flush=True)
    for dependent in (False, True):
        for distribution in ("cox", "km"):
            for size in (200, 1000):
                for n in (300, 1000):
                    found = coverage(replications, n, size, dependent, distribution)
                    shares = " | ".join(f"{share:.1f}" for share in found)
                    print(f"| {dependent} | {distribution} | {size} | {n} | {shares} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
