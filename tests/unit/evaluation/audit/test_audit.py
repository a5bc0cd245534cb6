"""`audit` in scenarios where the answer is known, and against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge._tools.random import stream
from survgauge.evaluation.audit.risks import ScenarioQuality, ScenarioResults, risks
from survgauge.evaluation.audit.scenarios import (
    AuditQuestion,
    CurveDistribution,
    MixtureDistribution,
    NeverDistribution,
    Scenario,
    StepDistribution,
)
from survgauge.metrics.registry import REGISTRY

GRID = np.linspace(0.5, 40, 80)


def weibull(scale, shape=1.5, grid=GRID, **options):
    """Curves of a Weibull distribution, one scale per subject."""
    scale = np.asarray(scale)[:, None]
    return sg.SurvivalCurves(grid, np.exp(-((grid / scale) ** shape)), **options)


def made(n, censoring, seed=0):
    """Features' effect, outcomes, and event times of n subjects."""
    rng = np.random.default_rng(seed)
    scale = 10 * np.exp(0.6 * rng.normal(size=n))
    time = scale * rng.weibull(1.5, n)
    ends = censoring(rng, n)
    return scale, sg.Outcomes(np.minimum(time, ends), time <= ends)


def exponential(mean):
    return lambda rng, n: rng.exponential(mean, n)


def never(rng, n):
    return np.full(n, np.inf)


def admin(end):
    return lambda rng, n: np.full(n, end)


def models(scale):
    return {"good": weibull(scale), "flat": weibull(np.full(scale.size, 10.0))}


def tiny(seed=0, n=40, censoring=None, **options):
    censoring = censoring or exponential(12.0)
    scale, y = made(n, censoring, seed)
    _, train = made(n, censoring, seed + 100)
    return sg.audit(models(scale), y, y_train=train, **{"draws": 12, **options})


# -- an oracle by plain loops ----------------------------------------------------------------------


def test_one_small_audit_by_plain_loops():
    """The same draws, every error by `mae`, every number by a loop over draws and models."""
    scale, y = made(30, exponential(12.0))
    _, train = made(25, exponential(12.0), 1)
    named = {"good": weibull(scale), "flat": weibull(np.full(30, 10.0)), "late": scale * 1.5}
    names = ["mae_po", "mae_ipcw_d"]
    a = sg.audit(named, y, y_train=train, draws=10, metrics=names, tau=9.0, dependence=())
    scenario = a.results.scenarios[0]
    assert scenario.name == "curves of good"
    medians = {
        "good": named["good"].median(),
        "flat": named["flat"].median(),
        "late": named["late"],
    }
    g = sg.KaplanMeier.fit_censoring(y)
    gaps = {name: [] for name in names}
    picks = {name: [] for name in names}
    for k in range(10):
        rng = stream(0, "audit", "models", scenario.name, k)
        level, other = 1 - rng.random(30), 1 - rng.random(30)
        time = [_inverse(named["good"].survival[i], u) for i, u in enumerate(level)]
        ends = [_step_inverse(g, u) for u in other]
        seen = (
            [min(t, c) for t, c in zip(time, ends, strict=True)],
            [t <= c for t, c in zip(time, ends, strict=True)],
        )
        rows = [int(30 * u) for u in rng.random(25)]
        level, other = 1 - rng.random(25), 1 - rng.random(25)
        ref_time = [
            _inverse(named["good"].survival[i], u) for i, u in zip(rows, level, strict=True)
        ]
        ref_ends = [_step_inverse(g, u) for u in other]
        ref = (
            [min(t, c) for t, c in zip(ref_time, ref_ends, strict=True)],
            [t <= c for t, c in zip(ref_time, ref_ends, strict=True)],
        )
        true = {
            model: np.mean(
                [abs(min(t, 9.0) - min(p, 9.0)) for t, p in zip(time, predicted, strict=True)]
            )
            for model, predicted in medians.items()
        }
        for name in names:
            said = {
                model: sg.mae(seen, p, y_train=ref, method=name.removeprefix("mae_"), tau=9.0)
                for model, p in medians.items()
            }
            gaps[name].append([said[model] - true[model] for model in named])
            chosen = min(said, key=said.get)
            picks[name].append(true[chosen] - min(true.values()))
    for name in names:
        wanted = {"metric": name, "scenario": scenario.name, "horizon": 9.0}
        (row,) = [r for r in a.rows() if wanted.items() <= r.items()]
        assert row["bias"] == pytest.approx(np.mean(gaps[name]), abs=1e-12)
        assert row["rmse"] == pytest.approx(np.sqrt(np.mean(np.square(gaps[name]))), abs=1e-12)
        assert row["loss"] == pytest.approx(np.mean(picks[name]), abs=1e-12)


