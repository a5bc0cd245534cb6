"""Evaluations: single functions, streams in any chunks, groups, threads; small helpers too."""

from __future__ import annotations

import json
import math
import os
import warnings

import numpy as np
from streaming_data import differences

import survgauge as sg
from survgauge.metrics.registry import REGISTRY, metrics_of

from .data import draw
from .engine import UNDEFINED, close, demand, same
from .kinds import kind

#: Not in streams.
WHOLE_ONLY = ("antolini",)
#: Metrics that fit a model iteratively; a handful of subjects does not identify it.
FITTED = ("ici", "calibration_intercept", "calibration_slope", "royston_d")


def subjects(rng):
    """Columns of 1 to 40 subjects, a reference set and settings."""
    n = rng.choice((1, 2, 5, 8, 12, 20, 30, 40))
    decimals = rng.choice((0, 0, 1, 6))
    scale = rng.choice((1.0, 1.0, 1e-6, 1e6))

    def outcomes(size):
        t = [rng.expovariate(0.1) for _ in range(size)]
        c = [rng.expovariate(0.06) for _ in range(size)]
        time = [round(min(a, b), decimals) * scale for a, b in zip(t, c, strict=True)]
        return np.array(time), np.array([a <= b for a, b in zip(t, c, strict=True)])

    time, event = outcomes(n)
    y_train = outcomes(rng.choice((2, 10, 30)))
    last = max(time.max(), y_train[0].max(), scale)
    grid = np.linspace(0.0, 1.05 * last, rng.choice((2, 6, 12)))
    rate = np.array([rng.uniform(0.04, 0.3) for _ in range(n)]) / scale
    columns = {
        "time": time,
        "event": event,
        "a": np.exp(-grid * rate[:, None]),
        "lr": np.array([round(rng.uniform(0, 20), 1) * scale for _ in range(n)]),
        "risk": np.array([round(rng.gauss(0, 1), 1) for _ in range(n)]),
    }
    if rng.random() < 0.4:
        weight = [float(rng.randint(0, 3)) for _ in range(n)]
        columns["weight"] = np.array(weight if sum(weight) else [1.0] * n)
    return columns, y_train, grid


def predictions_of(columns, grid):
    return {
        "a": sg.SurvivalCurves(grid, columns["a"]),
        "lr": columns["lr"],
        "risk": sg.RiskScores(columns["risk"]),
    }


def outcomes_of(columns):
    return sg.Outcomes(columns["time"], columns["event"], columns.get("weight"))


def some_metrics(rng, n):
    names = [name for name in metrics_of() if n >= 20 or name not in FITTED]
    return sorted(rng.sample(names, rng.randint(3, 10)))


@kind(subjects)
def evaluations(case, rng, call):
    columns, y_train, grid = case
    y, n = outcomes_of(columns), len(columns["time"])
    names = some_metrics(rng, n)
    convention = sg.Convention(n_boot=12, threshold=rng.uniform(0.05, 0.9))
    options = {"y_train": y_train, "convention": convention}
    if rng.random() < 0.3:
        options["tau"] = float(y_train[0].max()) * rng.uniform(0.3, 1.0) or None
    predictions = predictions_of(columns, grid)
    ev = call(sg.evaluate, predictions, y, metrics=names, **options)
    json.dumps(ev.to_dict(), allow_nan=True)
    demand("it can be printed", str(ev))
    cells = {(row["model"], row["metric"]): row["value"] for row in ev.rows()}
    for row in ev.rows():
        if REGISTRY[row["metric"]].inference == "analytic":
            _single(call, ev, predictions[row["model"]], y, y_train, row, options.get("tau"))
    _streamed(call, rng, columns, y_train, grid, names, options)
    which = rng.randrange(3)
    if which == 0:
        _threads(call, predictions, y, names, options, ev)
    elif which == 1:
        _order(call, rng, columns, grid, names, options, cells)
    elif "weight" in columns and (columns["weight"] == 0).any():
        keep = columns["weight"] > 0
        present = {k: v[keep] for k, v in columns.items()}
        _same_cells(
            "absent subjects",
            call(
                sg.evaluate,
                predictions_of(present, grid),
                outcomes_of(present),
                metrics=names,
                **options,
            ),
            cells,
        )


