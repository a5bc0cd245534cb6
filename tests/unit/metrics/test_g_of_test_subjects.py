"""G of the test subjects: where it comes from, and that its estimation is in the contributions."""

from __future__ import annotations

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details

N = 60
GRID = np.linspace(0, 14, 9)


def draw(seed=0, weighted=False, tied=True):
    rng = np.random.default_rng(seed)
    t, c = rng.exponential(8, N), rng.exponential(11, N)
    time = np.minimum(t, c)
    time = np.ceil(time) if tied else time
    weight = rng.integers(1, 4, N).astype(float) if weighted else None
    curves = sg.SurvivalCurves(GRID, np.exp(-GRID / rng.uniform(3, 15, (N, 1))))
    return sg.Outcomes(time, t <= c, weight), curves, rng


def train(seed=1, n=80):
    rng = np.random.default_rng(seed)
    t, c = rng.exponential(8, n), rng.exponential(3, n)
    return np.minimum(t, c), t <= c


def derivative(value, y, step=1e-5):
    """Contributions by differences: how the value changes with a subject's frequency."""
    found = np.empty(len(y))
    for i in range(len(y)):
        values = []
        for sign in (1, -1):
            weight = y.weight.copy()
            weight[i] *= 1 + sign * step
            values.append(value(sg.Outcomes(y.time, y.event, weight)))
        found[i] = (values[0] - values[1]) / (2 * step)
    return found


MEASURES = {
    "brier": lambda y, c, **o: sg.brier_score(y, c, [5.0], **o).details,
    "brier at a tied time": lambda y, c, **o: sg.brier_score(y, c, [4.0, 7.0], **o).details,
    "ibs": lambda y, c, **o: sg.integrated_brier_score(y, c, np.linspace(0, 9, 20), **o),
    "ibll": lambda y, c, **o: sg.integrated_binomial_log_likelihood(
        y, c, np.linspace(0.5, 9, 20), **o
    ),
    "uno": lambda y, c, **o: sg.concordance_index(y, -c.median(), method="uno", tau=9.0, **o),
    "antolini": lambda y, c, **o: sg.concordance_td(y, c, method="ipcw", tau=9.0, **o),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MEASURES)
def test_contributions_are_the_derivative(name, weighted):
    y, curves, _ = draw(3, weighted)
    measure = MEASURES[name]
    details = measure(y, curves, y_train=train())
    assert details.convention["stderr"] == "G estimated in sample"
    expected = derivative(lambda other: measure(other, curves, y_train=train()).value, y)
    np.testing.assert_allclose(details.contributions, expected, atol=1e-8)
    # A G taken as known gives others.
    fixed = measure(y, curves, censoring=sg.KaplanMeier.fit_censoring(y))
    assert fixed.value == pytest.approx(details.value, rel=1e-12)
    assert np.abs(fixed.contributions - expected).max() > 1e-4


def test_tied_events_of_uno_contribute_through_g():
    # Copies of a row pair with each other, so its frequency is no derivative: G's part is.
    y, curves, _ = draw(3)
    options = {"method": "uno", "tau": 9.0, "ties": "all"}
    known = sg.KaplanMeier.fit_censoring(y)
    measure = sg.concordance_index

    def both(**censoring):
        def details(other):
            return measure(other, -curves.median(), **censoring, **options)

        return details(y).contributions, derivative(lambda other: details(other).value, y)

    own, fixed = both(), both(censoring=known)
    np.testing.assert_allclose(own[0] - fixed[0], own[1] - fixed[1], atol=1e-8)


def test_auc_contributions_are_the_derivative():
    y, curves, _ = draw(3)
    measure = cumulative_dynamic_auc_details
    details = measure(y, curves, [5.0], y_train=train())
    expected = derivative(lambda other: measure(other, curves, [5.0]).value, y)
    np.testing.assert_allclose(details.contributions, expected, atol=1e-8)


