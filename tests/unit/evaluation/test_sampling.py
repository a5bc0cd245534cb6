"""Sampling weights and clusters in `evaluate`: what they change, and what they must not."""

import numpy as np
import pytest

import survgauge as sg
from survgauge.evaluation.inference import critical
from survgauge.metrics.registry import REGISTRY, default_metrics, metrics_of
from survgauge.report.evaluation_tables import meaning

DEFAULT_METRICS = [metric.name for metric in default_metrics()]

WEIGHTED = [name for name, metric in metrics_of().items() if "weights" in metric.supports]
ANALYTIC = [name for name, metric in metrics_of().items() if metric.inference == "analytic"]
GRID = np.linspace(0, 90, 40)


def draw(n=90, seed=0):
    rng = np.random.default_rng(seed)

    def outcomes(size):
        t, c = rng.exponential(10, size), rng.exponential(15, size)
        return np.minimum(t, c), t <= c

    y, train = outcomes(n), outcomes(150)
    scale = rng.uniform(5, 20, (2, n, 1))
    models = {
        "a": sg.SurvivalCurves(GRID, np.exp(-GRID / scale[0])),
        "b": sg.SurvivalCurves(GRID, np.exp(-GRID / (1.3 * scale[1]))),
    }
    return y, train, models, rng


def numbers(ev, *keys):
    keys = keys or ("value", "low", "high", "stderr", "skill")
    return np.array([[row[key] for key in keys] for row in ev.rows()], dtype=float)


def differences(ev):
    keys = ("difference", "low", "high", "p_value")
    rows = [*ev.comparisons(), *ev.baseline_comparisons()]
    return np.array([[row[key] for key in keys] for row in rows], dtype=float)


# -- sampling weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [100.0, 1e-3, 1e300])
def test_only_the_ratios_of_sampling_weights_matter(factor):
    y, train, models, rng = draw()
    weight = rng.uniform(0.5, 4, 90)
    options = {"y_train": train, "metrics": WEIGHTED, "threshold": 0.3}
    one = sg.evaluate(models, y, sample_weight=weight, **options)
    with np.errstate(all="raise"):
        two = sg.evaluate(models, y, sample_weight=np.minimum(weight * factor, 1.7e308), **options)
    np.testing.assert_allclose(numbers(one), numbers(two), rtol=1e-9)
    np.testing.assert_allclose(differences(one), differences(two), rtol=1e-7, atol=1e-12)
    assert one.support["effective_subjects"] == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_equal_sampling_weights_change_nothing():
    y, train, models, _ = draw()
    options = {"y_train": train, "metrics": WEIGHTED, "threshold": 0.3, "censoring": None}
    one = sg.evaluate(models, y, **options)
    two = sg.evaluate(models, y, sample_weight=np.full(90, 7.0), **options)
    np.testing.assert_allclose(numbers(one, "value"), numbers(two, "value"), rtol=1e-10)


def test_values_and_errors_are_those_of_the_single_functions():
    y, train, models, rng = draw()
    weight = rng.uniform(0.5, 4, 90)
    options = {"y_train": train, "metrics": WEIGHTED, "threshold": 0.3}
    ev = sg.evaluate(models, y, sample_weight=weight, **options)
    rows = {(r["model"], r["metric"]): r for r in ev.rows()}
    mean = weight / weight.mean()
    error = sg.time_error(y, models["a"], y_train=train, sample_weight=mean, method="po")
    assert rows["a", "mae_po"]["value"] == pytest.approx(error.value)
    assert rows["a", "mae_po"]["stderr"] == pytest.approx(error.stderr)
    rank = sg.concordance_index(y, -models["a"].median(), sample_weight=mean)
    assert rows["a", "harrell"]["value"] == pytest.approx(rank.value)
    assert rows["a", "harrell"]["stderr"] == pytest.approx(rank.stderr)
    crps = sg.crps(y, models["a"], sample_weight=weight)
    assert rows["a", "crps"]["value"] == pytest.approx(crps.value)
    assert rows["a", "crps"]["stderr"] == pytest.approx(crps.stderr)


