"""`evaluate(cause=)`: the metrics of one cause, with all that an evaluation does around them."""

import numpy as np
import pytest
from cause_data import CAUSES, draw

import survgauge as sg
from survgauge.evaluation import call
from survgauge.metrics.registry import metrics_of


@pytest.fixture(scope="module")
def data():
    train, _ = draw(200, 1)
    y, curves = draw(250, 2)
    flat = sg.AalenJohansen.fit(train).curves(len(y))
    return train, y, {"true": curves, "all alike": flat}


def scores(ev):
    return {(s.model, s.metric.name): s for s in ev.scores if s.group is None}


@pytest.mark.parametrize("cause", ["relapse", 2])
def test_numbers_are_those_of_the_functions(data, cause):
    train, y, models = data
    ev = sg.evaluate(models, y, y_train=train, cause=cause, time=4.0, tau=12.0)
    found, curves = scores(ev), models["true"]
    options = {"y_train": train, "cause": cause}
    brier = sg.brier_score(y, curves, [4.0], **options)
    assert found["true", "brier"].value == pytest.approx(brier.mean, rel=1e-12)
    assert found["true", "brier"].stderr == pytest.approx(brier.details.stderr, rel=1e-9)
    auc = sg.cumulative_dynamic_auc(y, curves, [4.0], **options)
    assert found["true", "auc"].value == pytest.approx(auc.mean, rel=1e-12)
    risk = curves.at(12.0, cause)
    c = sg.concordance_index(y, risk, method="uno", tau=12.0, **options)
    assert found["true", "uno"].value == pytest.approx(c, rel=1e-12)
    harrell = sg.concordance_index(y, risk, cause=cause)
    assert found["true", "harrell"].value == pytest.approx(harrell, rel=1e-12)
    oe = sg.observed_expected(y, curves, 4.0, cause=cause)
    assert found["true", "observed_expected"].value == pytest.approx(oe.ratio, rel=1e-12)


def test_the_baseline_is_aalen_johansen(data):
    train, y, models = data
    ev = sg.evaluate(models, y, y_train=train, cause=1, metrics=["brier", "ibs"], time=4.0)
    found = scores(ev)
    for name in ("brier", "ibs"):
        flat = found["all alike", name]
        assert flat.baseline == pytest.approx(flat.value, rel=1e-12)
        assert found["true", name].skill > 0
    skill = sg.brier_skill(y, models["true"], [4.0], y_train=train, cause=1).mean
    assert found["true", "brier"].skill == pytest.approx(skill, rel=1e-9)
    ipa = sg.evaluate(models, y, y_train=train, cause=1, metrics="ipa", time=4.0)
    assert scores(ipa)["true", "ipa"].value == pytest.approx(skill, rel=1e-9)


def test_groups_are_evaluations_of_their_subjects(data):
    train, y, models = data
    group = np.arange(len(y)) % 2
    given = {"y_train": train, "cause": "relapse", "tau": 6.0}
    ev = sg.evaluate(models, y, by=group, **given)
    rows = np.flatnonzero(group == 1)
    alone = sg.evaluate({n: c[rows] for n, c in models.items()}, y[rows], **given)
    ours = {(s.model, s.metric.name): s for s in ev.scores if s.group == 1}
    for key, score in scores(alone).items():
        assert ours[key].value == pytest.approx(score.value, rel=1e-9, nan_ok=True), key
        assert ours[key].stderr == pytest.approx(score.stderr, rel=1e-9, nan_ok=True), key


def test_frequencies_are_copies(data):
    train, y, models = data
    counts = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), counts.astype(int))
    given = {"y_train": train, "cause": 1, "tau": 10.0, "confidence": None}
    weighted = sg.evaluate(models, y.reweighted(counts), **given)
    copied = sg.evaluate({n: c[rows] for n, c in models.items()}, y[rows], **given)
    for key, score in scores(copied).items():
        value = scores(weighted)[key].value
        assert value == pytest.approx(score.value, rel=1e-9, nan_ok=True), key


def test_chunks_give_the_same_numbers(data, monkeypatch):
    train, y, models = data
    given = {"y_train": train, "cause": 1, "metrics": ["brier", "ibs", "ibll", "auc", "uno"]}
    whole = scores(sg.evaluate(models, y, **given))
    monkeypatch.setattr(call, "chunk_rows", lambda widths: 60)
    for key, score in scores(sg.evaluate(models, y, **given)).items():
        assert score.value == pytest.approx(whole[key].value, rel=1e-10), key
        assert score.baseline == pytest.approx(whole[key].baseline, rel=1e-10, nan_ok=True), key
        if score.metric.adds_up == "mean":
            assert score.stderr == pytest.approx(whole[key].stderr, rel=1e-9), key


def test_the_reference_can_be_redrawn(data):
    train, y, models = data
    given = {"y_train": train, "cause": 1, "metrics": "brier", "n_boot": 30}
    ev = sg.evaluate(models, y, reference="redrawn", **given)
    fixed = scores(sg.evaluate(models, y, **given))
    for key, score in scores(ev).items():
        assert score.stderr == pytest.approx(fixed[key].stderr, rel=0.5), key