@pytest.mark.parametrize("convention", ["pycox", "survgauge"])
@pytest.mark.parametrize("own", [None, "uniform"])
def test_integrals_are_the_derivative_under_other_conventions(convention, own):
    y, curves, rng = draw(5)
    options = {"convention": convention}
    if own:
        options["sample_weight"] = rng.uniform(0.5, 2, N)
    times = np.linspace(0.5, 9, 21)
    details = sg.integrated_brier_score(y, curves, times, **options)

    def value(other):
        return sg.integrated_brier_score(other, curves, times, **options)

    np.testing.assert_allclose(details.contributions, derivative(value, y), atol=1e-8)


def test_one_curve_for_all_has_the_same_contributions():
    y, _, _ = draw(2, weighted=True)
    same = sg.reference_curves(train(), N)
    single = sg.SurvivalCurves(same.times, np.array(same.survival), "step")
    times = np.linspace(0, 9, 20)
    for convention in ("survgauge", "pycox"):
        one, other = (
            sg.integrated_brier_score(y, c, times, convention=convention) for c in (same, single)
        )
        np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("normalize", ["n", "weights", "events"])
@pytest.mark.parametrize("tau", [None, 6.0])
@pytest.mark.parametrize("loss", ["absolute", "squared", "log"])
def test_time_errors_contribute_through_g(weighted, normalize, tau, loss):
    y, _, rng = draw(7, weighted)
    predicted, sample_weight = rng.uniform(1, 12, N), rng.uniform(0.5, 2, N)
    for own in (None, sample_weight):
        options = {
            "method": "ipcw_d", "normalize": normalize, "tau": tau, "loss": loss,
            "sample_weight": own, "y_train": train(),
        }  # fmt: skip
        details = sg.time_error(y, predicted, **options)
        expected = derivative(lambda other: sg.time_error(other, predicted, **options), y)  # noqa: B023
        np.testing.assert_allclose(details.contributions, expected, atol=1e-7)


def test_rmse_in_evaluate_contributes_through_g():
    y, _, rng = draw(7)
    predicted = rng.uniform(1, 12, N)
    ev = sg.evaluate(predicted, y, y_train=train(), metrics=["rmse_ipcw_d"])
    contributions = derivative(
        lambda other: sg.rmse(other, predicted, y_train=train(), method="ipcw_d"), y
    )
    assert ev.scores[0].stderr == pytest.approx(
        np.sqrt((contributions**2).sum() * N / (N - 1)), rel=1e-6
    )


# -- where it comes from -----------------------------------------------------------------------


def values(y, curves, **options):
    times = [3.0, 5.0]
    return {
        "brier": sg.brier_score(y, curves, times, **options).values,
        "bll": sg.binomial_log_likelihood(y, curves, times, **options).values,
        "ibs": sg.integrated_brier_score(y, curves, times, **options),
        "ibll": sg.integrated_binomial_log_likelihood(y, curves, times, **options),
        "skill": sg.skill("ibs", y, curves, times=times, **options),
        "brier_skill": sg.brier_skill(y, curves, times, **options).values,
        "uno": sg.concordance_index(y, -curves.median(), method="uno", tau=6.0, **options),
        "td": sg.concordance_td(y, curves, method="ipcw", tau=6.0, **options),
        "auc": sg.cumulative_dynamic_auc(y, curves, times, **options).values,
        "mae": sg.mae(y, curves, method="ipcw_d", tau=6.0, **options),
        "mse": sg.mse(y, curves, method="ipcw_d", tau=6.0, **options),
    }


