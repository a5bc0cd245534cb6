"""Tables of docs/explanation/inference.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from survgauge.metrics.registry import REGISTRY

from .plan import HAZARDS, SHARES, SIZES
from .results import COVERAGE, SIZE, Results, Row, cell, covers, pooled
from .studies import PAIRS
from .truth import estimates_truth, is_time_error

INDEPENDENT = tuple(f"{share}i" for share in SHARES)
#: One test in fifty would be too many where nothing differs after adjustment.
RARE = (0.0, 4.0)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def by_size(results: Results, kind: str, promise: tuple[float, float] | None, **wanted: Any) -> str:
    """Write shares at both sizes; one where they are not asked for."""
    sizes = SIZES if "n" not in wanted else (wanted.pop("n"),)
    found = [cell(results.select(kind, n=n, **wanted), promise) for n in sizes]
    return "–" if set(found) == {"–"} else " / ".join(found)


def _main_metrics(results: Results, **wanted: Any) -> list[str]:
    """Metrics with a true value, that of pairs, or a best value that all models have."""
    names = results.metrics(hazard="lognormal", **wanted)
    return [n for n in names if not is_surrogate(n) and not has_best(n)]


def has_best(name: str) -> bool:
    """Whether the right model is judged by a best value: calibration."""
    return REGISTRY[name].target is not None or is_distance(name)


def is_distance(name: str) -> bool:
    """Whether the best value is the least possible one."""
    return name.startswith(("ici", "km_calibration"))


def views(name: str) -> list[tuple[str, dict[str, Any], tuple[float, float]]]:
    """Return what is asked of a metric: title, models, and the coverage that is promised.

    Calibration asks for the best value of the right model. Where that is the least possible one,
    no upper limit is promised, and distances of the others are asked for too; but for the wrong
    model's mean curve, which is right.
    """
    title = _title(name)
    if not has_best(name):
        return [(title, {}, COVERAGE)]
    if not is_distance(name):
        return [(title, {"model": "right"}, COVERAGE)]
    others = ("late",) if name.startswith("km") else ("late", "wrong")
    found = [(f"{title} of the {model} model", {"model": model}, COVERAGE) for model in others]
    return [(title, {"model": "right"}, (COVERAGE[0], 100.0)), *found]


def coverage(results: Results, columns: dict[str, dict[str, Any]]) -> str:
    """Coverage by metric and column; the best value of calibration is asked of the right model."""
    lines = []
    own = [
        by_size(results, "interval", COVERAGE, metric="mae_within", variant="own horizon", **c)
        for c in columns.values()
    ]
    if set(own) != {"–"}:
        lines.append(["`mae_within`, own horizon", *own])
    names = dict.fromkeys(n for c in columns.values() for n in results.metrics(**c))
    for name in [n for n in names if not is_surrogate(n)]:
        for title, model, promise in views(name):
            cells = [
                by_size(results, "interval", promise, metric=name, **model, **c)
                for c in columns.values()
            ]
            lines.append([title, *cells])
    return table(["metric", *columns], lines)


def is_surrogate(name: str) -> bool:
    """Whether the table of all metrics is enough: no true or best value, or one shown already."""
    shown = estimates_truth(name) or has_best(name) or name in PAIRS
    return not shown or name.startswith(("mse_", "rmse_", "crps"))


def _title(name: str) -> str:
    return f"`{name}`" if name in REGISTRY else name


def independent(results: Results) -> str:
    """All hazards together, by share censored."""
    return coverage(results, {c: {"column": c} for c in INDEPENDENT})


def hazards(results: Results) -> str:
    """All shares together, by hazard."""
    return coverage(results, {h: {"hazard": h, "column": INDEPENDENT} for h in HAZARDS})


def dependent(results: Results) -> str:
    """Dependent censoring without features."""
    kinds = [f"{share}{kind}" for kind in "ms" for share in SHARES]
    return coverage(results, {c: {"column": c} for c in kinds})


def features(results: Results) -> str:
    """Dependent censoring, n = 800, without and with features."""
    columns = {}
    for c in ("50m", "75s"):
        columns[f"{c}, none"] = {"column": c, "n": 800}
        columns[f"{c}, features"] = {"column": c, "n": 800, "features": True}
    columns["two causes, 50s, none"] = {"causes": 2, "column": "50s", "n": 800}
    columns["two causes, 50s, features"] = {
        "causes": 2, "column": "50s", "n": 800, "features": True
    }  # fmt: skip
    return coverage(results, columns)


def bias(results: Results) -> str:
    """Mean bias of the values of all models under dependent censoring, n = 800, in %."""
    columns: dict[str, dict[str, Any]] = {}
    for c in ("50m", "50s", "75m", "75s"):
        columns[c] = {"column": c, "n": 800}
    for c in ("50m", "75s"):
        columns[f"{c}, features"] = {"column": c, "n": 800, "features": True}
    names = [n for n in _main_metrics(results) if estimates_truth(n)]
    lines = []
    for name in names:
        cells = [_bias(results.select(metric=name, **c)) for c in columns.values()]
        lines.append([_title(name), *cells])
    return table(["metric", *columns], lines)


def _bias(rows: list[Row]) -> str:
    shares = [
        100 * (row["value"] - row["truth"]) / abs(row["truth"])
        for row in rows
        if "value" in row and abs(row.get("truth", 0.0)) > 1e-6
    ]
    return f"{sum(shares) / len(shares):+.1f}" if shares else "–"


def special(results: Results) -> str:
    """Two causes, delayed entry, clusters, sampling weights."""
    columns: dict[str, dict[str, Any]] = {
        f"two causes, {c}": {"causes": 2, "column": c} for c in INDEPENDENT
    }
    columns["delayed entry"] = {"entry": True}
    columns |= {f"{k} clusters": {"clusters": k, "n": 800} for k in (12, 40)}
    columns["sampling weights"] = {"weights": True}
    return coverage(results, columns)


def ignored(results: Results) -> str:
    """What happens to the right model's intervals where clusters or weights are not told."""
    columns: dict[str, dict[str, Any]] = {
        f"{k} clusters": {"clusters": k, "n": 800} for k in (12, 40)
    }
    columns["sampling weights"] = {"weights": True}
    lines = []
    for name in dict.fromkeys(
        n for c in columns.values() for n in results.metrics(variant="ignored", **c)
    ):
        if name == "mae_po":
            continue
        cells = [
            " → ".join(
                by_size(results, "interval", COVERAGE, metric=name, model="right", variant=v, **c)
                for v in ("ignored", None)
            )
            for c in columns.values()
        ]
        lines.append([_title(name), *cells])
    return table(["metric", *columns], lines)


