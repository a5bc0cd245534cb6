"""Rubin's rules: one result from evaluations of several imputed datasets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .._tools.text import as_frame, columns, number, plain
from ..errors import InputError
from .cells import NAN, TableCell, compared
from .inference import Interval, compare_values, critical
from .meta_analysis import from_scale, on_scale, scale_of, to_scale
from .phrases import when
from .result import ALL_SUBJECTS, Evaluation

#: A smaller share of the variance that is due to imputation counts as this in Barnard and Rubin's
#: formula, which would divide by it.
_LEAST_SHARE = 1e-4


@dataclass(frozen=True)
class Rubin:
    """A mean over imputations: its variance, degrees of freedom and share of missing information.

    >>> found = Rubin.of([0.93, 0.81, 1.02], [0.21, 0.20, 0.22], 249)
    >>> round(found.value, 2), round(found.stderr, 3), round(found.freedom, 1)
    (0.92, 0.243, 27.1)
    """

    value: float
    stderr: float
    freedom: float
    missing: float

    @classmethod
    def of(cls, values: Any, stderrs: Any, freedom: float) -> Rubin:
        """Pool values with their standard errors; `freedom` without missing data."""
        q, u = np.asarray(values, dtype=np.float64), np.asarray(stderrs, dtype=np.float64) ** 2
        m, mean = q.size, float(q.mean())
        if not np.isfinite(q).all():  # an infinite loss in one imputation leaves no variance
            return cls(mean, NAN, NAN, NAN)
        between, within = float(np.var(q, ddof=1)), float(u.mean())
        total = within + (1 + 1 / m) * between
        if not (np.isfinite(total) and total > 0):
            return cls(mean, float(np.sqrt(total)), NAN, NAN)
        share = max((1 + 1 / m) * between / total, _LEAST_SHARE)
        old = (m - 1) / share**2
        if np.isfinite(freedom):
            seen = (freedom + 1) / (freedom + 3) * freedom * (1 - share)
            old = old * seen / (old + seen)
        ratio = (1 + 1 / m) * between / within if within > 0 else float("inf")
        missing = (ratio + 2 / (old + 3)) / (ratio + 1) if np.isfinite(ratio) else 1.0
        return cls(mean, float(np.sqrt(total)), float(old), float(missing))

    def interval(self, confidence: float, scale: str) -> Interval:
        """Return limits by the t distribution, from the scale back to where values come from."""
        reach = NAN if np.isnan(self.freedom) else critical(confidence, self.freedom) * self.stderr
        ends = from_scale(np.array([self.value, self.value - reach, self.value + reach]), scale)
        return Interval(float(ends[0]), self.stderr, float(ends[1]), float(ends[2]), scale)


@dataclass(frozen=True, eq=False, repr=False)
class Pooled:
    """Result of `pooled`.

    Attributes
    ----------
    evaluations : tuple of Evaluation
        One for each imputed dataset.
    confidence : float
        Level of the intervals.
    """

    evaluations: tuple[Evaluation, ...]
    confidence: float

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain dictionaries, without pandas."""
        return [self._row(scores) for scores in self._cells().values()]

    def _cells(self) -> dict[Any, list[TableCell]]:
        cells: dict[Any, list[TableCell]] = {}
        for ev in self.evaluations:
            for score in ev.scores:
                if score.metric.inference != "test":
                    cells.setdefault(_cell(score), []).append(score)
        return cells

    def _row(self, scores: list[TableCell]) -> dict[str, Any]:
        first = scores[0]
        names: dict[str, Any] = {"model": first.model, "metric": first.metric.name}
        if "groups" in self.evaluations[0].support:
            names = {"group": first.group, **names}
        scale = scale_of(first.metric.interval)
        values = np.array([score.value for score in scores])
        if not np.all(on_scale(values, scale)):
            scale = "normal"
        places = to_scale(values, np.array([score.spread for score in scores]), scale)
        found = Rubin.of(*places, self._freedom(first))
        told = found.interval(self.confidence, scale).within(first.metric.range)
        return {
            **names,
            "time": first.time,
            "value": told.value,
            "low": told.low,
            "high": told.high,
            "stderr": told.stderr,
            "scale": scale,
            "freedom": found.freedom,
            "missing": found.missing,
            "direction": first.metric.direction,
            "unit": first.metric.unit,
        }

    def _freedom(self, score: TableCell) -> float:
        """Degrees of freedom that a standard error would have without missing data."""
        if np.isfinite(score.freedom):
            return score.freedom
        ev = self.evaluations[0]
        sizes = ev.support.get("groups", {})
        n = ev.task.y.count if score.group is None else sizes[str(score.group)]["subjects"]
        return float(n - 1)

    @property
    def table(self) -> Any:
        """Frame with a row per model and metric.

        Columns: group (where there are groups), model, metric, time, value, low, high, stderr (on
        the scale), scale (where values were averaged), freedom (of the t distribution), missing
        (share of the information that is missing), direction, unit.
        """
        rows = self.rows()
        for row in rows:
            if row.get("group", "") is None:
                row["group"] = ALL_SUBJECTS
        return as_frame(rows)

    def comparisons(self) -> list[dict[str, Any]]:
        """Return all pairs of models as plain dictionaries; see `compare`."""
        by_model: dict[Any, dict[str, list[TableCell]]] = {}
        for (model, *cell), scores in self._cells().items():
            by_model.setdefault(tuple(cell), {})[model] = scores
        rows = []
        for found in by_model.values():
            for a, b in combinations(found, 2):
                if found[a][0].metric.ranks_models:
                    rows.append(self._difference(found[a], found[b]))
        return rows

    def _difference(self, ours: list[TableCell], others: list[TableCell]) -> dict[str, Any]:
        first = ours[0]
        pairs = list(zip(ours, others, strict=True))
        differences = [a.value - b.value for a, b in pairs]
        stderrs = [compared(a, b, self.confidence).stderr for a, b in pairs]
        found = Rubin.of(differences, stderrs, self._freedom(first))
        told = compare_values(found.value, found.stderr, self.confidence, found.freedom)
        group = {"group": first.group} if "groups" in self.evaluations[0].support else {}
        return {
            **group,
            "model_a": first.model,
            "model_b": others[0].model,
            "metric": first.metric.name,
            "time": first.time,
            "difference": told.difference,
            "low": told.low,
            "high": told.high,
            "p_value": told.p_value,
            "freedom": found.freedom,
            "missing": found.missing,
        }

    def compare(self) -> Any:
        """Compare all pairs of models on the same subjects.

        Returns
        -------
        DataFrame
            model_a, model_b, metric, time, difference (a - b), low, high, p_value (not adjusted for
            the number of comparisons), freedom, missing.
        """
        return as_frame(self.comparisons())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON (NaN becomes None)."""
        return {
            "imputations": len(self.evaluations),
            "confidence": self.confidence,
            "metrics": [plain(row) for row in self.rows()],
            "comparisons": [plain(row) for row in self.comparisons()],
        }

    def __str__(self) -> str:
        names = ["group", "model", "metric"]
        if "groups" not in self.evaluations[0].support:
            names = names[1:]
        rows = []
        for row in self.rows():
            told = {**row, "metric": f"{row['metric']} {when(row)}".rstrip()}
            limits = (
                "-" if np.isnan(row["low"]) else f"{number(row['low'])} to {number(row['high'])}"
            )
            cells = [ALL_SUBJECTS if told[name] is None else str(told[name]) for name in names]
            rows.append([*cells, number(row["value"]), limits, number(row["missing"], 2)])
        header = [*names, "value", f"{self.confidence * 100:g} % CI", "missing"]
        body = columns(header, rows, left=len(names))
        head = f"Pooled over {len(self.evaluations)} imputed datasets by Rubin's rules."
        return f"{head}\n\n{body}"

    def __repr__(self) -> str:
        return f"Pooled({len(self.evaluations)} imputations)"


def _cell(score: TableCell) -> tuple[Any, ...]:
    return score.model, score.group, score.metric.name, score.time


def pooled(evaluations: Iterable[Evaluation]) -> Pooled:
    r"""Pool evaluations of several imputed datasets by Rubin's rules.

    Where features or outcomes have gaps that were imputed m times, predict and `evaluate` each
    dataset, and pool. With the values :math:`q_k` and standard errors :math:`s_k` of a metric on
    the scale of its interval (logit for C-indices, log for errors),

    .. math:: \bar q = \frac1m \sum_k q_k, \qquad
              se^2 = \frac1m \sum_k s_k^2 + \left(1 + \frac1m\right)
              \frac{\sum_k (q_k - \bar q)^2}{m - 1},

    with the degrees of freedom of Barnard and Rubin. Differences between models are pooled as they
    are, with their paired standard errors.

    Parameters
    ----------
    evaluations : list of Evaluation
        At least two, of the same models and metrics, each with intervals. Give `time` and `tau` to
        `evaluate`, so that all use the same times.

    Returns
    -------
    Pooled
        `table`, `compare()`, `rows()`, `to_dict()`.

    References
    ----------
    Rubin (1987), Multiple imputation for nonresponse in surveys. Barnard and Rubin (1999),
    Small-sample degrees of freedom with multiple imputation, Biometrika 86. Marshall et al. (2009),
    Combining estimates of interest in prognostic modelling studies after multiple imputation, BMC
    Medical Research Methodology 9.

    Examples
    --------
    >>> from survgauge import evaluate
    >>> y = ([2, 5, 7, 8, 9, 12], [1, 0, 1, 1, 0, 1])
    >>> filled = [[3, 5, 6, 9, 9, 8], [3, 6, 6, 9, 7, 9], [2, 5, 9, 9, 8, 9]]
    >>> result = pooled(evaluate(times, y, metrics="mae_hinge") for times in filled)
    >>> row = result.rows()[0]
    >>> round(row["value"], 2), round(row["missing"], 2)
    (1.22, 0.33)
    """
    found = tuple(evaluations) if isinstance(evaluations, Iterable) else (evaluations,)
    odd = [type(ev).__name__ for ev in found if not isinstance(ev, Evaluation)]
    if len(found) < 2 or odd:
        raise InputError(
            "evaluations must be a list of at least two results of evaluate; got "
            f"{odd[0] if odd else len(found)}"
        )
    first = found[0]
    cells = sorted(map(str, map(_cell, first.scores)))
    for k, ev in enumerate(found):
        if ev.confidence is None:
            raise InputError(f"evaluations[{k}] has no intervals; evaluate with confidence=0.95")
        if sorted(map(str, map(_cell, ev.scores))) != cells:
            raise InputError(
                f"evaluations[{k}] differs from the first in models, metrics, groups or times; "
                "give the same to every call, with time= and tau="
            )
        for name, value in _setting(ev).items():
            if value != _setting(first)[name]:
                raise InputError(
                    f"evaluations[{k}] differs from the first in {name}: {value!r} and "
                    f"{_setting(first)[name]!r}; give the same to every call"
                )
    return Pooled(found, first.confidence or 0.95)


def _setting(ev: Evaluation) -> dict[str, Any]:
    """What has to be equal for an average to have a meaning, beside models, metrics and times."""
    thresholds = [s.convention.get("threshold") for s in ev.scores if s.metric.reads_threshold]
    return {
        "confidence": ev.confidence,
        "unit": ev.unit,
        "subjects": ev.support["subjects"],
        "tau": ev.support["tau"],
        "threshold": next((t for t in thresholds if t is not None), None),
    }
