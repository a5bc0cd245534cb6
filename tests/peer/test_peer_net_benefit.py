"""dcurves and rtichoke as black boxes: the same net benefits to 1e-12.

dcurves gives no net benefit where nobody has a risk of at least the threshold (ours is 0, as nobody
is treated), and where nobody who is treated was observed up to the time (ours takes Kaplan-Meier's
last value; it is known where all of them had the event). Both compare risks with thresholds
exactly; ours takes risks that are below by no more than 1e-12 for equal. Here no risk is that close
to a threshold.
"""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

TIME = 6.0


def case(seed, n=300):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event_time, censoring = 8 * np.exp(-x) * rng.weibull(1.2, n), rng.exponential(12, n)
    if seed % 2:
        event_time, censoring = np.ceil(event_time), np.ceil(censoring)
    risk = 1 - np.exp(-((TIME / (8 * np.exp(-x + rng.normal(0, 0.3, n)))) ** 1.2))
    return np.minimum(event_time, censoring), event_time <= censoring, risk


@pytest.mark.parametrize("seed", range(4))
def test_dcurves(seed):
    dcurves, pandas = pytest.importorskip("dcurves"), pytest.importorskip("pandas")
    time, event, risk = case(seed)
    levels = np.arange(0, 95, 5) / 100
    frame = pandas.DataFrame({"time": time, "event": event.astype(int), "m": risk})
    theirs = dcurves.dca(
        data=frame, outcome="event", modelnames=["m"], thresholds=levels, time=TIME,
        time_to_outcome_col="time",
    )  # fmt: skip
    found = sg.net_benefit((time, event), risk, TIME, thresholds=levels)
    for name, ours in (("m", found.values), ("all", found.treat_all)):
        rows = theirs[theirs["model"] == name].sort_values("threshold")
        known = rows["net_benefit"].notna().to_numpy()
        assert known.sum() >= 15
        np.testing.assert_allclose(ours[known], rows["net_benefit"][known], atol=1e-12)
    rows = theirs[theirs["model"] == "m"].sort_values("threshold")
    avoided = found.interventions_avoided[1:]
    scale = rows["net_intervention_avoided"].to_numpy()[1:] / avoided
    scale = scale[np.isfinite(scale)]
    np.testing.assert_allclose(scale, scale[0], rtol=1e-9)  # per subject, or per 100 of them


@pytest.mark.parametrize("seed", range(4))
def test_rtichoke(seed):
    rtichoke = pytest.importorskip("rtichoke")
    time, event, risk = case(seed)
    theirs = rtichoke.prepare_performance_data_times(
        {"m": risk}, event.astype(int), time, [TIME], by=0.05
    ).to_pandas()
    theirs = theirs[theirs["chosen_cutoff"] < 1]
    levels = theirs["chosen_cutoff"].to_numpy()
    found = sg.net_benefit((time, event), risk, TIME, thresholds=levels)
    np.testing.assert_allclose(found.values, theirs["net_benefit"], atol=1e-12)
