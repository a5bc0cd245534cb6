"""What an evaluation found: the table, the comparisons, the support, as data and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._tools.arrays import whole_number
from .._tools.text import as_frame, plain
from .._tools.writing import write_atomically
from ..data.causes import EventWords
from ..data.predictions import Prediction
from ..errors import one_of
from ..metrics.task import Task
from .cells import TableCell, compared
from .inference import Comparison, adjusted
from .meta_analysis import group_differences, group_means
from .phrases import metric_unit
from .sentences import verdict_sentences
from .text import first_screen, plain_text, whole_text, wide_rows
from .tipping import METRIC, TippingPoint, best_pair
from .warning_kinds import EvaluationWarning
from .warnings import JoinedWarning, joined

if TYPE_CHECKING:
    from ..report.study.result import Study

#: What everybody together is called in a table with groups.
ALL_SUBJECTS = "all subjects"


@dataclass(frozen=True)
class Evaluation:
    """Result of `evaluate`.

    Attributes
    ----------
    support : dict
        Median follow-up (reverse Kaplan-Meier), horizon, subjects and events past it, largest
        weight, share of tail times, and what each metric left out.
    cases : list of EvaluationWarning
        What was warned about: each model, metric, time and group by itself.
    """

    scores: list[TableCell]
    task: Task
    confidence: float | None
    support: dict[str, Any]
    cases: list[EvaluationWarning]
    seed: int
    models: tuple[str, ...] = ()
    #: What the models said, for displays; empty where it was streamed.
    predictions: dict[str, Prediction] = field(default_factory=dict)
    #: What times are counted in, or nothing.
    unit: str = ""
    #: Date, version and call, and the files that the outcomes and predictions came from.
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def warnings(self) -> list[JoinedWarning]:
        """What to be careful about, those to read first first: ``warning.code``, ``.message``.

        Warnings of one kind are one, which names the `metrics`, `models` and `groups` that it is
        about; its `cases` are each of them by itself. The `weight` is "problem", "caution" or
        "note", by the code and by how much is affected. Notes come last; before them stand warnings
        about the data and the metrics that ``print(ev)`` shows.
        """
        return joined(self.cases, self._numbers())

    def _numbers(self) -> dict[str, Any]:
        """Return models, metrics and support as plain data."""
        known = {"models": self.models, "metrics": self.rows(), "support": self.support}
        return {name: plain(part) for name, part in known.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain dictionaries, without pandas.

        Where there are groups, rows have the key group; it is None for everybody together.
        """
        return [
            self._grouped(score.row() | {"unit": metric_unit(score.metric, self.unit)})
            for score in self.scores
        ]

    def _grouped(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"group": None, **row} if "groups" in self.support else row

    @property
    def table(self) -> Any:
        """Frame with a row per model and metric; `conventions` says how each was computed.

        Columns: group (where there are groups; "all subjects" comes first), model, metric, time
        (that the metric is read at), until (up to which time it looks; both are missing where there
        is none), value, low, high, stderr, withheld (why there is no interval, where the assumed
        tail decides an error without a horizon; else empty), tail_low and tail_high (its range over
        the tails hold, linear and exponential then), skill (1 - loss / loss of the reference set's
        Kaplan-Meier, of a cause its Aalen-Johansen), direction, unit (what times are counted in,
        such as days, or days^2 for squared errors).
        """
        elsewhere = ("interval", "convention")
        rows = self._named_groups()
        return as_frame([{k: v for k, v in row.items() if k not in elsewhere} for row in rows])

    def _named_groups(self) -> list[dict[str, Any]]:
        """Return the rows, with a name for everybody together where there are groups."""
        whole = {"group": ALL_SUBJECTS}
        return [row | whole if row.get("group", "") is None else row for row in self.rows()]

    def wide(self, digits: int = 3) -> Any:
        """Return a frame with a row per model and a column per metric, as a paper prints it.

        Cells are text: ``value [low, high]``, each number to `digits` significant digits; without
        brackets where there is no interval, "-" where a metric has no value, and missing where it
        does not apply to a model. The index is the model (with groups: group and model); a metric
        that is read at several times has a column for each. `table` has the numbers themselves.
        """
        rows = wide_rows(self._named_groups(), whole_number(digits, "digits", 1))
        return as_frame(rows).set_index(["group", "model"] if "groups" in self.support else "model")

    @property
    def conventions(self) -> Any:
        """Frame that says how each number was computed: model, metric, rule, value.

        The rule "interval" says on which scale the interval is symmetric (normal, log, logit;
        edge: bound of a share of 0 or 1; none); the others are those of the metric's convention.
        """
        found = []
        for row in self.rows():
            names = {k: row[k] for k in ("group", "model", "metric", "time") if k in row}
            rules = {"interval": row["interval"], **row["convention"]}
            found += [{**names, "rule": rule, "value": value} for rule, value in rules.items()]
        return as_frame(found)

    @property
    def verdict(self) -> str:
        """Who is best, by how much and how surely, in a sentence or two.

        No difference is called better unless its p-value, adjusted for the number of comparisons,
        is below 1 - confidence. Models without a clear difference from the best are named, unless
        they are all the others and many.
        """
        return " ".join(verdict_sentences(self.to_dict()))

    def comparisons(self, reference: str | None = None) -> list[dict[str, Any]]:
        """Return all pairs of models on all metrics as plain dictionaries.

        The same as `compare`, with all ways of adjusting: low, high and p_value of each pair alone,
        p_holm (Holm), and low_simultaneous, high_simultaneous and p_simultaneous (Bonferroni).
        """
        pairs = list(combinations(self.models, 2))
        if reference is not None:
            one_of("reference", reference, self.models)
            pairs = [(model, reference) for model in self.models if model != reference]
        rows = []
        by_cell = {(s.group, s.metric.name, s.time, s.model): s for s in self.scores}
        cells = dict.fromkeys((s.group, s.metric.name, s.time) for s in self.scores)
        for cell in cells:
            family = []
            for a, b in pairs:
                first, second = by_cell.get((*cell, a)), by_cell.get((*cell, b))
                if first is None or second is None or not first.metric.ranks_models:
                    continue
                labels = self._grouped(_labels(first, model_a=a, model_b=b))
                family.append((labels, compared(first, second, self.confidence)))
            rows += adjusted(family, self.confidence)
        return rows

    def baseline_comparisons(self) -> list[dict[str, Any]]:
        """Return how each loss differs from that of one prediction for everybody.

        That is Kaplan-Meier of the reference set, of a cause Aalen-Johansen. Plain dictionaries:
        model, metric, time, difference (model - the prediction for everybody), low, high,
        p_value, and what is adjusted for the choice among the models of a metric (at a time):
        p_holm (Holm), and low_simultaneous, high_simultaneous and p_simultaneous (Bonferroni),
        which hold for all `family` models together and agree with each other; withheld, tail_low
        and tail_high as in `table`. A model that predicts what the baseline predicts
        (``support["same_as_baseline"]``) has no row: it is compared with the others by `compare`.
        """
        families: dict[Any, list[tuple[dict[str, Any], Comparison]]] = {}
        same = self.support.get("same_as_baseline", ())
        for score in self.scores:
            if score.against_baseline is not None and score.model not in same:
                family = families.setdefault((score.group, score.metric.name, score.time), [])
                labels = self._grouped(_labels(score, model=score.model))
                family.append((labels, score.against_baseline))
        found = [row for family in families.values() for row in adjusted(family, self.confidence)]
        order = {(s.group, s.model, s.metric.name, s.time): k for k, s in enumerate(self.scores)}

        def place(row: dict[str, Any]) -> int:
            return order[row.get("group"), row["model"], row["metric"], row["time"]]

        return sorted(found, key=place)

    def group_differences(self) -> Any:
        """Test for each metric and model whether it differs between the groups of `by`.

        Returns
        -------
        DataFrame
            by (the column, None where it has no name), model, metric, time, groups (how many have
            a standard error and at least 30 subjects and 10 events; others take no part), statistic
            (Cochran's Q on the scale of the intervals), p_value, least and largest (the groups with
            the least and the largest value), and p_holm (adjusted over the models of a metric).
            Empty where there are no groups to compare. ``to_dict()`` has the same without pandas.
        """
        return as_frame(group_differences(self.scores, self.support))

    def meta_analysis(self) -> Any:
        """Average each metric and model over the groups of `by`, such as hospitals.

        Returns
        -------
        DataFrame
            by (the column, None where it has no name), model, metric, time, groups (how many have
            a standard error and at least 30 subjects and 10 events; others take no part), then what
            `meta_analysis` finds on the scale of the metric: value, low, high (mean over groups),
            prediction_low, prediction_high (the true value of another group), tau2, i2, statistic,
            p_value, scale. Without tests and calibration distances, which small groups inflate;
            empty where there are no groups. ``to_dict()`` has the same without pandas.
        """
        return as_frame(group_means(self.scores, self.support, self.confidence or 0.95))

    def compare(self, reference: str | None = None) -> Any:
        """Compare all pairs of models on the same subjects.

        Parameters
        ----------
        reference : str, optional
            Name of a model: only the differences of the others from it, which are a smaller family.

        Returns
        -------
        DataFrame
            model_a, model_b, metric, time, difference (a - b), low, high and p_adjusted, which are
            adjusted alike over the `family` of pairs of models within a metric (at a time;
            Bonferroni): they hold for all pairs together and agree with each other. p_unadjusted
            is the p-value of the pair alone. Where the assumed tail decides there are none of
            these: withheld says why, tail_low and tail_high are the range of the difference over
            the assumed tails. `comparisons` also has the limits of each pair alone.
        """
        return as_frame([_adjusted_alone(row) for row in self.comparisons(reference)])

    @cached_property
    def tipping(self) -> TippingPoint | None:
        """How strongly event and censoring times must depend to turn the two best models around.

        Computed when first asked for. None where there are no two models with a `mae_within`, in
        streams, and with several causes, delayed entry or intervals.
        """
        errors = {s.model: s.value for s in self.scores if s.metric.name == METRIC and not s.group}
        return best_pair(self.task, self.predictions, errors)

    def plot(
        self, kind: str = "metrics", ax: Any = None, *, width: float | None = None, **options: Any
    ) -> Any:
        """Draw one of `survgauge.report.displays.DISPLAYS`; returns the figure.

        Parameters
        ----------
        kind : str
            metrics, differences, subjects, predicted_actual, errors, brier, auc, curves,
            risk_groups, d_calibration, calibration_panel, decision_curve, support or
            imputed_times.
        ax : matplotlib Axes or sequence of them, optional
            Where to draw, one per panel; by default on a new figure.
        width : float, optional
            Inches of a new figure: 3.5 (89 mm) for one column of a paper, 7 for two.
        **options
            What the kind takes, such as `models` or `time`.
        """
        # By name: displays know evaluations, not the other way round.
        displays = import_module("survgauge.report.displays")
        return displays.display(self, kind, **options).plot(ax, width=width)

    def to_html(
        self,
        path: Any,
        *,
        title: str = "Evaluation of survival models",
        audit: Any = None,
        landmarks: Any = None,
    ) -> Any:
        """Write a report: one page that works offline, with tables, charts and downloads.

        Parameters
        ----------
        path : path-like
            The HTML file.
        title : str
            Heading of the page.
        audit : Audit, optional
            Audit of the metrics on the same predictions, shown in a section of its own.
        landmarks : Landmarks, optional
            From `landmarks` on the same predictions, shown in a section of its own.

        Returns
        -------
        Path
            The file.
        """
        page = import_module("survgauge.report").evaluation_html
        return write_atomically(Path(path), page(self, title, audit, landmarks=landmarks))

    def study(
        self,
        *,
        reference: str | None = None,
        metrics: Sequence[str] | str = "study",
        X_test: Any = None,
        X_train: Any = None,
    ) -> Study:
        """Make the tables, figures and methods paragraph of a validation study.

        Parameters
        ----------
        reference : str, optional
            Name of a model from which Table 2 tells the differences of the others.
        metrics : sequence of str
            What Table 2 reports, of the metrics evaluated; "study": what a study usually reports.
        X_test, X_train : frame or mapping of columns, optional
            Features that Table 1 describes.

        Returns
        -------
        Study
            `table_one`, `table_two`, `methods`, and ``write(folder)``, which writes all files.
        """
        made: type[Study] = import_module("survgauge.report.study.result").Study
        return made.of(self, reference=reference, metrics=metrics, X_test=X_test, X_train=X_train)

    def to_text(self) -> str:
        """Return everything as text: all metrics, differences, support and warnings."""
        return plain_text(whole_text(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON (NaN becomes None)."""
        numbers, by_group = self._numbers(), (self.scores, self.support)
        means = group_means(*by_group, self.confidence or 0.95)
        return {
            "models": numbers["models"],
            "confidence": self.confidence,
            "unit": self.unit,
            "random_state": self.seed,
            "metrics": numbers["metrics"],
            "comparisons": plain(self.comparisons()),
            "baseline_comparisons": plain(self.baseline_comparisons()),
            "group_differences": plain(group_differences(*by_group)),
            "meta_analysis": plain(means),
            "baseline": EventWords.of(self.support).baseline,
            "support": numbers["support"],
            "tipping": None if self.tipping is None else plain(self.tipping.to_dict(self.unit)),
            "warnings": plain([w.to_dict() for w in joined(self.cases, numbers)]),
            "provenance": plain(self.provenance),
        }

    def __str__(self) -> str:
        return plain_text(first_screen(self))

    def _repr_html_(self) -> str:
        return str(import_module("survgauge.report").evaluation_card(self.to_dict()))

    def __repr__(self) -> str:
        return (
            f"Evaluation({len(self.models)} models x "
            f"{len({s.metric.name for s in self.scores})} metrics, {len(self.warnings)} warnings)"
        )


def _labels(score: TableCell, **models: str) -> dict[str, Any]:
    """Say which cell a comparison is about."""
    group = {} if score.group is None else {"group": score.group}
    return {**group, **models, "metric": score.metric.name, "time": score.time}


def _adjusted_alone(row: dict[str, Any]) -> dict[str, Any]:
    """Return a comparison with one pair of limits and their p-value, and that of the pair alone."""
    labels = ("group", "model_a", "model_b", "metric", "time", "difference")
    return {
        **{name: row[name] for name in labels if name in row},
        "low": row["low_simultaneous"],
        "high": row["high_simultaneous"],
        "p_adjusted": row["p_simultaneous"],
        "p_unadjusted": row["p_value"],
        **{name: row[name] for name in ("family", "withheld", "tail_low", "tail_high")},
    }
