"""Which metrics are computed: those named, the usual ones, or those of a study."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import InputError, one_of
from ..metrics.registry import REGISTRY, Metric, current_name, default_metrics, metrics_of
from .warnings import EvaluationWarning


def chosen_metrics(
    metrics: Iterable[str] | str | None,
    n: int,
    threshold: float | None = None,
    cause: int | str | None = None,
    outcomes: str = "right",
) -> tuple[list[Metric], list[EvaluationWarning]]:
    """Return metrics by name; by default all that suit the number of subjects.

    "study" stands for what a validation study reports.
    """
    if metrics is None:
        usual, chosen = (
            default_metrics(size, threshold=threshold, cause=cause, outcomes=outcomes)
            for size in (0, n)
        )
        skipped = [metric for metric in usual if metric not in chosen]
        return chosen, [_skipped(metric, n) for metric in skipped]
    if not isinstance(metrics, Iterable):
        raise InputError(f"metrics must be a list of names; got {metrics!r}")
    if isinstance(metrics, str) and metrics == "study":  # an array compares each entry
        known = [m for m in metrics_of(outcomes, cause).values() if m.reported]
        if not known:
            raise InputError(
                "a study reports metrics of right-censored outcomes, and these are "
                "interval-censored: use evaluate, whose table and page have the metrics of these"
            )
        return [m for m in known if threshold is not None or not m.reads_threshold], []
    names = [current_name(n) for n in ([metrics] if isinstance(metrics, str) else metrics)]
    for name in names:
        one_of("metrics", name, REGISTRY, "survgauge metrics or sg.available_metrics()")
    if not names:
        raise InputError("metrics must name at least one metric; got an empty list")
    chosen = [REGISTRY[name] for name in dict.fromkeys(names)]
    for metric in chosen:
        metric.check_threshold(threshold)
        metric.check_cause(cause)
        metric.check_outcomes(outcomes)
    return chosen, []


def under_dependence(
    chosen: list[Metric], named: bool
) -> tuple[list[Metric], list[EvaluationWarning]]:
    """Return the metrics that heed an assumed dependence; refuse others that were named."""
    heed = [metric.takes_dependence for metric in chosen]
    how = "know independent censoring only", "leave out dependence"
    kept, message = _heeding(chosen, named, heed, *how)
    return kept, [EvaluationWarning("assumes-independence", message)] if message else []


def under_entry(
    chosen: list[Metric], named: bool, cause: int | str | None = None
) -> tuple[list[Metric], list[EvaluationWarning]]:
    """Return the metrics that heed delayed entry; refuse others that were named."""
    heed = [metric.heeds_entry(cause) for metric in chosen]
    instead = "give landmark=, which counts time from one time on for those at risk then"
    lack = "know no delayed entry" if cause is None else "know no delayed entry of a cause"
    kept, message = _heeding(chosen, named, heed, lack, instead)
    return kept, [EvaluationWarning("knows-no-entry", message)] if message else []


def _heeding(
    chosen: list[Metric], named: bool, heed: list[bool], lack: str, instead: str
) -> tuple[list[Metric], str]:
    """Return the metrics that heed something, and which others are left out, unless named."""
    kept = [metric for metric, knows in zip(chosen, heed, strict=True) if knows]
    others = [metric.name for metric in chosen if metric not in kept]
    many = len(others) > 1
    lacks, it = (lack, "them") if many else (lack.replace("know", "knows", 1), "it")
    if others and named:
        raise InputError(f"metrics: {', '.join(others)} {lacks}; leave {it} out, or {instead}")
    if not others:
        return kept, ""
    return kept, (
        f"{len(others)} of the default metrics {'are' if many else 'is'} left out, because "
        f"{'they' if many else 'it'} {lacks}: {', '.join(others)}"
    )


def _skipped(metric: Metric, n: int) -> EvaluationWarning:
    message = (
        f"{metric.name} is left out, because it takes long for more than "
        f"{metric.default_until:,.0f} subjects (here {n:,})"
    )
    return EvaluationWarning("metric-skipped", message)