def _inverse(survival, level):
    """First time at which a line through (0, 1) and the grid's points is at or below a level."""
    t0, s0 = 0.0, 1.0
    for t, s in zip(GRID, survival, strict=True):
        if s <= level:
            return t0 + (t - t0) * (s0 - level) / (s0 - s)
        t0, s0 = t, s
    return t0 * (1 - level) / (1 - s0)


def _step_inverse(g, level):
    for t, s in zip(g.times, g.survival, strict=True):
        if s <= level:
            return t
    return g.times[-1]


# -- known scenarios
# ----------------------------------------------------------------------------------


def test_without_censoring_every_metric_tells_the_truth():
    a = tiny(censoring=never)
    assert not [r for r in a.rows() if r["kind"] == "dependent"]
    for row in a.rows():
        assert row["bias"] == pytest.approx(0, abs=1e-9)
        assert row["rmse"] == pytest.approx(0, abs=1e-9)
        assert row["tau"] == 1
        assert row["best"] == 1
        assert row["loss"] == pytest.approx(0, abs=1e-12)
    assert a.recommended == "mae_within"
    assert (a.asked.loss, a.asked.best, a.asked.better) == (0, 1, {})


def test_administrative_censoring_makes_errors_without_a_horizon_risky():
    a = tiny(n=150, censoring=admin(7.0), draws=20)
    assert (a.recommended, a.horizon) == ("mae_within", pytest.approx(7.0))
    assert a.asked.off < 1e-9
    free = a.risks[-1] if a.risks[-1].asks == "absolute" else a.risks[3]
    assert (free.asks, free.horizon, free.metric) == ("absolute", None, None)
    assert free.least_off[1] > 0.15
    assert "Without a horizon, the least biased mean absolute error" in a.reason
    assert "within 7.000" in str(a)


def test_the_horizon_of_the_caller_is_the_only_one_where_it_is_supported():
    a = tiny(n=150, censoring=admin(7.0), tau=5.0)
    assert {r["horizon"] for r in a.rows()} == {5.0}
    assert (a.recommended, a.horizon) == ("mae_within", 5.0)
    late = tiny(n=150, censoring=admin(7.0), tau=9.0)
    assert sorted({r["horizon"] for r in late.rows()}) == pytest.approx([7.0, 9.0])
    assert (late.recommended, late.horizon) == ("mae_within", pytest.approx(7.0))


def test_po_prefers_medians_that_are_too_early_and_the_audit_says_so():
    """Heavy censoring: mae_po picks medians 25 % too early, which events weighted by 1/G do not."""
    scale, y = made(400, lambda rng, n: np.minimum(rng.exponential(8.0, n), rng.uniform(2, 9, n)))
    _, train = made(
        400, lambda rng, n: np.minimum(rng.exponential(8.0, n), rng.uniform(2, 9, n)), 5
    )
    named = {"true": weibull(scale), "early": 0.75 * weibull(scale).median()}
    a = sg.audit(named, y, y_train=train, draws=30, dependence=())
    rows = {r["metric"]: r for r in a.rows() if r["kind"] == "models" and r["horizon"] is None}
    assert rows["mae_po"]["relative_bias"] > 0.1
    assert rows["mae_po"]["best"] < 0.5
    within = {r["metric"]: r for r in a.rows() if r["kind"] == "models" and r["horizon"]}
    assert within["mae_ipcw_d"]["best"] > within["mae_po"]["best"]