def test_one_cause_of_which_all_events_are_is_one_kind_of_event():
    y, curves = draw(120, 3)
    codes = y.cause.copy()
    codes[codes == 2] = 0
    none = curves.values.copy()
    none[:, 1] = 0.0
    alone = sg.IncidenceCurves(curves.times, none, causes=CAUSES)
    ev = sg.evaluate(alone, sg.Outcomes(y.time, codes, causes=CAUSES), cause="relapse", tau=8.0)
    plain = sg.evaluate(
        sg.SurvivalCurves(curves.times, 1 - none[:, 0], tail="nan"), (y.time, codes == 1), tau=8.0,
        metrics=["brier", "ibs", "ibll", "auc", "observed_expected"],
    )  # fmt: skip
    for (_, name), score in scores(plain).items():
        ours = scores(ev)["model", name]
        assert ours.value == pytest.approx(score.value, rel=1e-12), name
        assert ours.stderr == pytest.approx(score.stderr, rel=1e-9), name
        assert ours.skill == pytest.approx(score.skill, rel=1e-9, nan_ok=True), name


def test_codes_that_did_not_happen_in_the_test_set_are_known_from_training():
    y, curves = draw(100, 4, named=False)
    rare = y.cause.copy()
    rare[rare == 2] = 0
    ev = sg.evaluate(curves, (y.time, rare), y_train=(y.time, y.cause), cause=1, metrics="brier")
    assert ev.support["events_by_cause"] == {"1": int((rare == 1).sum()), "2": 0}


def test_risks_and_times_are_scored_by_what_reads_them(data):
    train, y, models = data
    risk = models["true"].at(10.0, 1)
    ev = sg.evaluate({"risk": sg.RiskScores(risk)}, y, y_train=train, cause=1)
    assert {"harrell", "uno", "auc"} <= {s.metric.name for s in ev.scores}


def test_metrics_of_one_kind_of_event_are_refused_by_name(data):
    train, y, models = data
    for name in [m.name for m in metrics_of().values() if not m.supports_cause(1)][:3]:
        with pytest.raises(sg.InputError, match=f"{name} supports only one kind of event"):
            sg.evaluate(models, y, y_train=train, cause=1, metrics=name, threshold=0.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cause": "gout"}, "cause must be the code or the name of a cause"),
        ({"cause": 3}, "cause must be the code or the name of a cause"),
        ({"cause": None}, "must have one kind of event"),
        ({"y_train": ([1.0, 2.0], [1, 3])}, "y_train: event must be"),
    ],
)
def test_bad_input_is_told(data, change, message):
    train, y, models = data
    with pytest.raises(sg.InputError, match=message):
        sg.evaluate(**({"predictions": models, "y_test": y, "y_train": train, "cause": 1} | change))


def test_survival_curves_are_no_incidence(data):
    train, y, models = data
    with pytest.raises(sg.InputError, match="must be IncidenceCurves"):
        sg.evaluate(models["true"].survival(), y, y_train=train, cause=1)
    other = sg.IncidenceCurves([1.0], np.full((len(y), 2, 1), 0.1), causes=["death", "relapse"])
    with pytest.raises(sg.InputError, match="must have the causes of y_test"):
        sg.evaluate(other, y, y_train=train, cause=1)
    with pytest.raises(sg.InputError, match="cause goes with outcomes of several causes"):
        sg.evaluate(models, y.any_cause(), cause=1)


def test_everybody_at_time_zero_has_no_follow_up() -> None:
    y = sg.Outcomes(np.zeros(6), [0, 1, 2, 0, 1, 2])
    curves = sg.IncidenceCurves([0, 1, 2], np.tile([[0, 0.2, 0.3], [0, 0.1, 0.2]], (6, 1, 1)))
    said = sg.evaluate({"m": curves}, y, cause=1).warnings
    assert "undefined-metric" in {w.code for w in said}


def test_training_without_one_of_the_causes_says_how_to_name_them() -> None:
    y, train = sg.Outcomes([1, 2, 3], [0, 1, 2]), sg.Outcomes([1, 2, 3], [0, 1, 1])
    with pytest.raises(sg.InputError, match=r"got one kind of event. If a cause .* --causes A,B"):
        sg.evaluate({"m": [1.0, 2.0, 3.0]}, y, y_train=train, cause=1)


def test_features_go_with_a_cause() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    times = rng.exponential(np.exp(-X))
    end = rng.exponential(2.0, 240)
    first = times.min(axis=1)
    y = sg.Outcomes(np.minimum(first, end), np.where(first <= end, 1 + times.argmin(axis=1), 0))
    given = {"y_train": y[:120], "X_train": X[:120], "X_test": X[120:], "cause": 1, "time": 0.5}
    ev = sg.evaluate({"m": np.exp(-X[120:, 0])}, y[120:], metrics=["mae_within", "auc"], **given)
    conditional = sg.conditional(X[:120], y[:120], X[120:], y_test=y[120:])
    given = {"y_train": y[:120], "conditional": conditional, "cause": 1, "time": 0.5}
    same = sg.evaluate({"m": np.exp(-X[120:, 0])}, y[120:], metrics=["mae_within", "auc"], **given)
    for a, b in zip(ev.rows(), same.rows(), strict=True):
        assert a["value"] == b["value"]
        assert a["low"] < a["value"] < a["high"]