def _single(call, ev, predicted, y, y_train, row, tau):
    """A cell is what the function of that name gives."""
    found, name, value = None, row["metric"], row["value"]
    kind_, _, method = name.partition("_")
    curves = isinstance(predicted, sg.SurvivalCurves)
    if name == "mae_within":
        if (row["until"] or 0) > 0:
            found = call(sg.mae, y, predicted, method="dr", y_train=y_train, tau=row["until"])
    elif kind_ in ("mae", "mse", "rmse") and method:
        found = call(getattr(sg, kind_), y, predicted, method=method, y_train=y_train, tau=tau)
    elif name == "harrell":
        risk = -predicted.median() if curves else getattr(predicted, "values", None)
        risk = -np.asarray(predicted) if risk is None else risk
        if np.isfinite(risk).all():
            found = call(sg.concordance_index, y, risk)
    elif name == "antolini":
        found = call(sg.concordance_td, y, predicted)
    elif name == "crps":
        found = call(sg.crps, y, predicted, tau=tau)
    elif name == "log_likelihood":
        found = call(sg.log_likelihood, y, predicted)
    elif name == "brier" and ev.support["horizon"] > 0 and math.isfinite(ev.support["time"]):
        time = min(ev.support["time"], ev.support["horizon"])
        found = call(sg.brier_score, y, predicted, [time], y_train=y_train)
        found = found if found is UNDEFINED else found.values[0]
    if found is None:
        return
    if found is UNDEFINED:
        demand(f"{name} is undefined by itself, so NaN in evaluate", math.isnan(value))
    else:
        same(f"{name} by itself and in evaluate", value, found, 1e-9, 1e-12)


def _streamed(call, rng, columns, y_train, grid, names, options):
    """Any chunks give what the whole gives."""
    names = [name for name in names if name not in (*WHOLE_ONLY, *FITTED)]
    n = len(columns["time"])
    if not names or n < 2:
        return
    extra = {"weight_column": "weight"} if "weight" in columns else {}
    cuts = sorted(rng.sample(range(1, n), min(n - 1, rng.randint(0, 4))))
    bounds = list(zip([0, *cuts], [*cuts, n], strict=True))
    batches = [{k: v[a:b] for k, v in columns.items()} for a, b in bounds]
    layout = {"a": sg.CurveColumns("a", grid), "lr": "lr", "risk": sg.RiskColumn("risk")}
    stream = call(
        sg.evaluate_stream, batches, predictions=layout, metrics=names, **extra, **options
    )
    whole = call(
        sg.evaluate, predictions_of(columns, grid), outcomes_of(columns), metrics=names, **options
    )
    values = [[(r["model"], r["metric"]) for r in x.rows()] for x in (whole, stream)]
    demand(f"the same cells: {values}", values[0] == values[1])
    for one, other in zip(whole.rows(), stream.rows(), strict=True):
        for key in ("value", "skill"):
            same(
                f"{one['metric']} of {one['model']}: {key} of the stream",
                other[key],
                one[key],
                1e-8,
                1e-9,
            )
    if "weight" in columns and not columns["weight"].all():
        return  # the counts of a stream leave absent subjects out
    texts = [json.loads(json.dumps(x.to_dict()["support"])) for x in (whole, stream)]
    left = differences(*texts, rel=1e-8, near=1e-9)
    demand(f"support of the stream: {left[:2]}", not left)


def _threads(call, predictions, y, names, options, ev):
    """The number of threads changes no bit."""
    before = os.environ.get("SURVGAUGE_THREADS")
    os.environ["SURVGAUGE_THREADS"] = "1" if before != "1" else "2"
    try:
        again = call(sg.evaluate, predictions, y, metrics=names, **options)
    finally:
        if before is None:
            del os.environ["SURVGAUGE_THREADS"]
        else:
            os.environ["SURVGAUGE_THREADS"] = before
    texts = [json.dumps(x.to_dict() | {"provenance": None}) for x in (ev, again)]  # without date
    demand("threads change nothing", texts[0] == texts[1])


def _order(call, rng, columns, grid, names, options, cells):
    order = rng.sample(range(len(columns["time"])), len(columns["time"]))
    turned = {k: v[order] for k, v in columns.items()}
    found = call(
        sg.evaluate, predictions_of(turned, grid), outcomes_of(turned), metrics=names, **options
    )
    _same_cells("order of the subjects", found, cells)