def found_in(wrong, draws=60, off=0.0, horizon=5.0):
    """Risks where metrics pick the worse of two models in so many draws of each scenario.

    `wrong`: by metric, the number of wrong picks in the first, second and third scenario; `off`:
    how far the doubly robust one is off, as a share.
    """
    questions = [AuditQuestion(REGISTRY[name], horizon) for name in wrong]
    distribution = NeverDistribution()
    scenarios = [Scenario(f"scenario {k}", "models", distribution, distribution) for k in range(3)]
    qualities = []
    for k in range(3):
        values = np.tile(np.array([1.0, 1.1])[None, :, None], (draws, 1, len(wrong)))
        truths = values.copy()
        for place, name in enumerate(wrong):
            values[: wrong[name][k], :, place] = values[: wrong[name][k], ::-1, place]
            values[:, :, place] *= 1 + off * (name == "mae_within")
        qualities.append(ScenarioQuality.of(values, truths, np.ones(len(wrong), dtype=bool)))
    (found,) = risks(ScenarioResults(scenarios, qualities), questions)
    return found


@pytest.mark.parametrize(
    ("wrong", "better"),
    [
        ({"mae_po": (0, 0, 0), "mae_within": (0, 0, 0)}, {}),
        # Better by chance.
        ({"mae_po": (9, 9, 9), "mae_within": (10, 10, 10)}, {}),
        ({"mae_po": (0, 9, 9), "mae_within": (60, 9, 9)}, {"scenario 0": "mae_po"}),
        (
            {"mae_po": (0, 0, 9), "mae_within": (30, 30, 9), "mae_margin": (0, 5, 0)},
            {"scenario 0": "mae_po", "scenario 1": "mae_po", "scenario 2": "mae_margin"},
        ),
    ],
)
def test_the_error_within_the_horizon_is_recommended_whatever_the_scenarios_say(wrong, better):
    found = found_in(wrong)
    assert (found.metric, found.better) == ("mae_within", better)
    share = sum(wrong["mae_within"]) / 180
    assert found.best == pytest.approx(1 - share)
    assert found.loss == pytest.approx(0.1 * share)  # 1.1 instead of 1.0
    spread = [0.01 * k / 60 * (1 - k / 60) / 59 for k in wrong["mae_within"]]
    assert found.stderr == pytest.approx(np.sqrt(sum(spread)) / 3)


def test_a_biased_error_within_the_horizon_is_recommended_with_its_bias():
    found = found_in({"mae_po": (0, 0, 0), "mae_within": (0, 0, 0)}, off=0.3)
    assert (found.metric, found.least_off) == ("mae_within", ("mae_po", 0.0))
    assert found.off == pytest.approx(0.3)


def test_without_it_or_without_a_horizon_nothing_is_recommended():
    found = found_in({"mae_po": (9, 9, 9), "mae_margin": (0, 0, 0)})
    assert (found.metric, found.best, found.better) == (
        None,
        pytest.approx(np.nan, nan_ok=True),
        {},
    )
    assert found_in({"mae_po": (0, 0, 0), "mae_dr": (0, 0, 0)}, horizon=None).metric is None
    assert found_in({"mae_po": (0, 0, 0), "mae_dr": (0, 0, 0)}).metric == "mae_dr"
    a = tiny(metrics=["mae_po", "harrell"])
    assert a.recommended is None
    assert "recommends the doubly robust error within the horizon (mae_within)" in a.reason
    assert "Recommended: nothing among these metrics" in str(a)


def test_dependent_censoring_is_reported_and_does_not_decide():
    plain, dependent = tiny(dependence=()), tiny(dependence=(0.3, 0.6))
    assert plain.asked.loss == dependent.asked.loss
    assert plain.recommended == dependent.recommended
    names = [w.name for w in dependent.results.scenarios if not w.independent]
    assert names == ["clayton, Kendall's tau 0.3", "clayton, Kendall's tau 0.6"]


def test_drawn_times_have_the_dependence_that_was_asked_for():
    from scipy.stats import kendalltau

    a = tiny(n=60, dependence=(0.5,), copula="frank", draws=4)
    scenario = a.results.scenarios[-1]
    time, ends = scenario.times(np.zeros(4000, dtype=int), np.random.default_rng(0))
    inside = (ends < ends.max()) & (time < 30)
    assert kendalltau(time[inside], ends[inside]).statistic == pytest.approx(0.4, abs=0.12)


