"""G of test subjects with sampling weights, and subjects of sampling weight 0, who are absent."""

import numpy as np
import pytest

import survgauge as sg
from survgauge.metrics.ranking.auc import cumulative_dynamic_auc_details
from survgauge.metrics.registry import metrics_of

GRID = np.linspace(0, 60, 31)
TIMES = [2.0, 5.0, 9.0]
WEIGHTED = [name for name, metric in metrics_of().items() if "weights" in metric.supports]


def draw(n=60, seed=0):
    """Times with ties, and curves of a model that knows something."""
    rng = np.random.default_rng(seed)
    scale = rng.uniform(4, 16, n)
    t, c = np.ceil(rng.exponential(scale) * 2) / 2, np.ceil(rng.exponential(14, n) * 2) / 2
    curves = np.exp(-GRID / scale[:, None])
    return np.minimum(t, c), t <= c, curves


def details(time, event, curves, sample_weight=None, y_train=None, weight=None):
    """Details of everything that weights by 1/G."""
    y, model = sg.Outcomes(time, event, weight), sg.SurvivalCurves(GRID, curves)
    given = {"sample_weight": sample_weight, "y_train": y_train}
    rank = -model.median()
    return {
        "brier": sg.brier_score(y, model, TIMES, **given).details,
        "ibs": sg.integrated_brier_score(y, model, TIMES, **given),
        "ibll": sg.integrated_binomial_log_likelihood(y, model, TIMES, **given),
        "uno": sg.concordance_index(y, rank, method="uno", tau=10, **given),
        "td": sg.concordance_td(y, model, method="ipcw", tau=10, **given),
        "auc": cumulative_dynamic_auc_details(y, model, [5.0], **given),
        "ipcw_d": sg.time_error(y, model, method="ipcw_d", **given),
        "ipcw_d tau": sg.time_error(y, model, method="ipcw_d", tau=8.0, **given),
    }


@pytest.mark.parametrize("trained", [False, True])
def test_whole_sampling_weights_give_the_values_of_repeated_rows(trained):
    time, event, curves = draw()
    train = (np.arange(1.0, 41.0) / 2, np.arange(40) % 3 > 0) if trained else None
    weight = np.arange(60) % 4
    rows = np.repeat(np.arange(60), weight)
    want = details(time[rows], event[rows], curves[rows], y_train=train)
    for name, found in details(time, event, curves, weight, train).items():
        assert found.value == pytest.approx(want[name].value, rel=1e-12), name


def test_contributions_are_derivatives_by_the_sampling_weights():
    """contributions_i = w_i dvalue/dw_i, with G estimated anew from the weights that were moved."""
    time, event, curves = draw(30, seed=3)
    weight = 0.5 + np.arange(30) % 4 / 2
    found = details(time, event, curves, weight)
    moves = {name: np.empty(30) for name in found}
    for i in range(30):
        up, down = weight.copy(), weight.copy()
        up[i], down[i] = weight[i] * (1 + 1e-5), weight[i] * (1 - 1e-5)
        both = details(time, event, curves, up), details(time, event, curves, down)
        for name in found:
            moves[name][i] = (both[0][name].value - both[1][name].value) / 2e-5
    for name, one in found.items():
        scale = np.abs(moves[name]).max()
        np.testing.assert_allclose(one.contributions, moves[name], atol=1e-7 * scale, err_msg=name)
        assert one.convention["stderr"] == "G estimated in sample"