def _same_cells(what, ev, cells):
    for row in ev.rows():
        name = row["metric"]
        rel = 1e-4 if name in FITTED else 1e-8
        value = cells[row["model"], name]
        demand(
            f"{what}: {name} of {row['model']} is {row['value']}, was {value}",
            close(row["value"], value, rel, 1e-9),
        )


@kind(subjects)
def groups(case, rng, call):
    """Groups are evaluated by themselves; those of a stream are the same."""
    columns, y_train, grid = case
    n = len(columns["time"])
    columns = {k: v for k, v in columns.items() if k != "weight"}
    columns["site"] = np.array([rng.choice(("x", "y", "z")) for _ in range(n)])
    names = [m for m in some_metrics(rng, n) if m not in (*FITTED, *WHOLE_ONLY)]
    if not names:
        return
    convention = sg.Convention(n_boot=12, threshold=0.3)
    options = {"y_train": y_train, "metrics": names, "convention": convention}
    ev = call(
        sg.evaluate,
        predictions_of(columns, grid),
        outcomes_of(columns),
        by=columns["site"],
        **options,
    )
    layout = {"a": sg.CurveColumns("a", grid), "lr": "lr", "risk": sg.RiskColumn("risk")}
    cut = rng.randint(0, n)
    batches = [{k: v[a:b] for k, v in columns.items()} for a, b in ((0, cut), (cut, n)) if a < b]
    stream = call(sg.evaluate_stream, batches, predictions=layout, by="site", **options)
    for one, other in zip(ev.rows(), stream.rows(), strict=True):
        demand("the same groups", one["group"] == other["group"])
        # Metrics without a unit add up terms of about 1, which may cancel but for their rounding.
        size = 1e-9 if one["unit"] else 1e-3
        same(f"{one['metric']} of group {one['group']}", other["value"], one["value"], 1e-8, size)
    for row in ev.rows():
        name = row["metric"]
        if name in ("harrell", "mae_uncensored", "mae_hinge", "crps"):
            group = row["group"]
            rows = columns["site"] == group if group is not None else np.ones(n, dtype=bool)
            part = {k: v[rows] for k, v in columns.items()}
            predicted = predictions_of(part, grid)[row["model"]]
            alone = call(sg.evaluate, predicted, outcomes_of(part), y_train=y_train, metrics=[name])
            same(f"{name} of a group alone", alone.rows()[0]["value"], row["value"], 1e-9, 1e-12)


@kind(draw)
def small_helpers(case, rng, call):
    """Holm, comparisons of folds, semi-synthetic censoring, scorers."""
    p = [rng.choice((rng.random(), 0.05, 0.0, 1.0)) for _ in range(rng.randint(1, 6))]
    found, running = call(sg.holm, p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        running = max(running, min(1.0, p[i] * (len(p) - rank)))
        same("Holm", found[i], running, 1e-12)
    folds = rng.randint(2, 6)
    a, b = ([rng.gauss(0, 1) for _ in range(folds)] for _ in range(2))
    compared = call(sg.compare_folds, a, b, n_train=80, n_test=20)
    gaps = [x - y for x, y in zip(a, b, strict=True)]
    mean = math.fsum(gaps) / folds
    spread = math.fsum((g - mean) ** 2 for g in gaps) / (folds - 1)
    same("mean of the folds", compared.difference, mean, 1e-9, 1.0)
    same("corrected spread", compared.stderr, math.sqrt(spread * (1 / folds + 0.25)), 1e-9, 1e-9)
    if not any(t > 0 for t in case.time):
        return

    class Model:
        def predict_curves(self, X):
            return case.curves()

    name = rng.choice(("harrell", "crps", "mae_hinge", "mae_uncensored"))
    if name == "crps" and case.tail == "nan":
        return
    with warnings.catch_warnings():  # scorers tell a search about its folds
        warnings.filterwarnings("ignore", "(?s).* is undefined on this fold")
        warnings.filterwarnings("ignore", r"\[c-below-half\]")
        scorer = sg.scorer(name, y_train=case.y_train())
        score = call(scorer, Model(), np.zeros((len(case), 1)), case.y())
    demand("a scorer gives a number", isinstance(float(score), float))