def test_a_distribution_given_the_features_is_a_scenario():
    scale, y = made(40, exponential(12.0))
    distribution = weibull(scale)
    given = sg.Conditional(distribution=distribution, censoring=weibull(np.full(40, 9.0)))
    a = sg.audit({"m": scale, "n": scale * 2}, y, draws=10, conditional=given, dependence=(0.2,))
    kinds = [w.kind for w in a.results.scenarios]
    assert kinds == ["kaplan_meier"] * kinds.count("kaplan_meier") + ["conditional", "dependent"]
    assert isinstance(a.results.scenarios[0].censoring, CurveDistribution)
    assert a.results.scenarios[-2].distribution.curves is distribution


def test_the_tipping_point_is_that_of_the_two_best_models():
    scale, y = made(80, exponential(12.0))
    _, train = made(80, exponential(12.0), 1)
    named = {"late": scale * 1.2, "good": scale * 0.78, "bad": scale * 4}
    a = sg.audit(named, y, y_train=train, draws=4, tau=9.0, metrics=["mae_ipcw_d"], dependence=())
    ev = sg.evaluate(named, y, y_train=train, tau=9.0, metrics=["mae_within"])
    assert a.pair == ev.tipping
    said = {row["model"]: row["value"] for row in ev.rows()}
    assert [a.pair.first, a.pair.second] == sorted(said, key=said.get)[:2]
    assert a.tipping == a.pair.kendall_tau
    assert a.pair.sentence() in " ".join(str(a).split())
    assert a.to_dict()["pair"]["copula"] == a.pair.copula


def test_one_model_and_other_metrics_have_no_tipping_point():
    scale, y = made(30, exponential(12.0))
    alone = sg.audit(scale, y, draws=4, metrics="mae_po")
    ranked = sg.audit({"a": scale, "b": scale[::-1]}, y, draws=4, metrics="harrell")
    assert alone.tipping is None
    assert ranked.tipping is None
    assert "The order of" not in str(alone) + str(ranked)


# -- what may come in ------------------------------------------------------------------------------


def test_draws_depend_on_the_seed_and_nothing_else():
    first, again, other = tiny(), tiny(), tiny(random_state=1)
    assert first.to_dict() == again.to_dict()
    assert first.rows() != other.rows()
    fewer = tiny(metrics=["mae_hinge", "mae_po"])
    wanted = [r for r in first.rows() if r["metric"] in ("mae_po", "mae_hinge")]
    assert fewer.rows() == wanted


def test_one_model_has_no_order():
    scale, y = made(40, exponential(12.0))
    a = sg.audit(weibull(scale), y, draws=10)
    assert all(np.isnan(r["tau"]) and r["loss"] == 0 for r in a.rows())
    assert "With one model there is no order" in a.reason
    assert "loss" not in str(a)
    assert a.recommended == "mae_within"


def test_times_alone_are_drawn_from_kaplan_meier():
    scale, y = made(40, exponential(12.0))
    a = sg.audit({"a": scale, "b": np.full(40, 8.0)}, y, y_train=y, draws=10)
    assert {w.kind for w in a.results.scenarios} == {"kaplan_meier", "dependent"}


def test_risk_scores_have_no_time_error():
    scale, y = made(40, exponential(12.0))
    risky = {"a": sg.RiskScores(-scale), "b": weibull(scale)}
    with pytest.raises(sg.InputError, match="predictions of 'a' are risk scores, and mae_uncens"):
        sg.audit(risky, y, draws=4)
    a = sg.audit(risky, y, draws=4, metrics=["harrell", "uno"])
    assert a.metrics == ("harrell", "uno")
    assert {r["horizon"] for r in a.rows()} == {None}


def test_other_metrics_are_compared_with_their_own_value_without_censoring():
    scale, y = made(60, never)
    a = sg.audit(models(scale), y, draws=4, metrics=["brier", "antolini", "mae_po"])
    assert [r.asks for r in a.risks] == ["brier", "antolini", "absolute", "absolute"]
    for row in a.rows():
        assert row["bias"] == pytest.approx(0, abs=1e-9)
    higher = [r for r in a.rows() if r["metric"] == "antolini"]
    assert all(r["loss"] == pytest.approx(0) for r in higher)


def test_all_censored():
    scale, y = made(20, exponential(12.0))
    nobody = sg.Outcomes(y.time, np.zeros(20, dtype=bool))
    a = sg.audit(models(scale), nobody, draws=4)
    assert {w.kind for w in a.results.scenarios} == {"models", "dependent"}
    with pytest.raises(
        sg.InputError, match="no model has curves and the reference set has no event"
    ):
        sg.audit(scale, nobody, draws=4)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_subjects(n):
    scale, y = made(n, exponential(12.0), 3)
    a = sg.audit(models(scale), y, draws=4)
    assert str(a)
    assert a.to_dict()["subjects"] == n


