"""Networks against formulas written out, awkward data, and themselves a second time."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn", reason="the models need scikit-learn")
pytest.importorskip("torch", reason="these models need torch")

import torch
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from survgauge import InputError, KaplanMeier, Outcomes, models
from survgauge.bench.models import FitError, FitWarning
from survgauge.bench.models.torch_models import (
    MTLR,
    SCA,
    DeepHit,
    SurvivalMDN,
    binned,
    continuous,
    training,
)
from survgauge.estimators.learners.trees import far_grid

NAMES = ("mtlr", "deephit", "smdn", "sca")
BINNED = ("mtlr", "deephit")
QUICK = {"epochs": 15, "batch_size": 64, "learning_rate": 3e-3}


def build(name, **params):
    few = {"samples": 50} if name == "sca" else {}
    return models.build(name, **{**QUICK, **few, **params})


def example(n=120, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 20.0, 0.1] + [0.0, 50.0, -1.0]
    event_time = rng.weibull(1.5, n) * 30 * np.exp(X[:, 0])
    censoring = rng.uniform(0, 150, n)
    return X, Outcomes(np.minimum(event_time, censoring), event_time <= censoring)


def check(model, X, y):
    """Everything that a prediction must be, whatever the data."""
    curves, time = model.predict_curves(X), model.predict_time(X)
    assert np.isfinite(time).all()
    assert (time >= 0).all()
    assert np.isfinite(curves.median()).all()
    assert np.isfinite(curves.mean()).all()
    np.testing.assert_array_equal(curves.at(0.0), 1.0)
    assert (np.diff(curves.survival, axis=1) <= 0).all()
    assert (curves.last_survival < 1).all()
    return curves, time


def batch(**columns):
    return {key: training.tensor(values, torch.device("cpu")) for key, values in columns.items()}


# -- the protocol -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_predictions(name):
    X, y = example()
    first, again = build(name).fit(X, y), build(name).fit(X, y)
    np.testing.assert_allclose(
        first.predict_curves(X).survival, again.predict_curves(X).survival, rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(first.predict_time(X), again.predict_time(X), rtol=1e-6)
    np.testing.assert_array_equal(first.predict_time(X), first.predict_time(X))
    np.testing.assert_array_equal(first.predict_time(X), first.fit(X, y).predict_time(X))
    other = build(name, random_state=5).fit(X, y)
    assert not np.allclose(first.predict_time(X), other.predict_time(X), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_global_is_read_or_changed(name):
    X, y = example(60)
    wanted = build(name, epochs=3).fit(X, y).predict_time(X)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        torch.manual_seed(7)
        np.random.seed(7)  # noqa: NPY002
        state, other_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        with torch.inference_mode():
            model = build(name, epochs=3).fit(X, y)
        assert torch.get_num_threads() == 2
        np.testing.assert_allclose(model.predict_time(X), wanted, rtol=1e-6)
        assert torch.equal(torch.get_rng_state(), state)
        np.testing.assert_array_equal(np.random.get_state()[1], other_state)  # noqa: NPY002
        with pytest.raises(FitError):
            build(name).fit(X, (y.time, np.zeros(60)))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_predicted_alike_in_any_company(name):
    X, y = example(150)
    model = build(name, epochs=5).fit(X, y)
    together = model.predict_time(X)
    np.testing.assert_allclose(model.predict_time(X[3:4]), together[3:4], rtol=1e-4)
    np.testing.assert_allclose(model.predict_time(X[::-1]), together[::-1], rtol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_units_and_scales_do_not_matter(name):
    X, y = example()
    one = build(name, epochs=5).fit(X, y)
    scale = np.array([10.0, 0.01, 3.0])
    other = build(name, epochs=5).fit(X * scale + 4, (y.time * 365, y.event))
    np.testing.assert_allclose(
        other.predict_time(X * scale + 4), 365 * one.predict_time(X), rtol=1e-2
    )


@pytest.mark.parametrize("name", NAMES)
def test_clone_pickle_pipeline(name):
    X, y = example(60)
    model = build(name, epochs=3, random_state=4)
    assert clone(model).get_params() == model.get_params()
    fitted = model.fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_time(X), fitted.predict_time(X))
    piped = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    np.testing.assert_allclose(piped.predict(X), fitted.predict_time(X), rtol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_it_learns(name):
    X, y = example(400)
    faster = {"mtlr": {"learning_rate": 3e-3}}.get(name, {})
    model = models.build(name, **faster).fit(X[:300], y[:300])
    time = model.predict_time(X[300:])
    # Log times have correlation 0.75 with the best predictor there can be.
    truth = np.log(30) + X[300:, 0]
    assert np.corrcoef(np.log(time), truth)[0, 1] > 0.9
    assert model.best_epoch_ < len(model.history_.training)


def test_verbose_reports_progress(capsys):
    X, y = example(60)
    build("mtlr", epochs=10, verbose=True).fit(X, y)
    said = capsys.readouterr().err
    assert "mtlr: epoch 10: loss" in said
    assert "kept epoch" in said
    build("mtlr", epochs=10).fit(X, y)
    assert capsys.readouterr().err == ""


def test_weights_count_as_rows():
    X, y = example(60)
    double = Outcomes(y.time, y.event, np.full(60, 2.0))
    twice = Outcomes(np.repeat(y.time, 2), np.repeat(y.event, 2))
    one = build("mtlr", epochs=3).fit(X, double).predict_time(X)
    np.testing.assert_array_equal(
        one, build("mtlr", epochs=3).fit(np.repeat(X, 2, axis=0), twice).predict_time(X)
    )


# -- awkward data -------------------------------------------------------------------------


def awkward():
    rng = np.random.default_rng(3)
    X, y = example(50)
    one_event = np.arange(50) == 20
    return {
        "separable": (np.repeat([[-1.0], [1.0]], 25, axis=0), (np.repeat([1.0, 100.0], 25), 50)),
        "constant column": (np.column_stack([X, np.full(50, 1 / 3)]), y),
        "constant everything": (np.ones((50, 2)), y),
        "huge and tiny columns": (X * [1e15, 1e-15, 1.0], y),
        "gap between the times": (X, (np.where(X[:, 0] > 0, 1000.0, 1.0) + rng.random(50), 50)),
        "all times equal": (X, (np.full(50, 3.0), 50)),
        "all times zero": (X, (np.zeros(50), 50)),
        "some times zero": (X, (np.maximum(y.time - 20, 0), y.event)),
        "one event": (X, (y.time, one_event)),
        "event before all others": (X, (np.where(one_event, 0.0, y.time), one_event)),
        "last time censored": (X, (np.arange(50.0), np.arange(50) < 40)),
        "ten rows": (X[:10], y[:10]),
        "two rows": (X[:2], ([3.0, 5.0], [1, 1])),
        "one row": (X[:1], ([3.0], [1])),
        "no columns": (np.empty((50, 0)), y),
        "more columns than rows": (rng.normal(size=(20, 40)), y[:20]),
    }


@pytest.mark.filterwarnings("ignore::survgauge.bench.models.FitWarning")
@pytest.mark.parametrize("case", awkward())
@pytest.mark.parametrize("name", NAMES)
def test_awkward_data(name, case):
    X, y = awkward()[case]
    if not isinstance(y, Outcomes):
        y = Outcomes(y[0], np.ones(y[1]) if isinstance(y[1], int) else y[1])
    # Enough steps for anything that runs away to do so.
    model = build(name, epochs=50, patience=50, learning_rate=2e-2).fit(X, y)
    check(model, X, y)
    check(model, 1e3 * X[:1], y)  # far from anything seen


@pytest.mark.parametrize("size", [1, 16])
@pytest.mark.parametrize("name", NAMES)
def test_batch_of_one(name, size):
    X, y = example(21)  # 16 or 17 rows to train on: a last batch of one, or only such
    model = build(name, epochs=3, batch_size=size).fit(X, y)
    check(model, X, y)


@pytest.mark.parametrize("name", NAMES)
def test_too_few_events_to_hold_out_are_said(name):
    X, y = example(20)
    few = Outcomes(y.time, np.arange(20) < 2)
    with pytest.warns(FitWarning, match=f"{name}: 2 event.s. are too few"):
        model = build(name, epochs=3).fit(X, few)
    assert "training loss" in model.notes_[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_that_is_not_a_number_names_the_model(name, monkeypatch):
    X, y = example(40)
    model = build(name)
    whole = type(model)._loss
    monkeypatch.setattr(type(model), "_loss", lambda *args: whole(*args) * float("nan"))
    with pytest.raises(FitError, match=f"{name} cannot be fitted: the loss became nan"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("mtlr", {"bins": 0}),
        ("mtlr", {"l2": -1.0}),
        ("mtlr", {"epochs": 2.5}),
        ("mtlr", {"epochs": True}),
        ("mtlr", {"learning_rate": 0.0}),
        ("mtlr", {"learning_rate": "fast"}),
        ("mtlr", {"validation_fraction": 1.0}),
        ("mtlr", {"validation_fraction": 0.0}),
        ("mtlr", {"device": "abacus"}),
        ("mtlr", {"random_state": -1}),
        ("deephit", {"keep": 1.5}),
        ("deephit", {"sigma": 0.0}),
        ("deephit", {"hidden": ()}),
        ("deephit", {"hidden": (10, 0)}),
        ("smdn", {"components": 0}),
        ("smdn", {"min_deviation": float("inf")}),
        ("sca", {"latent": 0}),
        ("sca", {"samples": None}),
        ("sca", {"bandwidth": 0.0}),
    ],
)
def test_bad_parameters_are_refused(name, bad):
    X, y = example(30)
    with pytest.raises(InputError, match=next(iter(bad))):
        build(name, **bad).fit(X, y)


def test_without_torch_the_install_line_is_given():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from survgauge import MissingExtraError\n"
        "try:\n    import survgauge.bench.models.torch_models\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'survgauge[torch]'" in done.stdout


# -- training -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 80), st.integers(0, 80), st.sampled_from([0.1, 0.2, 0.5]), st.integers(0, 9))
def test_held_out_rows_are_spread_over_events_and_times(events, censored, fraction, seed):
    rng = np.random.default_rng(seed)
    event = rng.permutation(np.arange(events + censored) < events)
    time = np.where(event, 0, 1000.0) + rng.permutation(events + censored)
    y = Outcomes(time, event)
    chosen = training.hold_out(y, fraction, rng)
    if chosen is None:
        assert not 0 < round(events * fraction) < events
        return
    assert chosen[event].sum() == round(events * fraction)
    assert chosen[~event].sum() == round(censored * fraction)
    # Never more than two blocks' worth of consecutive times without a chosen one.
    order = np.sort(np.flatnonzero(chosen[event][np.argsort(time[event])]))
    gaps = np.diff(np.concatenate([[-1], order, [events]]))
    assert gaps.max() <= 2 * np.ceil(events / order.size) + 1


def test_the_best_weights_are_kept():
    rng = np.random.default_rng(0)
    data = batch(x=rng.normal(size=(40, 5)), y=rng.normal(size=40))
    draw = torch.Generator().manual_seed(0)
    net = training.linear(5, 1, draw)

    def loss(net, rows, noise=None, learning=False):
        return (net(rows["x"])[:, 0] - rows["y"]).square().mean()

    model = training.TorchModel(
        epochs=400, patience=30, batch_size=7, learning_rate=0.05, weight_decay=0.0
    )
    model._loss, model.seed_ = loss, 0
    validation, rest = (
        {k: v[part] for k, v in data.items()} for part in (slice(20), slice(20, 40))
    )
    history = model._train(net, rest, validation)
    assert history.best_epoch == 1 + int(np.argmin(history.validation))
    assert len(history.training) == history.best_epoch + 30 < 400
    assert float(loss(net, validation).detach()) == pytest.approx(min(history.validation), rel=1e-5)
    assert min(history.validation) < history.validation[-1]


def test_dropout_keeps_the_mean_and_shares_where_told():
    draw = torch.Generator().manual_seed(0)
    values = torch.ones(50, 40, 30)
    dropped = training.drop(values, 0.8, draw)
    assert set(np.unique(dropped.numpy())) == {np.float32(0.0), np.float32(1.25)}
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.01)
    shared = training.drop(values, 0.8, draw, 1)
    assert bool((shared == shared[:, :1]).all())
    assert not bool((shared == shared[:1]).all())
    assert training.drop(values, 1.0, draw) is values


# -- bins: mtlr and deephit ---------------------------------------------------------------


@pytest.mark.parametrize("name", BINNED)
def test_probabilities_sum_to_one_and_make_the_curve(name):
    X, y = example()
    model = build(name).fit(X, y)
    probability = binned.probabilities(model._scores(X))
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert (probability > 0).all()
    curves = model.predict_curves(X)
    np.testing.assert_array_equal(curves.times, model.bins_.edges)
    wanted = 1 - np.cumsum(probability[:, :-1], axis=1)
    np.testing.assert_allclose(curves.survival[:, 1:], wanted, atol=1e-12)
    assert (curves.survival[:, 0] == 1).all()
    assert (np.diff(curves.survival, axis=1) < 0).all()


def test_number_and_place_of_the_bins():
    _, y = example(300)
    events = int(y.event.sum())
    quantiles, equal = build("mtlr", epochs=1), build("deephit", epochs=1)
    edges = quantiles.fit(*example(300)).bins_.edges
    assert edges.size - 1 == np.ceil(np.sqrt(events))
    inside = np.histogram(y.time[y.event], edges)[0]
    assert inside.max() - inside.min() <= 2
    assert inside.sum() == events
    edges = equal.fit(*example(300)).bins_.edges
    assert edges.size - 1 == np.ceil(np.sqrt(events))
    np.testing.assert_allclose(np.diff(edges), y.time.max() / (edges.size - 1))
    assert build("mtlr", epochs=1, bins=4).fit(*example(300)).bins_.edges.size == 5


def naive_likelihood(edges, probability, time, event):
    """One subject: probability of its bin, or of everything after its censoring."""
    pieces = [*zip(edges[:-1], edges[1:], strict=True), (edges[-1], np.inf)]
    if event:
        return next(p for (a, b), p in zip(pieces, probability, strict=True) if time <= b)
    total = 0.0
    for (a, b), p in zip(pieces, probability, strict=True):
        if b == np.inf or time < a:
            total += p
        elif time < b:
            total += p * (b - time) / (b - a)
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_likelihood_by_hand(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    y = Outcomes(rng.integers(0, 9, n), rng.random(n) < 0.7)
    if not y.event.any():
        return
    for bins in (binned.Bins.quantiles(y), binned.Bins.equal(y), binned.Bins.equal(y, 5)):
        logits = rng.normal(size=(n, len(bins))) * 3
        rows = batch(**bins.place(y.time), event=y.event)
        ours = float(binned.negative_log_likelihood(training.tensor(logits, "cpu"), rows))
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        wanted = [
            naive_likelihood(bins.edges, *row) for row in zip(p, y.time, y.event, strict=True)
        ]
        assert ours == pytest.approx(-np.mean(np.log(wanted)), rel=1e-4, abs=1e-5)


def test_ranking_loss_by_hand():
    rng = np.random.default_rng(2)
    n, sigma = 12, 0.3
    y = Outcomes(rng.integers(0, 9, n), rng.random(n) < 0.7)
    bins = binned.Bins.equal(y, 4)
    logits = rng.normal(size=(n, len(bins)))
    curves = 1 - binned.Bins.curves(bins, logits).at(y.time)  # F(t_j | x_i), with the small floor
    terms = [
        np.exp(-(curves[i, i] - curves[j, i]) / sigma)
        for i in range(n)
        for j in range(n)
        if y.event[i] and y.time[i] < y.time[j]
    ]
    rows = batch(**bins.place(y.time), event=y.event)
    ours = binned.ranking_loss(training.tensor(logits, "cpu"), rows, sigma)
    assert float(ours) == pytest.approx(np.mean(terms), rel=1e-4)
    nobody = batch(**bins.place(y.time), event=np.zeros(n, dtype=bool))
    assert float(binned.ranking_loss(training.tensor(logits, "cpu"), nobody, sigma)) == 0


def test_mtlr_scores_are_sums_over_later_edges():
    net = training.linear(2, 3, torch.Generator().manual_seed(1), bias=[0.1, 0.2, 0.3])
    x = torch.tensor([[1.0, -2.0]])
    task = net(x)[0].detach().numpy()
    wanted = [task.sum(), task[1:].sum(), task[2], 0.0]
    np.testing.assert_allclose(MTLR()._logits(net, x)[0].detach().numpy(), wanted, rtol=1e-5)


def test_mtlr_without_information_is_kaplan_meier():
    _, y = example(400)
    model = models.build("mtlr").fit(np.ones((400, 1)), y)
    curves = model.predict_curves([[1.0]])
    km = KaplanMeier.fit(y).at(curves.times)
    np.testing.assert_allclose(curves.survival[0], km, atol=0.04)


def test_mtlr_penalty_shrinks():
    X, y = example()
    free = build("mtlr", l2=0.0, smoothness=0.0).fit(X, y).net_.weight
    tight = build("mtlr", l2=1e3).fit(X, y).net_.weight
    smooth = build("mtlr", smoothness=1e3).fit(X, y).net_.weight
    assert float(tight.square().sum().detach()) < 0.5 * float(free.square().sum().detach())
    roughness = float(smooth.diff(dim=0).square().sum().detach())
    assert roughness < 0.5 * float(free.diff(dim=0).square().sum().detach())


def test_mtlr_reaches_the_optimum():
    from scipy.optimize import minimize

    X, y = example(80)
    model = models.build("mtlr", bins=3, l2=2.0, smoothness=0.5, epochs=600, patience=600)
    model.set_params(batch_size=80, learning_rate=3e-2, validation_fraction=0.001)
    with pytest.warns(FitWarning):  # nothing held out: the loss itself is minimised
        model.fit(X, y)
    edges, z = model.bins_.edges, (X - X.mean(axis=0)) / X.std(axis=0)

    def objective(flat):
        theta, b = flat[:9].reshape(3, 3), flat[9:]
        score = np.cumsum((z @ theta.T + b)[:, ::-1], axis=1)[:, ::-1]
        score = np.column_stack([score, np.zeros(80)])
        p = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
        fit = [
            np.log(naive_likelihood(edges, *row)) for row in zip(p, y.time, y.event, strict=True)
        ]
        rough = (np.diff(theta, axis=0) ** 2).sum()
        return -np.mean(fit) + (2.0 * (theta**2).sum() + 0.5 * rough) / 160

    best = minimize(objective, np.zeros(12), options={"gtol": 1e-6})
    ours = np.concatenate([model.net_.weight.detach().numpy().ravel(), model.net_.bias.detach()])
    assert objective(ours) == pytest.approx(best.fun, abs=2e-3)


# -- smdn ---------------------------------------------------------------------------------


def test_smdn_curves_are_the_closed_form():
    from scipy.special import ndtr

    X, y = example()
    model = build("smdn").fit(X, y)
    weight, mean, deviation = model._mixture(X)
    times = np.array([0.0, 0.3, 5.0, 40.0, 200.0, 900.0])
    unit = y.time.mean()
    wanted = np.ones((len(X), times.size))
    for j, t in enumerate(times[1:], 1):
        real = np.log(np.expm1(t / unit))
        wanted[:, j] = (weight * (1 - ndtr((real - mean) / deviation))).sum(axis=1)
    np.testing.assert_allclose(model._survival(X, times), wanted, atol=1e-12)
    curves, median = check(model, X, y)
    np.testing.assert_allclose(curves.at(times), wanted, atol=5e-3)
    at_median = [model._survival(X[i : i + 1], median[i : i + 1])[0, 0] for i in range(20)]
    np.testing.assert_allclose(at_median, 0.5, atol=1e-6)
    np.testing.assert_allclose(curves.median(), median, rtol=0.03)


def test_smdn_loss_is_the_density_of_that_survival():
    X, y = example(30)
    model = build("smdn").fit(X, y)
    unit, step = y.time.mean(), 1e-4
    columns = {"x": model._scaling.apply(X), **model._targets(y)}
    for row in range(8):
        one = {key: values[row : row + 1] for key, values in columns.items()}
        ours = float(model._loss(model.net_, batch(**one), None, False).detach())
        around = y.time[row] * np.array([1 - step, 1.0, 1 + step])
        low, at, high = model._survival(X[row : row + 1], around)[0]
        density = (low - high) / (2 * step * y.time[row]) * unit  # in units of the mean time
        assert ours == pytest.approx(-np.log(density if y.event[row] else at), rel=1e-3, abs=1e-3)


def test_smdn_recovers_a_distribution():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 1))
    time = np.exp(0.7 * X[:, 0] + 0.5 * rng.normal(size=1500)) * 100
    censoring = rng.exponential(300, 1500)
    y = Outcomes(np.minimum(time, censoring), time <= censoring)
    model = models.build("smdn").fit(X, y)
    places = np.array([[-1.0], [0.0], [1.0]])
    np.testing.assert_allclose(
        model.predict_time(places), 100 * np.exp(0.7 * places[:, 0]), rtol=0.15
    )
    np.testing.assert_allclose(
        model._survival(np.zeros((1, 1)), np.array([50.0, 100.0, 200.0]))[0],
        [0.917, 0.5, 0.083],
        atol=0.06,
    )


# -- sca ----------------------------------------------------------------------------------


def test_sca_curves_are_those_of_its_samples():
    X, y = example()
    model = build("sca", samples=200).fit(X, y)
    samples = model._samples(X)
    assert samples.shape == (len(X), 200)
    assert samples.min() > 0
    assert samples.max() <= 10 * y.time.max()
    curves, median = check(model, X, y)
    later = np.stack([(samples > t).mean(axis=1) for t in curves.times], axis=1)
    np.testing.assert_allclose(curves.survival, later, atol=1e-12)
    assert (curves.last_survival == 0).all()
    np.testing.assert_allclose(median, np.median(samples, axis=1), atol=0.03 * y.time.max())


def test_sca_clusters():
    X, y = example()
    model = build("sca", components=7).fit(X, y)
    latent = continuous.encode(model.net_, batch(x=model._scaling.apply(X))["x"])
    probability = continuous.kernels(model.net_, latent)[0].softmax(1).detach().numpy()
    assert probability.shape == (len(X), 7)
    sticks = model.net_.get_parameter("mixture.sticks").detach().numpy().astype(float)
    centres = model.net_.get_parameter("mixture.centres").detach().numpy()
    v = np.append(1 / (1 + np.exp(-sticks)), 1.0)
    pi = v * np.concatenate([[1.0], np.cumprod(1 - v[:-1])])
    assert pi.sum() == pytest.approx(1.0)
    z = latent.detach().numpy()
    kernel = (1 + ((z[:, None] - centres) ** 2).sum(axis=2)) ** -(0.5 * (1 + z.shape[1]))
    wanted = pi * kernel / (pi * kernel).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probability, wanted, atol=1e-4)


def test_sca_agrees_with_kaplan_meier_where_features_say_nothing():
    rng = np.random.default_rng(0)
    _, y = example(500)
    X = rng.normal(size=(500, 2))
    model = models.build("sca").fit(X, y)
    km = KaplanMeier.fit(y)
    times = np.array([km.quantile(q) for q in (0.2, 0.4, 0.6, 0.8)])
    mean_curve = model.predict_curves(X).at(times).mean(axis=0)
    np.testing.assert_allclose(mean_curve, km.at(times), atol=0.1)


def test_the_grid_is_dense_then_far():
    _, y = example(200)
    grid = far_grid(y)
    assert grid[0] == 0
    assert grid[-1] == pytest.approx(10 * y.time.max())
    assert (np.diff(grid[grid <= y.time.max()]) <= y.time.max() / 99 + 1e-9).all()


def test_classes_are_where_the_registry_says():
    for name, kind in zip(NAMES, (MTLR, DeepHit, SurvivalMDN, SCA), strict=True):
        assert type(models.build(name)) is kind


# -- real data ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_networks_beat_kaplan_meier_on_support(name):
    from survgauge.bench.censoring import semisynthetic
    from survgauge.bench.datasets import load
    from survgauge.evaluation.scorers import SurvivalKFold

    try:
        data = load("support")
    except Exception as error:
        pytest.skip(f"support is not at hand (set SURVGAUGE_DATA): {error}")
    made = semisynthetic(data.X, data.y, "uniform", random_state=0)
    errors, order = [], []
    for train, test in SurvivalKFold(5, random_state=0).split(made.X, made.y):
        features = data.preprocessor().fit(made.X.iloc[train])
        model = models.build(name).fit(features.transform(made.X.iloc[train]), made.y[train])
        time = model.predict_time(features.transform(made.X.iloc[test]))
        truth = made.true_time[test]
        km = KaplanMeier.fit(made.y[train]).median()
        errors.append([np.abs(time - truth).mean(), np.abs(km - truth).mean()])
        earlier = truth[:, None] < truth
        order.append((time[:, None] < time)[earlier].mean())
    ours, theirs = np.mean(errors, axis=0)
    assert ours < 0.95 * theirs
    assert np.median(order) > 0.55