def test_a_case_cohort_gives_nearly_the_full_cohort():
    """All events and a tenth of the censored: unweighted, G would say that hardly any leave."""
    time, event, curves = draw(4000, seed=5)
    rng = np.random.default_rng(6)
    taken = event | (rng.random(4000) < 0.25)
    weight = np.where(event, 1.0, 4.0)[taken]
    whole = details(time, event, curves)
    part = details(time[taken], event[taken], curves[taken], weight)
    for name, want in whole.items():
        assert abs(part[name].value - want.value) < 3 * part[name].stderr, name
    models = {"m": sg.SurvivalCurves(GRID, curves[taken])}
    ev = sg.evaluate(
        models, (time[taken], event[taken]), sample_weight=weight, metrics=["brier", "mae_ipcw_d"],
        time=5.0,
    )  # fmt: skip
    full = sg.evaluate(
        {"m": sg.SurvivalCurves(GRID, curves)}, (time, event), metrics=["brier", "mae_ipcw_d"],
        time=5.0,
    )  # fmt: skip
    for one, two in zip(ev.rows(), full.rows(), strict=True):
        assert abs(one["value"] - two["value"]) < 3 * one["stderr"], one["metric"]
    assert ev.support["metrics"]["m"]["brier"]["mean_weight"] == pytest.approx(1, abs=1e-9)


def with_absent(time, event, curves):
    """The same subjects with three more, whose outcomes and predictions stand out."""
    time = np.concatenate((time, [500.0, 400.0, 0.5]))
    event = np.concatenate((event, [True, False, False]))
    odd = np.stack((np.ones(31), np.r_[1.0, np.full(30, 1e-9)], np.full(31, 0.5)))
    return time, event, np.concatenate((curves, odd))


def same(found, want):
    assert found.keys() == want.keys()
    for key, value in want.items():
        if isinstance(value, float):
            assert found[key] == pytest.approx(value, rel=1e-12, nan_ok=True), key
        else:
            assert found[key] == value, key


def test_single_functions_take_a_sampling_weight_of_zero_for_absent():
    time, event, curves = draw()
    weight = 0.5 + np.arange(60) % 3
    zero = np.concatenate((weight, np.zeros(3)))
    more = with_absent(time, event, curves)
    want, found = details(time, event, curves, weight), details(*more, zero)
    y, model = sg.Outcomes(time, event), sg.SurvivalCurves(GRID, curves)
    more_y, more_model = sg.Outcomes(*more[:2]), sg.SurvivalCurves(GRID, more[2])
    for name, function in (("crps", sg.crps), ("log", sg.log_likelihood)):
        want[name] = function(y, model, sample_weight=weight)
        found[name] = function(more_y, more_model, sample_weight=zero)
    options = {"method": "harrell"}
    want["harrell"] = sg.concordance_index(y, -model.median(), sample_weight=weight, **options)
    found["harrell"] = sg.concordance_index(
        more_y, -more_model.median(), sample_weight=zero, **options
    )
    train = (np.arange(1.0, 41.0) / 2, np.arange(40) % 3 > 0)
    for method in ("po", "margin", "hinge"):
        want[method] = sg.time_error(y, model, method=method, y_train=train, sample_weight=weight)
        found[method] = sg.time_error(
            more_y, more_model, method=method, y_train=train, sample_weight=zero
        )
    for name, one in want.items():
        assert found[name].value == pytest.approx(one.value, rel=1e-12), name
        assert found[name].stderr == pytest.approx(one.stderr, rel=1e-10), name
        same(found[name].support, one.support)


@pytest.mark.parametrize("how", ["sampling", "frequency"])
@pytest.mark.parametrize("trained", [False, True])
def test_evaluate_takes_a_weight_of_zero_for_absent(how, trained):
    time, event, curves = draw(90)
    train = (np.arange(1.0, 201.0) / 5, np.arange(200) % 3 > 0) if trained else None
    hospital = np.arange(90) % 12
    weight = 0.5 + np.arange(90) % 3
    metrics = [name for name in WEIGHTED if trained or not name.endswith("_po")]
    options = {"y_train": train, "metrics": metrics, "threshold": 0.3}
    more_time, more_event, more_curves = with_absent(time, event, curves)
    zero, clusters = np.concatenate((weight, np.zeros(3))), np.append(hospital, [77, 78, 79])
    if how == "sampling":
        want = {"sample_weight": weight}
        more, y = {"sample_weight": zero}, (more_time, more_event)
    else:
        want, more = {}, {}
        y = sg.Outcomes(more_time, more_event, np.r_[np.ones(90), np.zeros(3)])
    for cluster in (False, True):
        if cluster:
            want["cluster"], more["cluster"] = hospital, clusters
        one = sg.evaluate({"m": sg.SurvivalCurves(GRID, curves)}, (time, event), **options, **want)
        two = sg.evaluate({"m": sg.SurvivalCurves(GRID, more_curves)}, y, **options, **more)
        for a, b in zip(one.rows(), two.rows(), strict=True):
            same(b, a)
        assert [str(w) for w in two.warnings] == [str(w) for w in one.warnings]
        cells = one.support.pop("metrics"), two.support.pop("metrics")
        same(two.support, one.support)
        for name, cell in cells[0]["m"].items():
            same(cells[1]["m"][name], cell)