def test_frequencies_and_sampling_weights_count():
    scale, y = made(30, exponential(12.0))
    twice = sg.Outcomes(y.time, y.event, np.full(30, 2.0))
    named = models(scale)
    plain, doubled = (sg.audit(named, who, y_train=y, draws=6, tau=2.0) for who in (y, twice))
    assert [r["bias"] for r in plain.rows()] == pytest.approx([r["bias"] for r in doubled.rows()])
    weight = np.linspace(0.5, 2, 30)
    first = sg.audit(named, y, y_train=y, draws=6, tau=2.0, sample_weight=weight)
    second = sg.audit(named, y, y_train=y, draws=6, tau=2.0, sample_weight=3 * weight)
    assert [r["bias"] for r in first.rows()] == pytest.approx([r["bias"] for r in second.rows()])
    assert [r["bias"] for r in first.rows()] != pytest.approx([r["bias"] for r in plain.rows()])


def test_absent_subjects_change_nothing():
    scale, y = made(30, exponential(12.0))
    weight = np.where(np.arange(30) < 25, 1.0, 0.0)
    part = {name: curves[:25] for name, curves in models(scale).items()}
    some = sg.audit(part, y[:25], draws=6, metrics="mae_po", tau=8.0, dependence=())
    zero = sg.Outcomes(y.time, y.event, weight)
    gone = sg.audit(models(scale), zero, draws=6, metrics="mae_po", tau=8.0, dependence=())
    assert gone.subjects == some.subjects == 25
    first, second = gone.results.scenarios[0].censoring.km, some.results.scenarios[0].censoring.km
    assert first.survival.tolist() == second.survival.tolist()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"draws": 1}, "draws must be"),
        ({"max_bias": 0}, "max_bias must be a share above 0"),
        ({"dependence": 0.5}, "dependence must be a list of values of Kendall's tau"),
        ({"dependence": [1.5]}, "dependence: kendall_tau must lie strictly between"),
        ({"copula": "plackett"}, "copula must be one of"),
        ({"metrics": "d_calibration"}, "d_calibration is a p-value"),
        ({"metrics": ["nonsense"]}, "metrics must be one of"),
        ({"conditional": 3}, "conditional must be a Conditional"),
        ({"unit": 3}, "unit must be a word"),
        ({"tau": -1}, "tau must be"),
        ({"random_state": "x"}, "random_state must be a whole number"),
    ],
)
def test_bad_arguments_are_named(wrong, message):
    with pytest.raises(sg.InputError, match=message):
        tiny(**wrong)


def test_bad_predictions_are_named():
    scale, y = made(30, exponential(12.0))
    with pytest.raises(sg.InputError, match="at least one model"):
        sg.audit({}, y)
    with pytest.raises(sg.InputError, match="distinct names"):
        sg.audit({1: scale, "1": scale}, y)
    with pytest.raises(sg.InputError, match="one entry per subject"):
        sg.audit(scale[:5], y)
    short = sg.Conditional(distribution=weibull(scale[:5]))
    with pytest.raises(sg.InputError, match="one curve per test subject: 30; it has 5"):
        sg.audit(scale, y, conditional=short)


def test_curves_that_never_fall_are_audited_within_a_horizon():
    scale, y = made(40, exponential(6.0))
    never_falls = sg.SurvivalCurves([1.0, 30.0], np.ones((40, 2)))
    a = sg.audit({"good": weibull(scale), "never": never_falls}, y, draws=6)
    assert {r["horizon"] for r in a.rows()} == {a.horizon}
    assert "Not audited: mean absolute error without a horizon" in str(a)
    assert a.recommended == "mae_within"