def tests(results: Results) -> str:
    """Sizes and powers of the tests of `evaluate` by hazard, all shares together."""
    columns: dict[str, dict[str, Any]] = {h: {"hazard": h, "column": INDEPENDENT} for h in HAZARDS}
    columns |= {"75m": {"column": "75m"}, "75s": {"column": "75s"}}
    columns |= {"two causes": {"causes": 2, "column": INDEPENDENT}, "entry": {"entry": True}}
    lines = []
    for model, words in (
        ("right", "size"),
        ("late", "power: 30 % late"),
        ("wrong", "power: wrong"),
    ):
        promise = SIZE if model == "right" else None
        for name in results.metrics("test", model=model):
            cells = [
                by_size(results, "test", promise, metric=name, model=model, **c)
                for c in columns.values()
            ]
            lines.append([_title(name), words, *cells])
    return table(["test", "share", *columns], lines)


def differences(results: Results) -> str:
    """Coverage of differences from the right model, and how often the sign is wrong."""
    lines = []
    for name in [n for n in (*_main_metrics(results), "ici") if REGISTRY[n].ranks_models]:
        pair = "wrong - right" if REGISTRY[name].family == "ranking" else "late - right"
        cells = [
            by_size(results, "interval", COVERAGE, metric=name, model=pair, column=c)
            for c in INDEPENDENT
        ]
        mistaken = pooled(
            results.select("test", metric=name, model="wrong sign", column=INDEPENDENT)
        )
        sizes = [
            by_size(results, "test", SIZE, metric=name, model="two equal", study="equals", hazard=h)
            for h in HAZARDS
        ]
        worst = "–" if mistaken is None else f"{mistaken[0]:.1f}"
        lines.append([_title(name), *cells, worst, *sizes])
    head = [f"{c}: coverage" for c in INDEPENDENT] + ["wrong sign"]
    return table(["metric", *head, *(f"{h}: size" for h in HAZARDS)], lines)


def verdict(results: Results) -> str:
    """How often the verdict names one of equally good models."""
    lines = []
    for model, promise in (("two equal", SIZE), ("five equal", RARE)):
        key = {"study": "equals", "model": model, "metric": "verdict: is best"}
        lines.append(
            [model, *(by_size(results, "test", promise, hazard=h, **key) for h in HAZARDS)]
        )
    return table(["models", *HAZARDS], lines)


