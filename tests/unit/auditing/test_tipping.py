from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg


def models(n=300, seed=0):
    """Two models: one predicts too early, the other too late; censoring follows the event."""
    rng = np.random.default_rng(seed)
    t = rng.exponential(size=n)
    drawn = sg.semisynthetic(None, (t, np.ones(n)), "exponential", 1, kendall_tau=0.5,
                             whole_units=False)  # fmt: skip
    noise = rng.normal(size=(2, drawn.true_time.size)) * 0.1
    early, late = 0.55 + noise[0], 1.05 + noise[1]
    return drawn, np.abs(early), np.abs(late)


@pytest.mark.parametrize("method", ["ipcw_d", "expected", "margin"])
@pytest.mark.parametrize("tau", [None, 1.5])
def test_the_difference_turns_there_and_not_before(method, tau):
    drawn, early, late = models(120)
    found = sg.tipping_point(early, late, drawn.y, method=method, tau=tau)
    usual = [sg.mae(drawn.y, p, method=method, tau=tau) for p in (early, late)]
    assert found.difference == pytest.approx(usual[0] - usual[1], abs=1e-12)
    for copula, at in found.by_copula.items():
        if at is None or at == 0:
            continue
        sides = []
        for where in (at - np.sign(at) * 2e-3, at):
            settings = {"method": method, "tau": tau, "dependence": sg.Dependence(where, copula)}
            first, second = (sg.mae(drawn.y, p, **settings) for p in (early, late))
            sides.append(np.sign(first - second))
        assert sides == [np.sign(found.difference), -np.sign(found.difference)]


def test_a_comparison_that_dependence_turns():
    """Those censored early would have had the event soon: the model of early times is better."""
    drawn, early, late = models(600)
    truth = np.abs(drawn.true_time - early).mean() - np.abs(drawn.true_time - late).mean()
    found = sg.tipping_point(early, late, drawn.y)
    assert found.difference * truth < 0
    assert 0.1 < found.kendall_tau < 0.6
    assert found.by_copula[found.copula] == found.kendall_tau
    assert set(found.by_copula) == {"clayton", "frank", "gumbel"}


def test_a_comparison_that_nothing_turns():
    drawn, early, _ = models()
    found = sg.tipping_point(early, early + 50.0, drawn.y, largest=0.7)
    assert found.kendall_tau is None
    assert found.copula is None
    assert set(found.by_copula.values()) == {None}
    assert max(tau for tau, _ in found.curves["clayton"]) == 0.7
    assert min(tau for tau, _ in found.curves["frank"]) == -0.7


def test_without_events_there_is_nothing_to_turn():
    y = sg.Outcomes([1.0, 2.0, 3.0], [0, 0, 0])
    with pytest.raises(sg.UndefinedMetricError, match="y_test has 0 events"):
        sg.tipping_point([1, 2, 3], [2, 2, 2], y)


def test_equal_models_turn_at_once():
    drawn, early, _ = models()
    found = sg.tipping_point(early, early, drawn.y, copulas="frank")
    assert found.by_copula == {"frank": 0.0}
    assert found.difference == 0


def test_curves_and_a_training_set():
    drawn, _, late = models()
    curves = sg.SurvivalCurves([0.5, 1.0, 2.0], [[0.7, 0.4, 0.1]] * len(drawn))
    train = models(200, 5)[0].y
    found = sg.tipping_point(curves, late, drawn.y, train, method="expected", tau=1.5)
    errors = [sg.mae(drawn.y, p, y_train=train, method="expected", tau=1.5) for p in (curves, late)]
    assert found.difference == pytest.approx(errors[0] - errors[1], abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "po"}, "method must be one of"),
        ({"loss": "log"}, "loss must be one of"),
        ({"copulas": ["joe"]}, "copulas must be one of"),
        ({"copulas": []}, "copulas must name at least one"),
        ({"largest": 1.0}, "largest must lie strictly between 0 and 1"),
        ({"largest": "0.5"}, "largest must lie strictly between 0 and 1"),
        ({"second": sg.RiskScores([1.0, 2.0, 3.0])}, "second must be predicted times or curves"),
    ],
)
def test_bad_arguments_are_refused(settings, message):
    given = {"first": [1.0, 2, 3], "second": [2.0, 2, 2], "y_test": ([1, 2, 3], [1, 0, 1])}
    with pytest.raises(sg.InputError, match=message):
        sg.tipping_point(**(given | settings))
