"""Write docs/inference.md from docs/results/coverage.json: tables, and the words around them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from survgauge.metrics.registry import metrics_of

from .results import INDEPENDENT, KINDS, SIZES, Results, Row, cell, error_of, marked
from .targets import TO_HORIZON, estimates_truth
from .words import findings

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "results" / "coverage.json"
PAGE = ROOT / "docs" / "inference.md"
TEMPLATE = Path(__file__).with_name("template.md")


def render(data: dict[str, Any]) -> str:
    """Return the page."""
    results = Results(data["rows"])
    about = data["about"]
    parts = {
        "findings": "\n".join(f"- {sentence}" for sentence in findings(results)),
        "intervals": _intervals(results),
        "widths": _widths(results),
        "true_errors": _true_errors(results),
        "small": _small(results),
        "differences": _differences(results),
        "selection": _selection(results),
        "tests": _tests(results),
        "singles": _singles(results),
        "folds": _folds(results),
        "distances": _distances(results),
        "clusters": _variants(results, "clusters"),
        "weights": _variants(results, "weights"),
        "shift": _shift(results),
        "edge": _edge(results),
        "error": f"{error_of(about['reps']):.1f}",
        "less": f"{error_of(about['reps'] / 3):.1f}",
        "kinds": ", ".join(KINDS),
        **{name: str(value) for name, value in about.items()},
        "later": _later(about.get("later", {})),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace(f"<<{name}>>", value)
    return text


def _later(metrics: dict[str, dict[str, Any]]) -> str:
    """Say which metrics were simulated after the others, and how to repeat it."""
    runs: dict[tuple[Any, ...], list[str]] = {}
    for name, about in metrics.items():
        runs.setdefault(tuple(about.items()), []).append(name)
    lines = [
        f"- {', '.join(f'`{name}`' for name in names)}: {about['date']}, {about['reps']} "
        f"replications, seed {about['seed']} (code {about['code']})"
        for names, about in ((names, dict(key)) for key, names in runs.items())
    ]
    if not lines:
        return ""
    how = "Simulated later, by `python -m simulation --metrics NAME ... --reps REPS --seed SEED`:"
    return "\n".join([how, "", *lines, "", ""])


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _by_size(results: Results, covers: str, **key: Any) -> str:
    """Coverage at all sizes of a setting."""
    shown = []
    for n in SIZES:
        row = results.get(n=n, **key)
        shown.append("-" if row is None else cell(row.get(covers)))
    return "–" if set(shown) == {"-"} else " / ".join(shown)


def target_of(metric: str) -> str:
    """Return which column holds what a metric's interval promises."""
    return "truth" if estimates_truth(metric) else "limit"


def study_of(results: Results, metric: str) -> str:
    """Return the study with most replications of a metric."""
    return "core" if metric in results.metrics("core") else "more"


def _intervals(results: Results) -> str:
    lines = []
    for metric in results.metrics("more"):
        key = {"study": study_of(results, metric), "train": 1000, "model": "twin a"}
        target = target_of(metric)
        cells = [
            _by_size(results, f"covers_{target}", censoring=c, metric=metric, **key) for c in KINDS
        ]
        what = "value without censoring" if target == "truth" else "limit"
        lines.append([f"`{metric}`", what, *cells])
    for metric in results.metrics("distances"):
        key = {"study": "distances", "train": 1000, "model": "twin a", "metric": metric}
        cells = [_by_size(results, "covers_limit", censoring=c, **key) for c in KINDS]
        lines.append([f"`{metric}`", "limit", *cells])
    return table(["metric", "covers its", *KINDS], lines)


def _share(part: float | None, of: float | None) -> str:
    return "-" if part is None or not of else f"{100 * part / abs(of):.0f}"


