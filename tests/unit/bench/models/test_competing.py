"""Models of several causes: Aalen-Johansen, one Cox model a cause, DeepHit."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the models need scikit-learn")

import survgauge as sg
from survgauge.bench.models import FitWarning, build
from survgauge.bench.models.classical import combined

CAUSES = ("relapse", "death")


def example(n=150, seed=1, units=5.0):
    """Whole-unit times with ties; each cause has a feature of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    times = np.ceil(units * rng.exponential(np.exp(-0.8 * X)))
    end = np.ceil(units * rng.uniform(0, 3, n))
    cause = np.where(times.min(axis=1) <= end, 1 + times.argmin(axis=1), 0)
    return X, sg.Outcomes(np.minimum(times.min(axis=1), end), cause, causes=CAUSES)


def naive_incidence(model, y, x, t):
    """Incidence of both causes for one subject, time by time, with Breslow's baseline by loops."""
    risks = [
        [np.exp((np.array(row) - cox.means) @ cox.coefficients) for row in model.rows]
        for cox in model.cox_
    ]
    own = [np.exp((x - cox.means) @ cox.coefficients) for cox in model.cox_]
    free, found = 1.0, np.zeros(2)
    for s in sorted(set(y.time[y.event].tolist())):
        if s > t:
            break
        step = np.zeros(2)
        for k in range(2):
            deaths = sum(1 for i in range(len(y)) if y.time[i] == s and y.cause[i] == k + 1)
            at_risk = sum(risks[k][i] for i in range(len(y)) if y.time[i] >= s)
            step[k] = own[k] * deaths / at_risk
        found += free * step / max(step.sum(), 1.0)
        free *= 1.0 - min(step.sum(), 1.0)
    return found


def test_cause_specific_cox_is_the_naive_sum():
    X, y = example(60)
    model = build("cause_specific_cox").fit(X, y)
    model.rows = X
    new = np.array([[0.0, 0.0], [1.5, -1.0], [4.0, 4.0]])
    curves = model.predict_incidence(new)
    for t in (1.0, 3.0, 7.0, float(y.time.max())):
        for row, x in enumerate(new):
            wanted = naive_incidence(model, y, x, t)
            for k, cause in enumerate(CAUSES):
                assert curves.at(t, cause)[row] == pytest.approx(wanted[k], abs=1e-10)


def test_hazards_above_one_end_everything_and_share_by_their_size():
    found = combined(np.array([[[0.2, 3.0, 0.5], [0.3, 1.0, 0.5]]]))
    np.testing.assert_allclose(found[0, :, 1], [0.2 + 0.5 * 0.75, 0.3 + 0.5 * 0.25])
    np.testing.assert_allclose(found[0, :, 2], found[0, :, 1])
    assert found[0, :, -1].sum() == pytest.approx(1.0)


def test_without_features_it_is_aalen_johansen():
    _, y = example()
    same = np.zeros((len(y), 1))
    cox, marginal = (build(m).fit(same, y) for m in ("cause_specific_cox", "aalen_johansen"))
    at = np.unique(y.time)
    for cause in CAUSES:
        wanted = sg.AalenJohansen.fit(y).at(at, cause)
        for model in (cox, marginal):
            found = model.predict_incidence([[0.0], [0.0]]).at(at, cause)
            np.testing.assert_allclose(found, np.tile(wanted, (2, 1)), rtol=1e-12)


def test_with_one_kind_of_event_they_are_the_usual_models():
    X, y = example(units=500.0)
    one = y.any_cause()
    at = np.quantile(y.time, [0.2, 0.5, 0.8])
    km, aj = (build(m).fit(X, one).predict_curves(X).at(at) for m in ("km", "aalen_johansen"))
    np.testing.assert_allclose(aj, km, rtol=1e-12)
    cox, several = (
        build(m).fit(X, one).predict_curves(X).at(at) for m in ("coxph", "cause_specific_cox")
    )
    # exp(-H) against the product of 1 - dH: the same but for the size of single steps.
    np.testing.assert_allclose(several, cox, atol=0.02)