def test_every_metric_heeds_sampling_weights_or_is_undefined():
    y, train, models, rng = draw()
    names = list(metrics_of())
    options = {"y_train": train, "metrics": names, "threshold": 0.3, "confidence": None}
    plain = sg.evaluate(models, y, **options)
    weight = rng.uniform(0.1, 9, 90)
    ev = sg.evaluate(models, y, sample_weight=weight, **options)
    for before, after in zip(plain.rows(), ev.rows(), strict=True):
        if "weights" in REGISTRY[after["metric"]].supports:
            if np.isfinite(before["value"]):
                assert after["value"] != before["value"], after["metric"]
        else:
            assert np.isnan(after["value"])
    told = {w.metric: w.message for w in ev.cases if w.code == "undefined-metric"}
    assert "takes no sampling weights" in told["ici"]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(90), "sample_weight must have a positive sum"),
        (np.ones(3), "sample_weight"),
        (np.full(90, -1.0), "sample_weight"),
        (np.full(90, np.nan), "sample_weight"),
    ],
)
def test_bad_sampling_weights_are_refused(weight, message):
    y, _, models, _ = draw()
    with pytest.raises(sg.InputError, match=message):
        sg.evaluate(models, y, metrics=["mae_po"], sample_weight=weight)


def test_fractional_frequencies_get_a_warning():
    y, train, models, _ = draw()
    whole = sg.Outcomes(*y, np.full(90, 2.0))
    parts = sg.Outcomes(*y, np.full(90, 2.5))
    options = {"y_train": train, "metrics": ["mae_po"]}
    codes = [w.code for w in sg.evaluate(models, whole, **options).warnings]
    assert "fractional-frequencies" not in codes
    ev = sg.evaluate(models, parts, **options)
    [remark] = [w for w in ev.warnings if w.code == "fractional-frequencies"]
    assert "frequencies" in remark.message
    assert "What to do: pass sampling weights as sample_weight." in ev.to_text()


@pytest.mark.parametrize("by", [None, "group"])
def test_streams_warn_of_fractional_frequencies_too(by):
    y, train, _, _ = draw()
    columns = {"time": y[0], "event": y[1], "m": y[0] + 1, "group": np.arange(90) % 2}
    for weight, expected in ((2.0, 0), (2.5, 1)):
        batch = {**columns, "w": np.full(90, weight)}
        parts = [{k: v[rows] for k, v in batch.items()} for rows in (slice(50), slice(50, 90))]
        ev = sg.evaluate_stream(
            parts, predictions={"m": "m"}, y_train=train, metrics=["mae_hinge"], by=by,
            weight_column="w",
        )  # fmt: skip
        codes = [w.code for w in ev.warnings]
        assert codes.count("fractional-frequencies") == expected


# -- clusters --------------------------------------------------------------------------------------


def sandwich(contributions, labels):
    """The variance of a sum over independent clusters, written out."""
    total = 0.0
    names = sorted(set(labels))
    for name in names:
        u = sum(p for p, label in zip(contributions, labels, strict=True) if label == name)
        total += u * u
    return np.sqrt(total * len(names) / (len(names) - 1))


def contributions_of(monkeypatch):
    """Return what subjects contribute to each score, by metric and value, as it is computed."""
    from survgauge.evaluation import finish

    found, usual = {}, finish.interval_of

    def noted(metric, measured, *others):
        found[metric.name, float(measured.value)] = measured.contributions
        return usual(metric, measured, *others)

    monkeypatch.setattr(finish, "interval_of", noted)
    return found


def test_standard_errors_are_a_sandwich_by_cluster(monkeypatch):
    y, train, models, rng = draw()
    labels = rng.choice(["x", "y", "z", "u", "v", "w"], 90)
    options = {"y_train": train, "metrics": ANALYTIC, "threshold": 0.3}
    plain = sg.evaluate(models, y, **options)
    known = contributions_of(monkeypatch)
    ev = sg.evaluate(models, y, cluster=labels, **options)
    t = critical(0.95, 5)
    contributions = {}
    for before, score in zip(plain.scores, ev.scores, strict=True):
        own = known.get((score.metric.name, score.value))
        if own is None:
            continue
        contributions[score.model, score.metric.name] = own
        expected = sandwich(own, labels)
        assert score.value == before.value
        assert score.stderr == pytest.approx(expected), score.metric.name
        if score.interval == "log":
            assert np.log(score.high / score.value) == pytest.approx(t * expected / score.value)
    assert len(contributions) > 40
    compared = 0
    for row in ev.comparisons():
        keys = [(row[model], row["metric"]) for model in ("model_a", "model_b")]
        half = (row["high"] - row["low"]) / 2
        if row["withheld"]:
            assert np.isnan(half)
        elif all(key in contributions for key in keys):
            gap = contributions[keys[0]] - contributions[keys[1]]
            assert half == pytest.approx(t * sandwich(gap, labels), rel=1e-6)
            compared += 1
    assert compared > 12  # the others lean on a tail, so that nothing is said of them
    assert ev.support["clusters"] == 6
    assert "6 clusters" in str(ev)
    assert "few-clusters" in [w.code for w in ev.warnings]


