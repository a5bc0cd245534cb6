"""What an experiment says about metrics: do they rank models as the truth does, are they close."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._tools.extras import need
from ..._tools.writing import write_atomically
from ...errors import InputError, one_of
from ...report import experiment_html
from . import meta
from .figures import DISPLAYS
from .panels import (
    BOUNDS,
    MEASURES,
    TruthPanel,
    advice_rows,
    leader,
    matrix,
    mean_interval,
    metrics_of,
    model_rows,
    next_best,
    paired_t,
    panels_of,
)
from .store import Store

if TYPE_CHECKING:
    import pandas as pd

_NEEDED = ("dataset", "censoring", "model", "metric", "value", "true_value")
#: Which panel a row belongs to.
_WHERE = ["dataset", "censoring", "truth"]
_AXES = {"datasets": "dataset", "censoring": "censoring", "models": "model", "metrics": "metric"}


class Results:
    """Results of an experiment, and what follows from them.

    Metrics are compared within a *truth*: all mean absolute errors with the true one, and so on.
    Statistics are those of the means over runs (folds and repeats), as in the paper; intervals on
    one dataset come from redrawing repeats and folds, those of means over datasets from the data
    bases where there are six or more.

    Parameters
    ----------
    table : pandas.DataFrame
        Long format: dataset, censoring, model, metric, value, true_value; optional repeat, fold,
        truth ("mae"), direction ("lower").
    failures : list of dict
        Records of the cells that failed.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("d", "uniform", m, metric, v, t) for m, t, by in
    ...         [("a", 10.0, (9.0, 4.0)), ("b", 12.0, (11.0, 6.0)), ("c", 15.0, (13.0, 5.0))]
    ...         for metric, v in zip(("po", "hinge"), by)]
    >>> results = Results(pd.DataFrame(rows, columns=["dataset", "censoring", "model", "metric",
    ...                                               "value", "true_value"]))
    >>> results.winners["metric"].tolist()
    ['po']
    >>> results.ranking[["metric", "tau"]].round(2).values.tolist()
    [['po', 1.0], ['hinge', 0.33]]
    """

    def __init__(
        self, table: pd.DataFrame, failures: Iterable[dict[str, Any]] = (), name: str = ""
    ) -> None:
        self._pd = need("pandas", "tables of results", "experiment")
        missing = [column for column in _NEEDED if column not in table.columns]
        if missing:
            raise InputError(
                f"table must have columns {', '.join(_NEEDED)}; {missing[0]!r} is missing"
            )
        defaults = {"repeat": 0, "fold": 0, "truth": "mae", "direction": "lower", "error": None}
        added = {key: value for key, value in defaults.items() if key not in table.columns}
        self.metrics: pd.DataFrame = table.assign(**added).reset_index(drop=True)
        self.failures = list(failures)
        self.name = name

    @classmethod
    def load(cls, store: str | os.PathLike[str]) -> Results:
        """Read the finished cells of a store; nothing is written into it."""
        place = Store(store)
        plan = place.plan()
        return cls(place.frame(plan), place.failures(plan), plan.name)

    def __repr__(self) -> str:
        return (
            f"Results({self.name!r}: {len(self.sets)} semi-synthetic "
            f"dataset{'s' * (len(self.sets) != 1)}, "
            f"{self.metrics['model'].nunique()} models, {self.metrics['metric'].nunique()} "
            f"metrics, {len(self.failures)} failed cells)"
        )

    def select(self, truth: str | None = None, **chosen: Iterable[str] | None) -> Results:
        """Keep some datasets, censoring, models, metrics, or one truth.

        >>> # results.select(truth="mae", metrics=["mae_margin", "mae_po"]).winners
        """
        table = self.metrics
        if truth is not None:
            one_of("truth", truth, self.truths)
            table = table[table["truth"] == truth]
        for axis, labels in chosen.items():
            one_of("select", axis, _AXES)
            if labels is None:
                continue
            column, wanted = _AXES[axis], [labels] if isinstance(labels, str) else list(labels)
            for label in wanted:
                one_of(axis, label, table[column].unique())
            table = table[table[column].isin(wanted)]
        return Results(table, self.failures, self.name)

    # -- what there is -----------------------------------------------------------------------

    @cached_property
    def panels(self) -> list[TruthPanel]:
        """One for each semi-synthetic dataset and truth."""
        return list(panels_of(self.metrics))

    @property
    def truths(self) -> list[str]:
        """Truths that metrics were compared with, in the order of the plan."""
        return [truth for truth in dict.fromkeys(self.metrics["truth"]) if truth]

    @property
    def sets(self) -> list[tuple[str, str]]:
        """Semi-synthetic datasets: (dataset, censoring)."""
        pairs = zip(self.metrics["dataset"], self.metrics["censoring"], strict=True)
        return list(dict.fromkeys(pairs))

    @property
    def left_out(self) -> pd.DataFrame:
        """Models that lack runs on a dataset and were left out there."""
        rows = [{**p.names, "model": model} for p in self.panels for model in p.left_out]
        return self._pd.DataFrame(rows, columns=[*_WHERE, "model"])

    @property
    def failed_metrics(self) -> pd.DataFrame:
        """Metrics that raised an error in some cells: metric, cells, error and cell of the first.

        The other metrics of these cells are there. Tracebacks lie in the store, under failures.
        """
        axes = ["dataset", "censoring", "repeat", "fold", "model"]
        bad = self.metrics[self.metrics["error"].notna()]
        rows = [
            {
                "metric": metric,
                "cells": len(part),
                "error": part["error"].iloc[0],
                "first": " / ".join(str(part[axis].iloc[0]) for axis in axes),
            }
            for metric, part in bad.groupby("metric", sort=False)
        ]
        return self._pd.DataFrame(rows, columns=["metric", "cells", "error", "first"])

    @cached_property
    def models(self) -> pd.DataFrame:
        """Models by their true value on each dataset, best first.

        Columns: rank, true_value (mean over runs), low and high (its 95 % interval), difference
        from the best model with difference_low and difference_high (paired over runs), and
        clearly_worse: whether that interval excludes 0. Intervals are those of Nadeau and Bengio
        (2003), which allow for overlapping training sets; they are not adjusted for the number of
        models.
        """
        return self._pd.DataFrame([row for panel in self.panels for row in model_rows(panel)])

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Means and spread over runs: what the paper's spreadsheet holds."""
        groups = self.metrics.groupby([*_WHERE, "model", "metric"], sort=False)
        columns = ("value", "true_value")
        table = groups.agg(
            **{column: (column, "mean") for column in columns},
            **{f"{column}_sd": (column, "std") for column in columns},
            runs=("value", "size"),
        )
        return table.reset_index()

    # -- the two questions -------------------------------------------------------------------

    @cached_property
    def proximity(self) -> pd.DataFrame:
        """How close each metric is to the truth on each dataset.

        Columns: proximity (mean over models of ``|metric - truth|``), low and high (interval over
        runs), relative, spread (standard deviation over models), bias (mean of metric - truth),
        next_best (the metric that follows in proximity) and p_value (paired t-test over models
        against it).
        """
        rows = []
        for panel in self.panels:
            gaps = meta.distances(panel.mean, panel.true_mean)
            spread = gaps.std(axis=0, ddof=1)
            following = next_best(panel.answers.proximity)
            for k, row in self._rows(panel, ("proximity", "relative", "bias"), "proximity"):
                j = following[k]
                row |= {
                    "spread": spread[k],
                    "next_best": None if j is None else panel.metrics[j],
                    "p_value": np.nan if j is None else paired_t(gaps[:, k], gaps[:, j]),
                }
                rows.append(row)
        return self._pd.DataFrame(rows)

    @cached_property
    def by_model(self) -> pd.DataFrame:
        """Difference of each metric from the truth, model by model, with its spread over runs."""
        rows = []
        for panel in self.panels:
            gap = panel.values - panel.true
            mean = gap.mean(axis=0)
            sd = gap.std(axis=0, ddof=1) if panel.has_spread else np.full_like(mean, np.nan)
            for i, model in enumerate(panel.models):
                for k, metric in enumerate(panel.metrics):
                    true = panel.true_mean[i, k]
                    rows.append(
                        {
                            **panel.names,
                            "model": model,
                            "metric": metric,
                            "true_value": true,
                            "difference": mean[i, k],
                            "difference_sd": sd[i, k],
                            "relative": mean[i, k] / true if true else np.nan,
                        }
                    )
        return self._pd.DataFrame(rows)

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """How well each metric ranks the models on each dataset.

        Columns: tau (Kendall's tau-b with the true order), low and high (interval over runs),
        overlap (how many of the best three are right), in_order (how many of the first three
        places), best (what the metric thinks the best model is).
        """
        rows = []
        for panel in self.panels:
            signed = np.where(panel.lower, panel.mean, -panel.mean)
            for k, row in self._rows(panel, ("tau", "overlap", "in_order"), "tau"):
                known = not np.isnan(signed[:, k]).any()
                row["best"] = panel.models[int(np.argmin(signed[:, k]))] if known else None
                rows.append(row)
        return self._pd.DataFrame(rows)

    def _rows(self, panel: TruthPanel, columns: tuple[str, ...], main: str) -> Any:
        """Rows of a table, a metric each, with an interval of the main column."""
        low = high = np.full(len(panel.metrics), np.nan)
        if panel.has_spread:
            found = getattr(panel.answers, main), getattr(panel.replicates, main)
            low, high = meta.interval(*found, *BOUNDS[main])
        for k, metric in enumerate(panel.metrics):
            numbers = panel.answers.numbers(k, *columns)
            first = {main: numbers.pop(main), "low": float(low[k]), "high": float(high[k])}
            yield k, {**panel.names, "metric": metric, **first, **numbers}

    @cached_property
    def winners(self) -> pd.DataFrame:
        """Best metrics of each dataset: most of the best three right, then closest; ties share.

        `share` is the share of bootstrap replicates of the runs in which the metric wins.
        """
        rows = []
        for panel in self.panels:
            share = panel.replicates.winner.mean(axis=0) if panel.has_spread else None
            for k in np.flatnonzero(panel.answers.winner).tolist():
                rows.append(
                    {
                        **panel.names,
                        "metric": panel.metrics[k],
                        **panel.answers.numbers(k, "overlap", "proximity", "tau"),
                        "share": np.nan if share is None else float(share[k]),
                    }
                )
        columns = [*_WHERE, "metric", "overlap", "proximity", "tau", "share"]
        return self._pd.DataFrame(rows, columns=columns)

    # -- over datasets ----------------------------------------------------------------------

    def summary(self, truth: str | None = None) -> pd.DataFrame:
        """Wins of each metric by kind of censoring, as in the paper's table, and its means.

        Columns: a kind of censoring each, total, tau, overlap and relative (means over datasets,
        the first with an interval: over sources, or over runs with fewer than six of them).
        """
        panels = self._of(truth)
        kinds = list(dict.fromkeys(panel.censoring for panel in panels))
        metrics = metrics_of(panels)
        wins = self._pd.DataFrame(0, index=metrics, columns=kinds)
        for panel in panels:
            for k in np.flatnonzero(panel.answers.winner):
                wins.loc[panel.metrics[k], panel.censoring] += 1
        wins["total"] = wins.sum(axis=1)
        for measure in ("tau", "overlap", "relative"):
            wins[measure] = matrix(panels, metrics, measure).mean(axis=0)
        low, high = mean_interval(panels, metrics, "tau")
        wins["tau_low"], wins["tau_high"] = low, high
        return wins.rename_axis("metric")

    def leader(self, measure: str, truth: str | None = None) -> dict[str, Any] | None:
        """Best metric by a measure over datasets, and whether it is clearly better than others.

        Parameters
        ----------
        measure : {"relative", "proximity", "tau", "overlap"}
            By what.

        Returns
        -------
        dict or None
            metric, bases, tied, and a verdict: "clear", "no clear difference" (from those in
            `tied`) or "too few datasets to tell", which is so with fewer than six sources.
        """
        one_of("measure", measure, MEASURES)
        panels = self._of(truth)
        metrics = metrics_of(panels)
        losses = matrix(panels, metrics, measure) * (1 if MEASURES[measure] else -1)
        return leader(losses, metrics, [panel.dataset for panel in panels])

    def advice(self, truth: str | None = None) -> pd.DataFrame:
        """The paper's advice, margin under exponential censoring and po elsewhere, with evidence.

        One row per kind of situation: what is recommended, datasets and sources, wins, mean tau
        and mean relative proximity of it and of the other, p-values of signed-rank tests over data
        bases (`p_value` of the relative proximities, `p_tau`), and a verdict: holds, does not hold,
        mixed, no clear difference, or "too few datasets to tell" with fewer than six sources.
        """
        return self._pd.DataFrame(advice_rows(self._of(truth)))

    def _of(self, truth: str | None) -> list[TruthPanel]:
        if not self.truths:
            raise InputError("no metric of these results has a true counterpart")
        chosen = truth or self.truths[0]
        one_of("truth", chosen, self.truths)
        return [panel for panel in self.panels if panel.truth == chosen]

    # -- figures -----------------------------------------------------------------------------

    def plot(self, kind: str = "grid", **options: Any) -> Any:
        """Draw; returns a matplotlib figure.

        Parameters
        ----------
        kind : {"grid", "panel", "summary"}
            The paper's figure for all datasets or for one (`dataset`, `censoring`), the wins.
        **options
            truth, metrics (columns, by default those without settings), and what the display
            takes; see `survgauge.bench.experiment.figures`.
        """
        one_of("kind", kind, DISPLAYS)
        return DISPLAYS[kind](self, **options).plot()

    def to_html(
        self, path: str | os.PathLike[str], *, title: str = "Which metric tells the truth?"
    ) -> Any:
        """Write a report: one page that works offline, with tables, charts and downloads."""
        return write_atomically(Path(path), experiment_html(self, title))