def every(results: Results) -> str:
    """Every metric of one event: Weibull hazard, the target that its interval is about."""
    lines = []
    rows = results.select(hazard="weibull", column=INDEPENDENT)
    for name in dict.fromkeys(row["metric"] for row in rows if covers(row) is not None):
        what = "true value" if estimates_truth(name) else "limit"
        if REGISTRY[name].target is not None:
            what = f"{REGISTRY[name].target:g}"
        for title, model, promise in views(name):
            wanted = {"metric": name, "hazard": "weibull", **model}
            cells = [by_size(results, "interval", promise, column=c, **wanted) for c in INDEPENDENT]
            lines.append([title, what, *cells])
    return table(["metric", "covers its", *INDEPENDENT], lines)


def true_errors(results: Results) -> str:
    """How often intervals of time errors hold the error without censoring; Weibull."""
    lines = []
    names = [n for n in results.metrics(hazard="weibull", column="50i") if n.startswith("mae_")]
    for name in filter(is_time_error, names):
        cells = []
        for c in INDEPENDENT:
            found = [
                pooled(results.select(metric=name, hazard="weibull", column=c, n=n), "covers_truth")
                for n in SIZES
            ]
            cells.append(" / ".join("–" if f is None else f"{f[0]:.0f}" for f in found))
        lines.append([_title(name), *cells])
    return table(["metric", *INDEPENDENT], lines)


def functions(results: Results) -> str:
    """Tests and intervals that `evaluate` does not show."""
    lines = []
    key: dict[str, Any] = {"study": "functions", "hazard": "weibull"}
    for model, words in (("right", "size"), ("late", "power")):
        for name in results.metrics("test", model=model, **key):
            promise = SIZE if model == "right" else None
            cells = [
                by_size(results, "test", promise, metric=name, model=model, column=c, **key)
                for c in INDEPENDENT
            ]
            lines.append([name, words, *cells])
    cells = [
        by_size(results, "interval", COVERAGE, metric="coverage", column=c, **key)
        for c in INDEPENDENT
    ]
    lines.append(["`sg.coverage` of 90 % prediction intervals", "coverage", *cells])
    folds = results.select("test", study="folds", model="two equal")
    lines.append(
        ["`compare_folds` of `mae_po`, two equal models", "size", cell(folds, SIZE), "–", "–"]
    )
    return table(["function", "share", *INDEPENDENT], lines)


def _listed(
    results: Results, study: str, head: list[str], kind: str, promise: tuple[float, float],
    columns: list[str], words: Callable[[str], str], **wanted: Any,
) -> str:  # fmt: skip
    """Rows by metric and variant, columns by share censored."""
    rows = [r for r in results.rows if r["study"] == study and r["kind"] == kind]
    lines = []
    for name in dict.fromkeys(row["metric"] for row in rows):
        for variant in dict.fromkeys(row["variant"] for row in rows):
            cells = [
                cell([r for r in rows if (r["metric"], r["variant"], r["column"])
                      == (name, variant, c)], promise)
                for c in columns
            ]  # fmt: skip
            lines.append([_title(name), words(variant), *cells])
    return table([*head, *columns], lines)


def shift(results: Results) -> str:
    """Another censoring in training than in the test."""
    return _listed(
        results, "shift", ["metric", "G"], "interval", COVERAGE, ["50i", "75i"],
        lambda v: "default" if v == "default" else '`censoring="train"`',
    )  # fmt: skip


def selection(results: Results) -> str:
    """The best of ten models without information."""
    return _listed(
        results, "selection", ["metric", "p-value"], "test", RARE, list(INDEPENDENT),
        lambda v: "as it is" if v == "p_value" else "adjusted (`p_holm`)",
    )  # fmt: skip


def sharp(results: Results) -> str:
    """Concordance close to one."""
    lines = []
    for name in ("auc", "uno", "harrell", "antolini"):
        for n in (100, *SIZES):
            rows = results.select(metric=name, hazard="sharp", n=n, model="right")
            if rows:
                row = rows[0]
                value = row.get("truth", row.get("limit", 0.0))
                none = 100 * row.get("undefined", 0) / row["draws"]
                lines.append([
                    _title(name), f"{value:.3f}", str(n), cell(rows),
                    f"{row.get('outside', 0):.1f}", f"{row.get('zero', 0):.1f}", f"{none:.1f}",
                ])  # fmt: skip
    head = ["metric", "value", "n", "coverage", "limits outside [0, 1]", "zero width"]
    return table([*head, "no interval"], lines)