def test_clusters_of_one_give_the_usual_errors_with_t_quantiles():
    y, train, models, _ = draw()
    options = {"y_train": train, "metrics": ANALYTIC, "threshold": 0.3}
    plain = sg.evaluate(models, y, **options)
    single = sg.evaluate(models, y, cluster=np.arange(90), **options)
    np.testing.assert_allclose(numbers(plain, "stderr"), numbers(single, "stderr"), rtol=1e-12)
    stretch = critical(0.95, 89) / critical(0.95)
    for a, b in zip(plain.baseline_comparisons(), single.baseline_comparisons(), strict=True):
        assert a["withheld"] == b["withheld"]
        width = stretch * (a["high"] - a["low"])
        assert b["high"] - b["low"] == pytest.approx(width, nan_ok=bool(a["withheld"]))
    assert "few-clusters" not in [w.code for w in single.warnings]


def test_frequencies_in_clusters_equal_repeated_rows():
    y, train, models, rng = draw(60)
    weight = rng.integers(0, 4, 60).astype(float)
    again = np.repeat(np.arange(60), weight.astype(int))
    labels = rng.integers(0, 12, 60)
    options = {"y_train": train, "metrics": ["mae_po", "crps"]}
    one = sg.evaluate(models, sg.Outcomes(*y, weight), cluster=labels, **options)
    repeated = {name: curves[again] for name, curves in models.items()}
    two = sg.evaluate(repeated, (y[0][again], y[1][again]), cluster=labels[again], **options)
    np.testing.assert_allclose(numbers(one), numbers(two), rtol=1e-9)


def test_the_bootstrap_draws_whole_clusters():
    """Subjects that are copies of each other are worth one: intervals must not shrink."""
    y, train, models, _ = draw(40, seed=5)
    again = np.tile(np.arange(40), 6)
    many = {name: curves[again] for name, curves in models.items()}
    y_many = y[0][again], y[1][again]
    options = {"y_train": train, "metrics": ["km_calibration"], "n_boot": 60}
    alone = numbers(sg.evaluate(models, y, **options), "stderr")
    shrunk = numbers(sg.evaluate(many, y_many, **options), "stderr")
    whole = numbers(sg.evaluate(many, y_many, cluster=again, **options), "stderr")
    assert (shrunk < 0.7 * alone).all()
    assert (whole > 0.7 * alone).all()


def test_groups_have_clusters_of_their_own(monkeypatch):
    y, train, models, rng = draw()
    by = np.where(np.arange(90) < 45, "first", "second")
    labels = rng.integers(0, 9, 90)
    options = {"y_train": train, "metrics": ["mae_po"]}
    known = contributions_of(monkeypatch)
    ev = sg.evaluate(models, y, by=by, cluster=labels, **options)
    for score in ev.scores:
        rows = by == score.group if score.group is not None else np.ones(90, dtype=bool)
        own = known[score.metric.name, score.value]
        assert score.stderr == pytest.approx(sandwich(own, labels[rows]))


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (np.zeros(90), "cluster must have at least two different labels"),
        (np.arange(5), "cluster must have one label per subject"),
        ([None] * 90, "cluster must have a label for every subject"),
    ],
)
def test_bad_clusters_are_refused(cluster, message):
    y, _, models, _ = draw()
    with pytest.raises(sg.InputError, match=message):
        sg.evaluate(models, y, metrics=["mae_po"], cluster=cluster)


@pytest.mark.parametrize("name", ["sample_weight", "cluster"])
def test_streams_have_neither(name):
    batch = {"time": [1.0, 2.0, 3.0], "event": [1, 1, 1], "m": [1.0, 2.0, 4.0]}
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        sg.evaluate_stream(
            [batch], predictions={"m": "m"}, y_train=([1, 2], [1, 1]), **{name: np.ones(3)}
        )


