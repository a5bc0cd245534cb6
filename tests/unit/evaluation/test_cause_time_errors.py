"""Errors in time of one cause in `evaluate`: the functions' numbers, whatever the chunks."""

import numpy as np
import pytest
from cause_data import CAUSES, draw

import survgauge as sg
from survgauge.evaluation import call
from survgauge.metrics.registry import REGISTRY

ERRORS = [
    m.name
    for m in REGISTRY.values()
    if m.method is not None and "cause" in m.supports and not m.method.needs_truth
]


@pytest.fixture(scope="module")
def data():
    train, _ = draw(200, 1)
    y, curves = draw(250, 2)
    return train, y, curves


def scores(ev):
    return {s.metric.name: s for s in ev.scores}


@pytest.mark.parametrize("tau", [None, 8.0])
@pytest.mark.parametrize("cause", ["relapse", 2])
def test_numbers_are_those_of_the_functions(data, tau, cause):
    train, y, curves = data
    ev = sg.evaluate(curves, y, y_train=train, cause=cause, tau=tau, metrics=ERRORS)
    stop = ev.task.until if tau is None else tau
    flat = sg.AalenJohansen.fit(train).curves(len(y))
    for name, score in scores(ev).items():
        metric = REGISTRY[name]
        options = {"y_train": train, "tau": stop, "cause": cause, "method": metric.method.name}
        wanted = sg.time_error(y, curves, loss=metric.loss, **options)
        base = sg.time_error(y, flat, loss=metric.loss, **options)
        power = 0.5 if metric.root else 1.0
        assert score.value == pytest.approx(wanted.value**power, rel=1e-12), name
        assert score.baseline == pytest.approx(base**power, rel=1e-12), name
        assert score.until == stop, name
        if not metric.root:
            assert score.stderr == pytest.approx(wanted.stderr, rel=1e-9), name


def test_chunks_give_the_same_numbers(data, monkeypatch):
    train, y, curves = data
    given = {"y_train": train, "cause": 1, "metrics": ERRORS}
    whole = scores(sg.evaluate(curves, y, **given))
    monkeypatch.setattr(call, "chunk_rows", lambda widths: 60)
    for name, score in scores(sg.evaluate(curves, y, **given)).items():
        assert score.value == pytest.approx(whole[name].value, rel=1e-10), name
        assert score.baseline == pytest.approx(whole[name].baseline, rel=1e-10), name
        assert score.stderr == pytest.approx(whole[name].stderr, rel=1e-9), name


@pytest.mark.parametrize("tau", [None, 8.0])
def test_one_cause_alone_is_one_kind_of_event(data, tau):
    train, y, curves = data
    alone = [sg.Outcomes(o.time, np.where(o.cause == 2, 0, o.cause), causes=CAUSES)
             for o in (y, train)]  # fmt: skip
    times = curves.median(1)
    times = np.where(np.isfinite(times), times, 30.0)
    given = {"metrics": ERRORS, "confidence": None}
    found = sg.evaluate(times, alone[0], y_train=alone[1], cause=1, tau=tau, **given)
    stop = found.task.until if tau is None else tau
    plain = sg.evaluate(
        times, alone[0].any_cause(), y_train=alone[1].any_cause(), tau=stop, **given
    )
    for name, score in scores(plain).items():
        assert scores(found)[name].value == pytest.approx(score.value, rel=1e-12), name


def test_groups_weights_and_the_bootstrap(data):
    train, y, curves = data
    given = {"y_train": train, "cause": 1, "tau": 6.0, "metrics": ["mae_dr", "mae_po"]}
    group = np.arange(len(y)) % 2
    ev = sg.evaluate(curves, y, by=group, **given)
    part = sg.evaluate(curves[group == 1], y[group == 1], **given)
    mine = {s.metric.name: s for s in ev.scores if s.group == 1}
    for name, score in scores(part).items():
        assert mine[name].value == pytest.approx(score.value, rel=1e-10)
    counts = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), counts.astype(int))
    weighted = scores(sg.evaluate(curves, y.reweighted(counts), **given))
    for name, score in scores(sg.evaluate(curves[rows], y[rows], **given)).items():
        assert weighted[name].value == pytest.approx(score.value, rel=1e-10)
    drawn = scores(sg.evaluate(curves, y, reference="redrawn", n_boot=60, **given))
    for name, score in scores(sg.evaluate(curves, y, **given)).items():
        assert drawn[name].stderr == pytest.approx(score.stderr, rel=0.35)


def test_a_distribution_given_the_features(data):
    train, y, curves = data
    distribution = sg.Conditional(incidence=curves, how={"distribution": "mine"})
    given = {"y_train": train, "cause": 1, "tau": 6.0, "conditional": distribution}
    ev = sg.evaluate(curves, y, metrics=["mae_dr", "mae_within", "mae_expected"], **given)
    for name, method in (("mae_dr", "dr"), ("mae_within", "dr"), ("mae_expected", "expected")):
        wanted = sg.mae(y, curves, method=method, **given)
        assert scores(ev)[name].value == pytest.approx(wanted, rel=1e-12)
    one_kind = sg.Conditional(
        distribution=sg.SurvivalCurves([1, 9], np.tile([0.9, 0.1], (len(y), 1)))
    )
    with pytest.raises(sg.InputError, match=r"Conditional\(incidence=curves\)"):
        sg.evaluate(curves, y, **{**given, "conditional": one_kind})


def test_a_method_that_knows_one_kind_of_event_is_refused(data):
    train, y, curves = data
    assert "mae_ipcw_t" not in scores(sg.evaluate(curves, y, y_train=train, cause=1))
    with pytest.raises(sg.InputError, match="mae_ipcw_t supports only one kind of event"):
        sg.evaluate(curves, y, y_train=train, cause=1, metrics="mae_ipcw_t")


def test_a_reference_set_that_ends_before_tau_leaves_what_needs_no_distribution(data):
    train, y, curves = data
    short = sg.Outcomes(
        np.minimum(train.time, 2.0), np.where(train.time <= 2.0, train.cause, 0), causes=CAUSES
    )
    asked = ["mae_dr", "mae_ipcw_d"]
    ev = sg.evaluate(curves, y, y_train=short, cause=1, tau=6.0, metrics=asked)
    assert np.isnan(scores(ev)["mae_dr"].value)
    assert scores(ev)["mae_ipcw_d"].value > 0
    assert any("followed up to 2 only" in w.message for w in ev.warnings)