def test_huge_risks_stay_defined():
    X, y = example()
    model = build("cause_specific_cox").fit(X, y)
    values = model.predict_incidence(1e6 * X).values
    assert np.isfinite(values).all()
    assert values[:, :, -1].sum(axis=1).max() <= 1 + 1e-12


def test_a_cause_without_events_is_said():
    X, y = example()
    three = sg.Outcomes(y.time, y.cause, causes=(*CAUSES, "never"))
    with pytest.warns(FitWarning, match="cause 'never' has no event, so its incidence is 0"):
        model = build("cause_specific_cox").fit(X, three)
    assert model.cox_[2] is None
    assert not model.predict_incidence(X).at(5.0, "never").any()


@pytest.mark.parametrize("name", ["cause_specific_cox", "deephit"])
def test_each_cause_follows_its_own_feature(name):
    if name == "deephit":
        pytest.importorskip("torch", reason="DeepHit is a network")
    X, y = example(500, units=100.0)
    model = build(name).fit(X, y)
    new = np.array([[2.0, 0.0], [0.0, 2.0]])
    at = float(np.median(y.time))
    relapse, death = (model.predict_incidence(new).at(at, cause) for cause in CAUSES)
    assert relapse[0] > 1.3 * relapse[1]
    assert death[1] > 1.3 * death[0]


def test_deephit_losses_of_several_causes_by_loops():
    torch = pytest.importorskip("torch", reason="DeepHit is a network")
    from survgauge.bench.models.torch_models.binned import negative_log_likelihood, ranking_loss

    rng = np.random.default_rng(0)
    n, bins = 12, 3
    logits = rng.normal(size=(n, 2 * bins + 1))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    place, part = rng.integers(0, bins, n), rng.random(n)
    event, cause = rng.random(n) < 0.7, rng.integers(0, 2, n)
    likelihood, excess, pairs = 0.0, 0.0, 0

    def by_then(j, i):
        """Incidence of the cause of i, for subject j, by the time of i."""
        cells = p[j, bins * cause[i] : bins * (cause[i] + 1)]
        return cells[: place[i]].sum() + part[i] * cells[place[i]]

    for i in range(n):
        if event[i]:
            likelihood -= np.log(p[i, bins * cause[i] + place[i]])
        else:
            later = p[i, -1]
            for k in range(2):
                cells = p[i, bins * k : bins * (k + 1)]
                later += cells[place[i] + 1 :].sum() + (1 - part[i]) * cells[place[i]]
            likelihood -= np.log(later)
        for j in range(n):
            if event[i] and place[i] + part[i] < place[j] + part[j]:
                excess += np.exp((by_then(j, i) - by_then(i, i)) / 0.5)
                pairs += 1
    batch = {"bin": place, "part": part, "event": event, "cause": np.where(event, cause, -1)}
    rows = {key: torch.from_numpy(values) for key, values in batch.items()}
    scores = torch.from_numpy(logits)
    assert float(negative_log_likelihood(scores, rows, 2)) == pytest.approx(likelihood / n)
    assert float(ranking_loss(scores, rows, 0.5, 2)) == pytest.approx(excess / pairs)


def test_cause_specific_cox_finds_the_true_incidence():
    scenario = sg.datasets.synthetic_causes(4000, 1, causes=CAUSES)
    new = sg.datasets.synthetic_causes(300, 2, causes=CAUSES)
    drawn = sg.semisynthetic(scenario.X, scenario.y, "exponential", 0)
    model = build("cause_specific_cox").fit(drawn.X, drawn.y)
    at = np.quantile(scenario.y.time, [0.25, 0.5, 0.75])
    marginal = build("aalen_johansen").fit(drawn.X, drawn.y).predict_incidence(new.X)
    for cause in CAUSES:
        true = new.incidence(at).at(at, cause)
        far = np.abs(model.predict_incidence(new.X).at(at, cause) - true).mean(axis=0)
        assert (far < 0.02).all()
        assert (np.abs(marginal.at(at, cause) - true).mean(axis=0) > 3 * far).all()
        # Other causes as censored: the survival of this hazard alone claims more.
        naive = 1 - sg.models.build("coxph").fit(drawn.X, drawn.y.only(cause)).predict_curves(
            new.X
        ).at(at)
        assert (naive - true).mean(axis=0)[-1] > 0.05
