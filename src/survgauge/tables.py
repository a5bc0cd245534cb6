"""Tables as plain text, for terminals and logs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .evaluation import Evaluation


def number(value: float | None, digits: int = 4) -> str:
    """Four significant digits, without exponents where people would not write one.

    >>> number(1234.5678), number(0.012345), number(float("nan"))
    ('1235', '0.01235', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value) or value == 0:
        return str(value) if value else "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 9 or size < -5:
        return f"{value:.3g}"
    return f"{value:.{max(0, digits - 1 - size)}f}"


def columns(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Align columns; the first `left` to the left, the others to the right.

    >>> print(columns(["a", "b"], [["x", "10"], ["yy", "7"]]))
    a    b
    --  --
    x   10
    yy   7
    """
    # A name with a line break must not break the table.
    table = [[" ".join(cell.split()) or cell for cell in row] for row in [header, *rows]]
    header, rows = table[0], table[1:]
    width = [max(len(row[k]) for row in table) for k in range(len(header))]

    def line(row: list[str]) -> str:
        cells = [
            cell.ljust(width[k]) if k < left else cell.rjust(width[k]) for k, cell in enumerate(row)
        ]
        return "  ".join(cells).rstrip()

    rule = ["-" * w for w in width]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


def p_text(p: float) -> str:
    """p-values as people print them."""
    return "-" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _relation(p: float) -> str:
    text = p_text(p)
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


def evaluation_text(result: Evaluation) -> str:
    """Render the verdict, values with intervals, comparisons, support and warnings."""
    parts = [_verdict(result), _values(result)]
    if len(result.models) > 1 and result.confidence is not None:
        parts.append(_comparisons(result))
    parts += [_support(result), _warnings(result)]
    return "\n\n".join(part for part in parts if part)


def _verdict(result: Evaluation) -> str:
    """Say in a sentence how far off the best model is, and whether it beats the others."""
    best = _best_models(result).get((None, "mae_po"))
    if best is None or result.confidence is None:
        return ""
    row = next(r for r in result.rows() if (r["model"], r["metric"]) == (best, "mae_po"))
    level = f"{result.confidence:.0%} interval"
    lines = [
        f"{best} is off by {number(row['value'])} on average "
        f"({level} {number(row['low'])} to {number(row['high'])}; mae_po)."
    ]
    for pair in result.comparisons():
        if pair["metric"] != "mae_po" or best not in (pair["model_a"], pair["model_b"]):
            continue
        first = pair["model_a"] == best
        other = pair["model_b"] if first else pair["model_a"]
        low, high = (-pair["high"], -pair["low"]) if first else (pair["low"], pair["high"])
        lines.append(
            f"  {number(abs(pair['difference']))} better than {other} "
            f"({number(low)} to {number(high)}; p {_relation(pair['p_holm'])}, Holm)"
        )
    if any(warning.code == "tail-decides" for warning in result.warnings):
        lines.append(
            "  But see [tail-decides] below: without a horizon the data do not settle this."
        )
    return "\n".join(lines)


def _warnings(result: Evaluation) -> str:
    """List remarks; one that several models share is said once."""
    shared: dict[tuple[str, str, str], list[str]] = {}
    for w in result.warnings:
        names = shared.setdefault((w.code, w.metric or "", w.message), [])
        if w.model and w.model not in names:
            names.append(w.model)
    lines = []
    for (code, metric, message), models in shared.items():
        whose = "all models" if len(models) == len(result.models) > 1 else ", ".join(models)
        where = " ".join(part for part in (whose, metric) if part)
        lines.append(f"  [{code}] {where + ': ' if where else ''}{message}")
    return "Warnings\n" + "\n".join(lines) if lines else ""


def _values(result: Evaluation) -> str:
    """One row a metric (and group), one column a model."""
    cells: dict[tuple[Any, str], dict[str, str]] = {}
    arrows = {}
    for row in result.rows():
        key = (row.get("group"), row["metric"])
        text = number(row["value"])
        if not math.isnan(row["low"]):
            text += f" [{number(row['low'])}, {number(row['high'])}]"
        cells.setdefault(key, {})[row["model"]] = text
        arrows[row["metric"]] = "lower" if row["direction"] == "lower" else "higher"
    grouped = any(group is not None for group, _ in cells)
    header = [*(["group"] if grouped else []), "metric", "better", *result.models]
    rows = [
        [
            *([str(group)] if grouped else []),
            metric,
            arrows[metric],
            *(by_model.get(model, "n/a") for model in result.models),
        ]
        for (group, metric), by_model in cells.items()
    ]
    level = "" if result.confidence is None else f" with {result.confidence:.0%} intervals"
    return f"Metrics{level} (times in the unit of the data)\n" + columns(
        header, rows, left=3 if grouped else 2
    )


def _comparisons(result: Evaluation) -> str:
    """Best model of each metric against the others; all pairs would not fit a screen."""
    best = _best_models(result)
    rows = []
    for row in result.comparisons():
        group, metric = row.get("group"), row["metric"]
        if best.get((group, metric)) not in (row["model_a"], row["model_b"]):
            continue
        if not math.isfinite(row["difference"]):
            continue
        rows.append(
            [
                *([str(group)] if group is not None else []),
                metric,
                f"{row['model_a']} - {row['model_b']}",
                number(row["difference"]),
                f"[{number(row['low'])}, {number(row['high'])}]",
                p_text(row["p_value"]),
                p_text(row["p_holm"]),
            ]
        )
    if not rows:
        return ""
    header = ["metric", "models", "difference", "interval", "p", "p (Holm)"]
    grouped = len(rows[0]) > len(header)
    header = ["group", *header] if grouped else header
    more = " (all pairs: --json)" if len(result.models) > 2 else ""
    title = f"Differences a - b of the best model from the others, on the same subjects{more}"
    return title + "\n" + columns(header, rows, left=3 if grouped else 2)


def _best_models(result: Evaluation) -> dict[tuple[Any, str], str]:
    """Model with the best value per group and metric."""
    best: dict[tuple[Any, str], tuple[float, str]] = {}
    for row in result.rows():
        if math.isnan(row["value"]):
            continue
        loss = row["value"] if row["direction"] == "lower" else -row["value"]
        key = (row.get("group"), row["metric"])
        if key not in best or loss < best[key][0]:
            best[key] = (loss, row["model"])
    return {key: model for key, (_, model) in best.items()}


def _support(result: Evaluation) -> str:
    s = result.support
    tails = ", ".join(f"{model} {share:.0%}" for model, share in s["tail_share"].items())
    lines = [
        f"{s['subjects']} subjects, {s['events']} events; reference: {s['reference']}",
        f"horizon of the 1/G metrics: {number(s['horizon'])} "
        f"({s['subjects_past_horizon']} subjects, {s['events_past_horizon']} events past it); "
        f"time of interest: {number(s['time'])}",
    ]
    if tails:
        lines.append(f"median times read off the curves' tail: {tails}")
    if not math.isnan(s["largest_weight"]):
        lines.append(f"largest weight of a subject: {number(s['largest_weight'])}")
    return "Support\n" + "\n".join(f"  {line}" for line in lines)