def _widths(results: Results) -> str:
    lines = []
    for metric in results.metrics("more"):
        target = target_of(metric)
        cells = []
        for kind in KINDS:
            row = results.get(
                study=study_of(results, metric), censoring=kind, n=300, train=1000, metric=metric,
                model="twin a",
            )  # fmt: skip
            bias = None if row is None else row.get(f"bias_{target}")
            wide = "-" if row is None else _share(row.get("width"), row.get("value"))
            cells.append(f"{wide} ({'-' if bias is None else f'{bias:+.1f}'})")
        lines.append([f"`{metric}`", *cells])
    return table(["metric", *KINDS], lines)


def _true_errors(results: Results) -> str:
    lines = []
    for study, words in (("core", "with a horizon"), ("free", "without")):
        for metric in results.metrics("core"):
            if metric.startswith("mae_"):
                key = {"study": study, "metric": metric, "train": 1000, "model": "twin a"}
                cells = [_by_size(results, "covers_truth", censoring=c, **key) for c in KINDS]
                # Where none is given, this one stops at the horizon that the data support.
                own = metric in TO_HORIZON and study == "free"
                lines.append([f"`{metric}`", "that the data support" if own else words, *cells])
    return table(["metric", "horizon", *KINDS], lines)


def _small(results: Results) -> str:
    lines = []
    for metric in results.metrics("core"):
        target = f"covers_{target_of(metric)}"
        cells = []
        for kind in INDEPENDENT:
            found = [
                results.get(
                    study="core", censoring=kind, n=1000, train=train, metric=metric,
                    model="twin a",
                )
                for train in (200, 1000)
            ]  # fmt: skip
            cells.append(" / ".join("-" if r is None else cell(r.get(target)) for r in found))
        lines.append([f"`{metric}`", *cells])
    return table(["metric", *INDEPENDENT], lines)


def _differences(results: Results) -> str:
    lines = []
    for metric in results.metrics("more"):
        target = target_of(metric)
        cells = []
        for kind in INDEPENDENT:
            place = {"censoring": kind, "metric": metric, "train": 1000}
            size = [
                results.get(
                    kind="test", study="core", n=n, model="twin a - twin b", **place
                )
                for n in SIZES
            ]  # fmt: skip
            other = _by_size(
                results, f"covers_{target}", study="more", model="twin a - true", **place
            )
            known = [marked_size(row) for row in size]
            cells += [" / ".join(known) if set(known) != {"-"} else "–", other]
        lines.append([f"`{metric}`", *cells])
    head = [f"{kind}: {what}" for kind in INDEPENDENT for what in ("size", "coverage")]
    return table(["metric", *head], lines)


def marked_size(row: Row | None) -> str:
    """Share of rejections; marked outside 3 to 7 %."""
    return "-" if row is None else marked(row.get("rejected"), 3.0, 7.0)


def _selection(results: Results) -> str:
    lines = []
    rows = [row for row in results.rows if row["study"] == "selection"]
    for metric in dict.fromkeys(row["metric"] for row in rows):
        for variant in dict.fromkeys(row["variant"] for row in rows):
            cells = []
            for kind in INDEPENDENT:
                row = results.get(
                    kind="test", study="selection", censoring=kind, metric=metric, variant=variant
                )
                cells.append("-" if row is None else marked(row.get("rejected"), 0.0, 4.0))
            words = "as it is" if variant == "p_value" else f"adjusted (`{variant}`)"
            lines.append([f"`{metric}`", words, *cells])
    return table(["metric", "p-value", *INDEPENDENT], lines)


def _tests(results: Results) -> str:
    lines = []
    rows = [row for row in results.rows if row["study"] == "tests" and row["kind"] == "test"]
    for model, words in (("true", "size"), ("late", "power")):
        for metric in dict.fromkeys(row["metric"] for row in rows if row["model"] == model):
            cells = []
            for kind in KINDS:
                found = [
                    results.get(
                        kind="test", study="tests", censoring=kind, n=n, metric=metric, model=model
                    )
                    for n in SIZES
                ]
                shown = [_shown(row) if model == "true" else _power(row) for row in found]
                cells.append(" / ".join(shown))
            lines.append([metric, words, *cells])
    return table(["test", "share of", *KINDS], lines)


