"""What an experiment says over data bases: the sets of one base are not independent of each other.

A *set* is one draw of one kind of censoring on a data base. Everywhere the mean is taken over the
sets of a base first and over bases then, and intervals are those of a mean over bases.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from survgauge.bench.experiment import Results
from survgauge.bench.experiment.panels import TruthPanel, panels_of
from survgauge.errors import InputError, one_of
from survgauge.evaluation.inference import critical

#: The paper's two questions: the order of the models (higher is better), and the size of the error.
ORDER, SIZE = "tau", "relative"
_SET = ["dataset", "censoring", "repeat"]
#: Rounding must not part what is tied.
_TIED = 1e-12


def answers_by_set(results: Results, truth: str | None = None) -> pd.DataFrame:
    """Order, size and winners on every set, a draw of censoring each: one row per set and metric.

    Parameters
    ----------
    results : Results
        Of an experiment.
    truth : str, optional
        Which truth, by default the first ("mae", "mae(tau=horizon)", ...).

    Returns
    -------
    pandas.DataFrame
        dataset, censoring, repeat, metric; tau (Kendall's tau of the means over folds with the true
        order), relative (mean over models of ``|metric - truth| / truth``), bias (mean over models
        of ``(metric - truth) / truth``), overlap (of the best three), winner (by the explicit rule,
        among the metrics at hand), models (how many were compared).
    """
    chosen = truth or results.truths[0]
    one_of("truth", chosen, results.truths)
    table = results.metrics[results.metrics["truth"] == chosen]
    rows: list[dict[str, Any]] = []
    for repeat in dict.fromkeys(table["repeat"]):
        for panel in panels_of(table[table["repeat"] == repeat]):
            rows += _panel_rows(panel, int(repeat))
    if not rows:
        raise InputError("no set has two models with all their runs, so that nothing can be ranked")
    return pd.DataFrame(rows)


def _panel_rows(panel: TruthPanel, repeat: int) -> Iterable[dict[str, Any]]:
    found = panel.answers
    with np.errstate(divide="ignore", invalid="ignore"):
        bias = ((panel.mean - panel.true_mean) / panel.true_mean).mean(axis=0)
    for k, metric in enumerate(panel.metrics):
        yield {
            "dataset": panel.dataset,
            "censoring": panel.censoring,
            "repeat": repeat,
            "metric": metric,
            ORDER: _known(found.tau[k], found.proximity[k]),
            SIZE: float(found.relative[k]),
            "bias": float(bias[k]),
            "overlap": float(found.overlap[k]),
            "winner": bool(found.winner[k]),
            "models": len(panel.models),
        }


def _known(tau: float, distance: float) -> float:
    """Return tau, or NaN where the metric lacks a value: signs of NaN count as ties there."""
    return float("nan") if np.isnan(distance) else float(tau)


def over_bases(answers: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Means of the answers over bases, with t intervals over bases: one row per metric.

    Parameters
    ----------
    answers : pandas.DataFrame
        From `answers_by_set`, all of it or some of its rows (bases, kinds of censoring).
    level : float
        Of the intervals.

    Returns
    -------
    pandas.DataFrame
        Indexed by metric: bases, sets (with an answer), tau, tau_low, tau_high, relative,
        relative_low, relative_high, bias, overlap, wins.
    """
    rows = {}
    for metric, part in answers.groupby("metric", sort=False):
        known = part[part[ORDER].notna() & part[SIZE].notna()]
        by_base = known.groupby("dataset", sort=False)
        row: dict[str, Any] = {"bases": by_base.ngroups, "sets": len(known)}
        for measure in (ORDER, SIZE):
            row |= _named(measure, t_interval(by_base[measure].mean(), level))
        for measure in ("bias", "overlap"):
            row[measure] = float(by_base[measure].mean().mean())
        rows[metric] = {**row, "wins": int(part["winner"].sum())}
    return pd.DataFrame(rows).T.rename_axis("metric")


def against(answers: pd.DataFrame, other: str = "mae_po", level: float = 0.95) -> pd.DataFrame:
    """Compare every metric with another one on the same sets: one row per metric.

    Parameters
    ----------
    answers : pandas.DataFrame
        From `answers_by_set`, all of it or some of its rows.
    other : str
        Metric to compare with.
    level : float
        Of the intervals.

    Returns
    -------
    pandas.DataFrame
        Indexed by metric: bases, sets; tau, tau_low, tau_high (difference from the other, mean over
        bases); relative, relative_low, relative_high (likewise; negative where the metric is
        closer); ratio (of the mean distances over bases); ranks_as_well (share of sets on which tau
        is at least the other's), closer (share of sets); bases_in_order, bases_in_size and
        bases_in_both (share of bases on whose mean the metric is better).
    """
    one_of("other", other, answers["metric"].unique())
    wide = answers.pivot(index=_SET, columns="metric", values=[ORDER, SIZE])
    rows = {}
    for metric in dict.fromkeys(answers["metric"]):
        if metric == other:
            continue
        pair = wide.loc[:, [(m, name) for m in (ORDER, SIZE) for name in (metric, other)]].dropna()
        if len(pair):
            rows[metric] = _compared(pair, metric, other, level)
    return pd.DataFrame(rows).T.rename_axis("metric")


def _compared(pair: pd.DataFrame, metric: str, other: str, level: float) -> dict[str, Any]:
    base = pair.index.get_level_values("dataset")
    order, size = (pair[m][metric] - pair[m][other] for m in (ORDER, SIZE))
    by_order, by_size = (gap.groupby(base, sort=False).mean() for gap in (order, size))
    in_order, in_size = by_order > _TIED, by_size < -_TIED
    near, far = (pair[SIZE][m].groupby(base, sort=False).mean().mean() for m in (metric, other))
    return {
        "bases": len(by_order),
        "sets": len(pair),
        **_named(ORDER, t_interval(by_order, level)),
        **_named(SIZE, t_interval(by_size, level)),
        "ratio": float(near / far) if far else float("nan"),
        "ranks_as_well": float((order >= -_TIED).mean()),
        "closer": float((size < -_TIED).mean()),
        "bases_in_order": float(in_order.mean()),
        "bases_in_size": float(in_size.mean()),
        "bases_in_both": float((in_order & in_size).mean()),
    }


def t_interval(values: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Mean of independent values with its t interval; NaN ends with fewer than two values.

    >>> [round(x, 3) for x in t_interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    found = np.asarray(values, dtype=np.float64)
    mean = float(found.mean()) if found.size else float("nan")
    if found.size < 2:
        return mean, float("nan"), float("nan")
    if not 0 < level < 1:
        raise InputError(f"level must lie strictly between 0 and 1; got {level}")
    half = float(critical(level, found.size - 1) * found.std(ddof=1) / np.sqrt(found.size))
    return mean, mean - half, mean + half


def _named(measure: str, found: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip((measure, f"{measure}_low", f"{measure}_high"), found, strict=True))