def test_the_command_line_takes_both(tmp_path, capsys):
    from survgauge.cli.main import main

    y, _, _, rng = draw(40)
    weight, site = rng.uniform(1, 3, 40), rng.integers(0, 12, 40)
    lines = [
        "time,event,w,site",
        *(f"{t},{int(e)},{w},s{s}" for t, e, w, s in zip(*y, weight, site, strict=True)),
    ]
    (tmp_path / "test.csv").write_text("\n".join(lines) + "\n")
    predicted = rng.uniform(2, 12, 40)
    (tmp_path / "m.csv").write_text("\n".join(["time", *map(str, predicted)]) + "\n")
    command = [
        "evaluate",
        "--test",
        str(tmp_path / "test.csv"),
        "--pred",
        f"m={tmp_path / 'm.csv'}",
    ]
    command += ["--metrics", "mae_uncensored", "--sample-weight", "w", "--cluster", "site"]
    assert main([*command, "--all"]) == 0
    printed = capsys.readouterr().out
    ev = sg.evaluate(
        {"m": predicted}, y, metrics=["mae_uncensored"], sample_weight=weight, cluster=site
    )
    assert " ".join(printed.split()).endswith(" ".join(ev.verdict.split()))
    assert " ".join(ev.verdict.split()).startswith(
        "The predicted times are off by 6.19 (m) on average."
    )
    assert "12 clusters" in printed or "clusters:" in printed


def test_the_default_metrics_work_with_both():
    y, train, models, rng = draw()
    ev = sg.evaluate(
        models, y, y_train=train, sample_weight=rng.uniform(1, 2, 90), cluster=np.arange(90) // 3
    )
    assert len(ev.rows()) == 2 * len(DEFAULT_METRICS)


def test_the_report_says_when_pseudo_observations_mislead():
    y, train, models, _ = draw()
    heavy = np.where(np.arange(90) % 3 == 0, y[1], False)
    options = {"y_train": train, "metrics": ["mae_po"], "tau": 20.0}
    told = " ".join(meaning(sg.evaluate(models, (y[0], heavy), **options).to_dict()))
    assert "favours predictions that are too early" in told
    light = " ".join(meaning(sg.evaluate(models, (y[0], np.ones(90)), **options).to_dict()))
    assert "too early" not in light


# -- clusters of distances -------------------------------------------------------------------------


def distances(models, y, **options):
    ev = sg.evaluate(models, y, metrics=["ici", "km_calibration"], time=6.0, **options)
    return numbers(ev, "value", "low", "high", "stderr")


def test_distances_of_copied_subjects_in_clusters_vary_as_the_subjects_do():
    y, _, models, _ = draw(200)
    rows = np.repeat(np.arange(200), 5)
    copies = {name: curves[rows] for name, curves in models.items()}
    y5 = y[0][rows], y[1][rows]
    once = distances(models, y)
    together = distances(copies, y5, cluster=rows)
    apart = distances(copies, y5)
    # ICI's factors for small samples count subjects: its lower limits near 0 move a little.
    np.testing.assert_allclose(together[::2], once[::2], rtol=0.06, atol=5e-3)
    np.testing.assert_allclose(together[1::2], once[1::2], rtol=0.06, atol=1e-4)
    assert (apart[:, 3] < 0.75 * together[:, 3]).all()


def test_distances_of_few_clusters_are_wider_and_stay_in_range():
    y, _, models, _ = draw(200)
    found = distances(models, y, cluster=np.arange(200) % 4)
    assert ((found[:, 1] >= 0) & (found[:, 1] <= found[:, 0])).all()
    assert ((found[:, 2] > found[:, 0]) & (found[:, 2] <= 1)).all()
    # A group in which there is one cluster only has nothing that varies.
    halves = np.arange(200) // 100
    everybody, one = np.split(distances(models, y, cluster=halves, by=halves), [len(found)])
    assert np.isfinite(everybody[:, 1:]).any()
    assert np.isfinite(one[:, 0]).all()
    assert np.isnan(one[:, 1:]).all()


def test_distances_heed_clusters_where_some_subjects_are_absent():
    y, _, models, rng = draw(200)
    weight = rng.integers(0, 3, 200).astype(float)
    clusters = np.arange(200) // 5
    rows = np.repeat(np.arange(200), weight.astype(int))
    copies = {name: curves[rows] for name, curves in models.items()}
    found = distances(models, sg.Outcomes(*y, weight), cluster=clusters)
    want = distances(copies, (y[0][rows], y[1][rows]), cluster=clusters[rows])
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-14)