def _shown(row: Row | None) -> str:
    """Size of a test; under dependent censoring, finding that is the power of `censoring_test`."""
    finds = row is not None and row["metric"] == "censoring_test" and row["censoring"][-1] == "d"
    return _power(row) if finds else marked_size(row)


def _folds(results: Results) -> str:
    rows = [row for row in results.rows if row["study"] == "folds"]
    return table(
        ["test", *(row["censoring"] for row in rows)],
        [["`compare_folds` of `mae_po`", *(marked_size(row) for row in rows)]],
    )


def _power(row: Row | None) -> str:
    return "-" if row is None or row.get("rejected") is None else f"{row['rejected']:.0f}"


def _singles(results: Results) -> str:
    lines = []
    targets = [name for name, metric in metrics_of().items() if metric.target is not None]
    for metric in (*targets, "coverage"):
        key = {"study": "tests", "metric": metric, "model": "true"}
        cells = [_by_size(results, "covers_limit", censoring=c, **key) for c in KINDS]
        lines.append([f"`{metric}`", *cells])
    return table(["function", *KINDS], lines)


def _distances(results: Results) -> str:
    lines = []
    for metric in results.metrics("distances"):
        for model, words in (("twin a", "a good model"), ("true", "the truth (limit 0)")):
            key = {"study": "distances", "metric": metric, "model": model, "train": 1000}
            cells = [_by_size(results, "covers_limit", censoring=c, **key) for c in INDEPENDENT]
            lines.append([f"`{metric}`", words, *cells])
    return table(["metric", "model", *INDEPENDENT], lines)


def _variants(results: Results, study: str) -> str:
    rows = [row for row in results.rows if row["study"] == study]
    kinds = list(dict.fromkeys(row["censoring"] for row in rows))
    lines = []
    for metric in dict.fromkeys(row["metric"] for row in rows):
        for variant in dict.fromkeys(row["variant"] for row in rows):
            target = f"covers_{target_of(metric)}"
            found = [
                results.get(study=study, censoring=kind, metric=metric, variant=variant)
                for kind in kinds
            ]
            lines.append(
                [f"`{metric}`", variant, *(cell(row.get(target)) if row else "-" for row in found)]
            )
    return table(["metric", "intervals", *kinds], lines)


def _shift(results: Results) -> str:
    rows = [row for row in results.rows if row["study"] == "shift"]
    lines = []
    for metric in dict.fromkeys(row["metric"] for row in rows):
        for variant in dict.fromkeys(row["variant"] for row in rows):
            cells = []
            for kind in ("60i", "80i"):
                found = [
                    results.get(study="shift", censoring=kind, n=n, metric=metric, variant=variant)
                    for n in (300, 1000)
                ]
                shown = " / ".join(cell(r.get("covers_truth")) if r else "-" for r in found)
                bias = found[1].get("bias_truth") if found[1] else None
                cells += [shown, "-" if bias is None else f"{bias:+.1f}"]
            words = "default" if variant == "default" else '`censoring="train"`'
            lines.append([f"`{metric}`", words, *cells])
    head = ["metric", "G", "60i: coverage", "60i: bias", "80i: coverage", "80i: bias"]
    return table(head, lines)


def _edge(results: Results) -> str:
    rows = [row for row in results.rows if row["study"] == "edge"]
    lines = []
    for metric in dict.fromkeys(row["metric"] for row in rows):
        for row in sorted((r for r in rows if r["metric"] == metric), key=lambda r: r["n"]):
            cells = [cell(row.get("covers_truth")), *(
                "-" if row.get(name) is None else f"{row[name]:.1f}" for name in ("outside", "zero")
            )]  # fmt: skip
            value = f"{row['truth']:.3f}" if "truth" in row else "-"
            share = f"{100 * row['undefined'] / row['reps']:.1f}"
            lines.append([f"`{metric}`", value, str(row["n"]), *cells, share])
    head = [
        "metric",
        "value",
        "n",
        "coverage",
        "limits outside [0, 1]",
        "zero width",
        "no interval",
    ]
    return table(head, lines)
