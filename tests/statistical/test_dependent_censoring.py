"""Metrics under the right dependence are right where those of independent censoring are not."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

N, DRAWS, TAU = 1500, 60, 2.0


def measured(seed, dependence):
    """Error, Brier score and C of one draw: true, under independence, and under the dependence."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    drawn = sg.semisynthetic(
        x[:, None], (rng.exponential(size=N) * np.exp(0.8 * x), np.ones(N)), "exponential", seed,
        kendall_tau=dependence.kendall_tau, copula=dependence.copula, whole_units=False,
    )  # fmt: skip
    x = np.asarray(drawn.X)[:, 0]
    times = np.array([0.5, 1.0, 2.0])
    curves = sg.SurvivalCurves(times, np.exp(-times * np.exp(-0.8 * x)[:, None]))
    known = drawn.true_time, np.ones(x.size)

    def numbers(y, **how):
        return (
            sg.mae(y, np.exp(0.8 * x), method="ipcw_d", tau=TAU, **how),
            sg.brier_score(y, curves, [1.0], **how).values[0],
            sg.concordance_index(y, -x, method="uno", tau=TAU, **how),
        )

    return numbers(known), numbers(drawn.y), numbers(drawn.y, dependence=dependence)


@pytest.mark.slow
@pytest.mark.parametrize(
    "dependence",
    [sg.Dependence(0.5), sg.Dependence(-0.4, "frank"), sg.Dependence(0.4, "gumbel")],
    ids=str,
)
def test_the_right_dependence_takes_the_bias_away(dependence):
    found = np.array([measured(seed, dependence) for seed in range(DRAWS)])
    gap = found[:, 1:] - found[:, :1]
    bias, error = gap.mean(axis=0), gap.std(axis=0) / np.sqrt(DRAWS)
    print(dependence, "bias", bias.round(4).tolist(), "error", error.round(4).tolist())
    assert (np.abs(bias[1]) < 3.5 * error[1]).all()
    # All three of them are wrong under independence, two of them at least by far.
    assert (np.abs(bias[0]) > 5 * error[0]).sum() >= 2
    assert (np.abs(bias[0]) > np.abs(bias[1])).all()
