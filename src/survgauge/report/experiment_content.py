"""An experiment as plain data, ready for JSON and for its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .experiment_words import plain_metrics

if TYPE_CHECKING:
    from ..experiment.results import Results


def experiment_content(results: Results) -> dict[str, Any]:
    """Gather the tables of an experiment."""
    truths = list(dict.fromkeys(panel.truth for panel in results.panels))
    if not truths:
        raise InputError(
            "results: there is nothing to compare: no metric has a true counterpart on at least "
            "two models with all runs; finish the run first (survgauge bench ... --resume)"
        )
    metrics = {
        truth: list(dict.fromkeys(m for p in results.panels if p.truth == truth for m in p.metrics))
        for truth in truths
    }
    plain = {truth: plain_metrics(names, truth) for truth, names in metrics.items()}
    among = {truth: results.select(truth=truth, metrics=plain[truth]) for truth in truths}
    return {
        "name": results.name,
        "truths": truths,
        "sets": [list(pair) for pair in results.sets],
        "models": list(dict.fromkeys(m for p in results.panels for m in p.models)),
        "metrics": list(dict.fromkeys(m for names in metrics.values() for m in names)),
        "plain": plain,
        "summary": {truth: _records(results.summary(truth).reset_index()) for truth in truths},
        "summary_plain": {t: _records(r.summary(t).reset_index()) for t, r in among.items()},
        "ranking": _records(results.ranking),
        "proximity": _records(results.proximity),
        "winners": _records(results.winners),
        "winners_plain": [row for r in among.values() for row in _records(r.winners)],
        "leaders": {
            t: {measure: r.leader(measure, t) for measure in ("tau", "relative")}
            for t, r in among.items()
        },
        "models_by_truth": _records(results.models),
        "by_model": _records(results.by_model),
        "advice": _records(results.advice("mae")) if "mae" in truths else [],
        "failed_metrics": _records(results.failed_metrics),
        "failures": [_failure(f) for f in results.failures],
        "left_out": [
            {**row, "message": f"Left out for truth {row['truth']}: some of its cells are missing."}
            for row in _records(results.left_out)
        ],
    }


def _failure(record: dict[str, Any]) -> dict[str, Any]:
    cell = record["cell"]
    names = ("dataset", "censoring", "model", "repeat", "fold")
    return {k: cell[k] for k in names} | {"message": f"{record['error']}: {record['message']}"}


def _records(frame: Any) -> list[dict[str, Any]]:
    return [{str(k): _value(v) for k, v in row.items()} for row in frame.to_dict("records")]


def _value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value