def test_g_comes_from_the_test_subjects_unless_told_otherwise():
    y, curves, _ = draw(3)
    y_train = train()
    own, other = sg.KaplanMeier.fit_censoring(y), sg.KaplanMeier.fit_censoring(y_train)
    usual = values(y, curves, y_train=y_train)
    for source, g in (("test", own), ("train", other)):
        named = values(y, curves, y_train=y_train, censoring=source)
        given = values(y, curves, y_train=y_train, censoring=g)
        for name, expected in given.items():
            np.testing.assert_allclose(named[name], expected, rtol=1e-12, err_msg=name)
            if source == "test":
                np.testing.assert_array_equal(usual[name], named[name], err_msg=name)
            else:
                assert np.abs(np.asarray(usual[name]) - expected).max() > 1e-4, name


@pytest.mark.parametrize(
    ("convention", "source"),
    [
        ("survgauge", "test"), ("paper", "train"), ("riskregression", "test"), ("pycox", "test"),
        ("sksurv", "train"), ("survivaleval", "train"), ("torchsurv", "train"),
        ("hazardous", "train"),
    ],
)  # fmt: skip
def test_conventions_have_their_source(convention, source):
    y, curves, _ = draw(3)
    usual, named = (
        sg.brier_score(y, curves, [5.0], y_train=train(), convention=convention, **options)
        for options in ({}, {"censoring": source})
    )
    assert usual.values == named.values
    word = {"test": "test outcomes, in sample", "train": "training outcomes"}[source]
    assert usual.convention["censoring"] == word
    # Without training outcomes all take the test subjects'.
    alone = sg.brier_score(y, curves, [5.0], convention=convention)
    assert alone.convention["censoring"] == "test outcomes, in sample"


def test_evaluate_passes_the_source_to_every_metric():
    y, curves, _ = draw(3)
    names = ["mae_ipcw_d", "brier", "ibs", "uno", "auc"]
    found = {
        key: sg.evaluate(curves, y, y_train=train(), metrics=names, time=5.0, **options)
        for key, options in {
            "usual": {},
            "test": {"censoring": "test"},
            "train": {"censoring": "train"},
            "paper": {"convention": "paper"},
        }.items()
    }
    table = {key: np.array([s.value for s in ev.scores]) for key, ev in found.items()}
    np.testing.assert_array_equal(table["usual"], table["test"])
    np.testing.assert_array_equal(table["train"], table["paper"])
    assert (np.abs(table["usual"] - table["train"]) > 1e-4).all()
    expected = sg.mae(y, curves, y_train=train(), method="ipcw_d", censoring="train")
    assert table["paper"][0] == expected


def test_a_group_is_weighted_by_its_own_g():
    y, curves, rng = draw(3)
    by = rng.integers(0, 2, N)
    names = ["mae_ipcw_d", "brier", "ibs"]
    ev = sg.evaluate(curves, y, y_train=train(), metrics=names, time=4.0, by=by)
    part = sg.evaluate(curves[by == 1], y[by == 1], y_train=train(), metrics=names[:2], time=4.0)
    found = {s.metric.name: s for s in ev.scores if s.group == 1}
    for score in part.scores:
        assert found[score.metric.name].value == pytest.approx(score.value, rel=1e-12)
        assert found[score.metric.name].stderr == pytest.approx(score.stderr, rel=1e-12)


@pytest.mark.parametrize("wrong", ["trian", 3, ["test"]])
def test_unknown_sources_are_refused(wrong):
    y, curves, _ = draw(3)
    for call in (
        lambda: sg.brier_score(y, curves, [5.0], censoring=wrong),
        lambda: sg.mae(y, curves, censoring=wrong),
        lambda: sg.evaluate(curves, y, censoring=wrong),
    ):
        with pytest.raises(sg.InputError, match="censoring must be"):
            call()


def test_the_training_set_must_be_there():
    y, curves, _ = draw(3)
    with pytest.raises(sg.InputError, match=r"censoring='train'.*y_train is missing"):
        sg.integrated_brier_score(y, curves, censoring="train")
    with pytest.raises(sg.InputError, match=r"censoring='train'.*y_train is missing"):
        sg.mae(y, curves, method="ipcw_d", censoring="train")