def test_an_error_within_a_horizon_is_asked_within_one_only():
    a = tiny(metrics=["mae_within", "mae_dr"])
    within = [row for row in a.rows() if row["metric"] == "mae_within"]
    assert {row["horizon"] for row in within} == {a.horizon}
    assert {row["horizon"] for row in a.rows() if row["metric"] == "mae_dr"} == {None}
    alone = tiny(metrics=["mae_dr"])
    robust = [row for row in alone.rows() if row["horizon"]]
    assert [row["bias"] for row in within] == [row["bias"] for row in robust]
    at_once = sg.Outcomes(np.zeros(5), [1, 0, 1, 0, 1])
    with pytest.raises(sg.InputError, match="metrics: mae_within is an error within a horizon"):
        sg.audit(models(np.ones(5)), at_once, metrics="mae_within", draws=4)


def test_a_distribution_without_events_is_a_scenario_without_truth():
    scale, y = made(40, exponential(6.0))
    never_falls = sg.Conditional(distribution=sg.SurvivalCurves([1.0, 30.0], np.ones((40, 2))))
    a = sg.audit(models(scale), y, draws=6, conditional=never_falls)
    losses = [r["loss"] for r in a.rows() if r["kind"] == "conditional" and r["horizon"] is None]
    assert losses
    assert np.isnan(losses).all()


# -- what comes out --------------------------------------------------------------------------------


def test_the_table_has_what_was_promised():
    a = tiny()
    for column in ("scenario", "metric", "bias", "rmse", "tau", "best", "loss", "horizon", "kind"):
        assert column in a.table.columns
    assert len(a.table) == len(a.rows()) == len(a.draws) * len(a.questions)
    times = [m for m in REGISTRY.values() if m.method is not None]
    assert set(a.metrics) == {m.name for m in times if not m.method.needs_truth}


def test_everything_is_plain_data():
    import json

    data = tiny().to_dict()
    assert json.loads(json.dumps(data)) == data


def test_draws_of_a_kind_are_shared_by_its_scenarios():
    a = tiny(draws=31)
    assert a.draws[:2] == [16, 16]
    assert repr(a).startswith("Audit(2 models x ")


# -- distributions
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interpolation", ["linear", "step", "pchip"])
@pytest.mark.parametrize("own", [False, True])
def test_times_drawn_from_curves_have_their_distribution(interpolation, own):
    grid = np.array([1.0, 2.0, 4.0, 7.0])
    survival = np.array([[0.9, 0.6, 0.5, 0.2], [0.7, 0.3, 0.1, 0.0]])
    times = np.stack([grid, grid * 2]) if own else grid
    curves = sg.SurvivalCurves(times, survival, interpolation=interpolation)
    rng = np.random.default_rng(0)
    rows = np.repeat([0, 1], 20_000)
    drawn = CurveDistribution.of(curves).times(rows, 1 - rng.random(rows.size), rng)
    for t in (0.5, 1.5, 3.0, 5.0, 6.9):
        wanted = curves.at(t)
        for row in (0, 1):
            assert np.mean(drawn[rows == row] > t) == pytest.approx(wanted[row], abs=0.015)


def test_draws_at_a_level_are_quantiles():
    curves = weibull([3.0, 8.0, 200.0])
    rows = np.array([2, 0, 1, 0])
    for level in (0.9, 0.5, 0.03):
        drawn = curves.times_at(rows, np.full(4, level))
        assert drawn == pytest.approx(curves.quantile(1 - level)[rows])


def test_kaplan_meier_as_a_distribution():
    km = sg.KaplanMeier.fit(([1, 2, 3, 4], [1, 1, 0, 0]))
    rng = np.random.default_rng(0)
    level = np.array([0.8, 0.75, 0.6, 0.5, 0.25])
    rows = np.arange(5)
    assert StepDistribution(km, "linear").times(rows, level, rng).tolist() == [
        1.0,
        1.0,
        2.0,
        2.0,
        6.0,
    ]
    assert StepDistribution(km, "hold").times(rows, level, rng).tolist() == [
        1.0,
        1.0,
        2.0,
        2.0,
        4.0,
    ]
    assert np.isinf(NeverDistribution().times(rows, level, rng)).all()


def test_a_mixture_takes_each_distribution_as_often():
    distributions = (
        CurveDistribution(weibull(np.full(3, 1.0))),
        CurveDistribution(weibull(np.full(3, 30.0))),
    )
    rows, rng = np.zeros(4000, dtype=int), np.random.default_rng(0)
    early = MixtureDistribution(distributions).times(rows, np.full(4000, 0.5), rng) < 5
    assert early.mean() == pytest.approx(0.5, abs=0.03)
