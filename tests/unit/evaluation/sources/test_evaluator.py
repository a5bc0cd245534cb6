"""`Evaluator`: whatever the batches, the numbers of `evaluate`."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg

GRID = np.linspace(0, 40, 41)


def data(n=230, seed=0):
    rng = np.random.default_rng(seed)
    scale = rng.uniform(5, 20, n)
    t, c = rng.exponential(scale), rng.exponential(25, n)
    y = sg.Outcomes(np.minimum(t, c), t <= c)
    predictions = {
        "curves": np.exp(-GRID / scale[:, None]).astype(np.float32),
        "times": scale * np.log(2),
        "risk": 1 / scale,
    }
    return y, predictions


def batch(predictions, rows):
    return {
        "curves": (GRID, predictions["curves"][rows]),
        "times": predictions["times"][rows],
        "risk": sg.RiskScores(predictions["risk"][rows]),
    }


def numbers(ev):
    """Everything that an evaluation says, as plain data."""
    return ev.to_dict()


@pytest.mark.parametrize("cuts", [[], [1], [50, 51, 200], list(range(10, 230, 10))])
def test_batches_give_the_numbers_of_evaluate(cuts):
    y, predictions = data()
    y_train = data(300, 1)[0]
    settings = {"tau": 30.0, "n_boot": 5, "unit": "days"}
    evaluator = sg.Evaluator(y_train, **settings)
    for rows in np.split(np.arange(len(y)), cuts):
        evaluator.update(batch(predictions, rows), y[rows])
    assert len(evaluator) == len(y)
    found = evaluator.compute()
    whole = sg.evaluate(batch(predictions, slice(None)), y, y_train=y_train, **settings)
    assert numbers(found) == numbers(whole)
    assert "antolini" in {row["metric"] for row in found.rows()}  # which no stream can have


def test_reset_begins_anew_and_compute_may_come_in_between():
    y, predictions = data()
    evaluator = sg.Evaluator(metrics=["mae_po", "harrell"], confidence=None)
    first, second = slice(0, 100), slice(100, 230)
    evaluator.update(predictions["times"][first], y[first])
    half = sg.evaluate(predictions["times"][first], y[first], **evaluator.settings)
    assert numbers(evaluator.compute()) == numbers(half)
    evaluator.update(predictions["times"][second], y[second])
    whole = sg.evaluate(predictions["times"], y, **evaluator.settings)
    assert numbers(evaluator.compute()) == numbers(whole)
    evaluator.reset()
    assert len(evaluator) == 0
    with pytest.raises(sg.InputError, match="nothing to compute"):
        evaluator.compute()
    evaluator.update({"net": (GRID, predictions["curves"][second])}, y[second])
    assert evaluator.compute().models == ("net",)


def test_batches_are_copied_from_where_they_are():
    y, predictions = data()
    evaluator = sg.Evaluator(metrics=["mae_hinge", "d_calibration"], confidence=None)
    curves, time, event = np.empty((23, 41)), np.empty(23), np.empty(23, dtype=bool)
    for rows in np.split(np.arange(230), 10):  # one buffer for all batches
        curves[:], time[:], event[:] = predictions["curves"][rows], y.time[rows], y.event[rows]
        evaluator.update((GRID, curves), (time, event))
    whole = sg.evaluate((GRID, predictions["curves"]), y, **evaluator.settings)
    assert numbers(evaluator.compute()) == numbers(whole)


def test_tensors_come_as_a_loop_has_them():
    torch = pytest.importorskip("torch")
    y, predictions = data()
    y_train = data(300, 1)[0]
    time, event = torch.tensor(y.time), torch.tensor(y.event)
    logits = torch.tensor(np.log(predictions["curves"]), requires_grad=True)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.arange(230), time, event), batch_size=64
    )
    names = ["mae_within", "ibs", "uno", "d_calibration", "ici"]
    evaluator = sg.Evaluator(y_train, metrics=names)
    for rows, t, e in loader:
        risk = sg.RiskScores(torch.tensor(predictions["risk"])[rows])
        evaluator.update({"net": (GRID, logits[rows].exp()), "risk": risk}, (t, e))
    survival = logits.exp().detach().numpy()
    both = {"net": (GRID, survival), "risk": sg.RiskScores(predictions["risk"])}
    assert numbers(evaluator.compute()) == numbers(
        sg.evaluate(both, y, y_train=y_train, metrics=names)
    )


def test_curves_may_have_a_grid_for_each_subject():
    y, predictions = data()
    own = GRID + np.linspace(0, 1, 230)[:, None]
    evaluator = sg.Evaluator(metrics=["mae_hinge", "crps"], confidence=None)
    for rows in np.split(np.arange(230), [30, 100]):
        evaluator.update((own[rows], predictions["curves"][rows]), y[rows])
    whole = sg.evaluate((own, predictions["curves"]), y, **evaluator.settings)
    assert numbers(evaluator.compute()) == numbers(whole)


def test_causes_with_entry_and_durations_are_those_of_evaluate():
    """A batch with a cause was refused if subjects entered late, or if it had durations."""
    rng = np.random.default_rng(3)
    time, cause = rng.exponential(10, 90) + 1, rng.integers(0, 3, 90)
    times, days = rng.exponential(8, 90), (24 * time).astype("m8[h]")
    settings = {"cause": 1, "metrics": ["uno", "brier"], "tau": 8, "unit": "days"}
    curves = sg.IncidenceCurves(
        GRID, np.stack([GRID / (100 + 9 * k) for k in (0, 1)])[None].repeat(90, 0)
    )
    late = sg.Outcomes(time, cause, entry=np.where(times < time, times, 0) / 2)
    held = {"time": days, "event": cause}
    for y, take in ((late, late.__getitem__), (held, lambda r: {k: v[r] for k, v in held.items()})):
        for y_train in (None, y):
            evaluator = sg.Evaluator(y_train, **settings)
            for rows in (slice(0, 40), slice(40, 90)):
                evaluator.update(curves[rows], take(rows))
            whole = sg.evaluate(curves, y, y_train=y_train, **settings)
            assert numbers(evaluator.compute()) == numbers(whole)


def test_what_does_not_fit_together_is_refused_and_leaves_nothing_behind():
    y, predictions = data()
    evaluator = sg.Evaluator(metrics=["mae_hinge"])
    evaluator.update(batch(predictions, slice(0, 9)), y[:9])
    rows = slice(9, 20)
    with pytest.raises(sg.InputError, match=r"predictions of batch 2 .*\['curves', 'risk', 'tim"):
        evaluator.update(predictions["times"][rows], y[rows])
    other = {**batch(predictions, rows), "times": sg.RiskScores(predictions["times"][rows])}
    with pytest.raises(sg.InputError, match="batch 1 has times, batch 2 has risk"):
        evaluator.update(other, y[rows])
    for curves in (
        (GRID + 1, predictions["curves"][rows]),
        (GRID[:-1], predictions["curves"][rows, :-1]),
        sg.SurvivalCurves(GRID, predictions["curves"][rows], "step"),
        sg.SurvivalCurves(GRID, predictions["curves"][rows], tail="hold"),
    ):
        with pytest.raises(sg.InputError, match="'curves' must be alike in all batches"):
            evaluator.update({**batch(predictions, rows), "curves": curves}, y[rows])
    coarse = {**batch(predictions, rows), "curves": (GRID[:-1], predictions["curves"][rows, :-1])}
    with pytest.raises(
        sg.InputError, match=r"choose one grid, .*\(grid, curves.at\(grid\), 'linear'"
    ):
        evaluator.update(coarse, y[rows])
    with pytest.raises(sg.InputError, match="one entry per subject"):
        evaluator.update(batch(predictions, rows), y[9:19])
    with pytest.raises(sg.InputError, match="at least one model"):
        evaluator.update({}, y[rows])
    assert len(evaluator) == 9
    evaluator.update(batch(predictions, rows), y[rows])
    assert len(evaluator) == 20


def test_settings_are_checked_before_the_first_batch():
    with pytest.raises(sg.InputError, match="metrics must be one of"):
        sg.Evaluator(metrics=["mae_p"])
    with pytest.raises(sg.InputError, match=r"metric is no setting .*did you mean 'metrics'"):
        sg.Evaluator(metric="mae_po")
    with pytest.raises(sg.InputError, match="by is no setting of an Evaluator"):
        sg.Evaluator(by=[1, 2])
    with pytest.raises(sg.InputError, match="y_train"):
        sg.Evaluator([1.0, 2.0, 3.0])