def streamed(time, event, curves, weight=None, by=None, **options):
    """Evaluate the same in a stream of two batches."""
    columns = {"time": time, "event": event}
    columns |= {f"s{k}": curves[:, k] for k in range(GRID.size)}
    if weight is not None:
        columns["w"], options["weight_column"] = weight, "w"
    if by is not None:
        columns["group"], options["by"] = by, "group"
    half = time.size // 2
    parts = [{k: v[rows] for k, v in columns.items()} for rows in (slice(half), slice(half, None))]
    model = sg.CurveColumns([f"s{k}" for k in range(GRID.size)], GRID)
    return sg.evaluate_stream(parts, predictions={"m": model}, **options)


@pytest.mark.parametrize("by", [False, True])
def test_streams_do_not_count_subjects_of_weight_zero(by):
    time, event, curves = draw(90)
    train = (np.arange(1.0, 201.0) / 5, np.arange(200) % 3 > 0)
    more = with_absent(time, event, curves)
    group = np.arange(93) % 2
    options = {"y_train": train, "metrics": ["mae_po", "brier", "crps", "harrell"]}
    weight = np.r_[np.ones(90), np.zeros(3)]
    found = streamed(*more, weight, group if by else None, **options)
    y = sg.Outcomes(*more[:2], weight)
    model = {"m": sg.SurvivalCurves(GRID, more[2])}
    want = sg.evaluate(model, y, by=group if by else None, **options)
    plain = sg.evaluate(
        {"m": sg.SurvivalCurves(GRID, curves)}, (time, event), by=group[:90] if by else None,
        **options,
    )  # fmt: skip
    for one in (found, want):
        assert [str(w) for w in one.warnings] == [str(w) for w in plain.warnings]
        support, expected = dict(one.support), dict(plain.support)
        cells, others = support.pop("metrics")["m"], expected.pop("metrics")["m"]
        for one_of_them in (support, expected):
            # An array of labels has no name, and a stream does not ask for features.
            for key in ("tail_share", "by", "assumes"):
                one_of_them.pop(key, None)
        same(support, expected)
        for key in ("subjects", "events"):
            if by:
                for name in (0, 1):
                    a, b = cells["groups"][name], others["groups"][name]
                    assert a["mae_po"][key] == b["mae_po"][key]
            else:
                assert cells["mae_po"][key] == others["mae_po"][key]


def test_infinite_losses_are_numbered_in_the_whole_test_set():
    time, event, curves = draw(40)
    curves[[3, 10, 21]] = 0.5  # flat, and no density at an event
    event[[3, 10, 21]] = True
    group = np.arange(40) % 2
    want = ["rows 4 and 22 (counting from 1)", "row 11 (counting from 1)"]
    options = {"metrics": ["log_likelihood"], "y_train": (time, event)}
    ev = sg.evaluate({"m": sg.SurvivalCurves(GRID, curves)}, (time, event), by=group, **options)
    stream = streamed(time, event, curves, by=group, **options)
    for found in (ev, stream):
        cells = found.support["metrics"]["m"]["groups"]
        assert [cells[k]["log_likelihood"]["infinite_for"] for k in (1, 0)] == want
