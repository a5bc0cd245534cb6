"""What is measured: our call, the peers' calls, and what we promise.

A new work is one entry of `WORKS`; a metric of the registry is one by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import ours
import targets
from data import Data
from ours import Setup
from peers import arrays, frames, survival_eval
from peers.in_r import RWork
from targets import Target

#: Metrics that may grow faster than n^1.15: exact counting in half planes.
FREE_GROWTH = ("antolini",)


@dataclass(frozen=True)
class Work:
    """One thing that people compute."""

    name: str
    group: str
    ours: Setup
    peers: Mapping[str, Setup | RWork] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    #: Sizes for a peer where those asked for are out of its reach.
    peer_sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: Something elementary on the same data, to measure against.
    yardstick: Setup = ours.argsort
    #: Bytes of the input, where memory is promised as a multiple of it.
    input_bytes: Callable[[Data], int] | None = None


_CORE = (
    Work(
        "po",
        "core",
        ours.po,
        {"SurvivalEVAL": survival_eval.po},
        (
            targets.faster_than("SurvivalEVAL", 1000),
            targets.within_yardsticks(10, "argsort"),
            targets.growth(100_000, 1_000_000, 14),
        ),
    ),
    Work(
        "pseudo-observations",
        "core",
        ours.pseudo,
        {
            "survival (Rust), infinitesimal": arrays.rust_pseudo,
            "R survival, infinitesimal": RWork("pseudo"),
        },
    ),
    Work(
        "Kaplan-Meier",
        "core",
        ours.kaplan_meier,
        {
            "scikit-survival": arrays.sksurv_kaplan_meier,
            "lifelines": arrays.lifelines_kaplan_meier,
            "survival (Rust)": arrays.rust_kaplan_meier,
            "R survival": RWork("kaplan_meier"),
        },
    ),
    Work(
        "medians of curves",
        "core",
        ours.medians,
        {"SurvivalEVAL": survival_eval.medians},
        (targets.faster_than("SurvivalEVAL", 40),),
        yardstick=ours.curve_pass,
    ),
    Work(
        "eight time errors",
        "core",
        ours.time_errors,
        {"SurvivalEVAL, four quick ones": survival_eval.errors},
        (targets.subjects_per_second(4e6, 100_000), targets.subjects_per_second(4e6, 1_000_000)),
    ),
)
_DISCRIMINATION = (
    Work(
        "Harrell C, standard error",
        "metrics",
        ours.harrell,
        {
            "lifelines": arrays.lifelines_harrell,
            "SurvivalEVAL": survival_eval.harrell,
            "scikit-survival": arrays.sksurv_harrell,
            "torchsurv": frames.torchsurv_harrell,
            "survival (Rust)": arrays.rust_harrell,
            "R survival": RWork("harrell"),
        },
        (targets.faster_than("lifelines", 12),),
    ),
    Work(
        "Uno C",
        "metrics",
        ours.uno,
        {
            "SurvivalEVAL": survival_eval.uno,
            "scikit-survival": arrays.sksurv_uno,
            "hazardous": frames.hazardous_uno,
            "survival (Rust)": arrays.rust_uno,
            "R survival": RWork("uno"),
        },
        (targets.faster_than("SurvivalEVAL", 15),),
    ),
    Work(
        "Antolini C",
        "metrics",
        ours.antolini,
        {"SurvivalEVAL": survival_eval.antolini, "pycox, steps": frames.pycox_antolini},
        (targets.faster_than("SurvivalEVAL", 20), targets.memory(60)),
        yardstick=ours.curve_pass,
    ),
    Work(
        "AUC of risks, 100 times",
        "metrics",
        ours.auc(ours.risk),
        {
            "scikit-survival": arrays.sksurv_auc,
            "torchsurv": frames.torchsurv_auc,
            "survival (Rust)": arrays.rust_auc,
            "riskRegression": RWork("auc"),
        },
        (targets.faster_than("scikit-survival", 10), targets.memory(100)),
    ),
    Work(
        "AUC of curves, 100 times",
        "metrics",
        ours.auc(ours.curves_at_times),
        {"scikit-survival": arrays.sksurv_auc_curves},
        (targets.faster_than("scikit-survival", 3), targets.memory(100)),
        yardstick=ours.curve_pass,
    ),
    Work(
        "AUC of risks with interval",
        "metrics",
        ours.auc(ours.risk, stderr="fixed"),
        {
            "torchsurv, one time": frames.torchsurv_auc_interval,
            "riskRegression, one time": RWork("auc_interval"),
        },
        (targets.seconds(2),),
        peer_sizes={"torchsurv, one time": (200, 400, 800)},
    ),
)
_PROBABILITY = (
    Work(
        "IBS, 100 times",
        "metrics",
        ours.integrated("integrated_brier_score", ours.curves_at_times),
        {
            "SurvivalEVAL": survival_eval.ibs,
            "scikit-survival": arrays.sksurv_ibs,
            "hazardous": frames.hazardous_ibs,
            "torchsurv": frames.torchsurv_ibs,
            "pycox": frames.pycox_ibs,
            "survival (Rust)": arrays.rust_ibs,
            "riskRegression": RWork("ibs", curves=True),
        },
        (
            targets.faster_than("SurvivalEVAL", 3),
            targets.faster_than("scikit-survival", 3),
            targets.memory(20),
        ),
        yardstick=ours.curve_pass,
    ),
    Work(
        "IBS between grid points",
        "metrics",
        ours.integrated("integrated_brier_score", ours.curves),
        {"SurvivalEVAL": survival_eval.ibs_between},
        (targets.faster_than("SurvivalEVAL", 3), targets.memory(20)),
        yardstick=ours.curve_pass,
    ),
    Work(
        "integrated log loss, 100 times",
        "metrics",
        ours.integrated("integrated_binomial_log_likelihood", ours.curves_at_times),
        {"pycox": frames.pycox_ibll},
        yardstick=ours.curve_pass,
    ),
    Work(
        "D-calibration",
        "metrics",
        ours.d_calibration,
        {"SurvivalEVAL": survival_eval.d_calibration},
        (targets.faster_than("SurvivalEVAL", 300),),
    ),
    Work(
        "1-calibration",
        "metrics",
        ours.one_calibration,
        {"SurvivalEVAL": survival_eval.one_calibration},
        (targets.faster_than("SurvivalEVAL", 300),),
    ),
    Work(
        "KM calibration",
        "metrics",
        ours.km_calibration,
        {
            "SurvivalEVAL": survival_eval.km_calibration,
            "hazardous": frames.hazardous_km_calibration,
        },
        yardstick=ours.curve_pass,
    ),
    Work(
        "decision curve, 99 thresholds",
        "metrics",
        ours.net_benefit,
        {"dcurves": frames.dcurves_net_benefit, "rtichoke": frames.rtichoke_net_benefit},
    ),
    Work(
        "ICI",
        "metrics",
        ours.ici,
        {"SurvivalEVAL": survival_eval.ici},
        (targets.faster_than("SurvivalEVAL", 10),),
    ),
)
_CAUSES = (
    Work(
        "IBS of a cause, 100 times",
        "metrics",
        ours.of_causes("integrated_brier_score", cause=1),
        {"SurvivalEVAL": survival_eval.ibs_of_cause, "hazardous": frames.hazardous_ibs_of_cause},
        (targets.faster_than("SurvivalEVAL", 1), targets.faster_than("hazardous", 1)),
        yardstick=ours.curve_pass,
    ),
    Work(
        "IPCW C of a cause",
        "metrics",
        ours.concordance_of_cause,
        {"SurvivalEVAL": survival_eval.c_of_cause, "hazardous": frames.hazardous_c_of_cause},
        (targets.faster_than("SurvivalEVAL", 1), targets.faster_than("hazardous", 1)),
    ),
    Work(
        "AUC of a cause, one time",
        "metrics",
        ours.auc_of_cause,
        {"SurvivalEVAL": survival_eval.auc_of_cause},
        (targets.faster_than("SurvivalEVAL", 1),),
    ),
    Work(
        "log loss of all causes, 100 times",
        "metrics",
        ours.of_causes("integrated_multi_cause_score"),
        yardstick=ours.curve_pass,
    ),
    Work(
        "Antolini C of a cause",
        "metrics",
        ours.antolini_of_cause,
        yardstick=ours.curve_pass,
    ),
)
_EVALUATE = (
    Work(
        "evaluate, one model",
        "evaluate",
        ours.evaluate,
        {"SurvivalEVAL, no intervals": survival_eval.report},
        (targets.seconds(10),),
        yardstick=ours.curve_pass,
    ),
    Work(
        "evaluate, ten models of 1,000",
        "evaluate",
        ours.evaluate_ten,
        targets=(targets.seconds(1),),
        yardstick=ours.curve_pass,
    ),
    Work(
        "evaluate float32, no intervals",
        "evaluate",
        ours.evaluate_single(None),
        targets=(targets.wall(10, 1_000_000), targets.input_multiple(1.3, 1_000_000)),
        yardstick=ours.curve_pass,
        input_bytes=ours.single_input,
    ),
    Work(
        "evaluate float32, intervals",
        "evaluate",
        ours.evaluate_single(0.95),
        targets=(targets.wall(40, 1_000_000),),
        yardstick=ours.curve_pass,
        input_bytes=ours.single_input,
    ),
)


def _registry_works() -> tuple[Work, ...]:
    """One work a metric; they share a process, because there are many."""
    from survgauge.metrics.registry import metrics_of

    promise = (targets.exponent(100_000, 1_000_000, 1.15),)
    return tuple(
        Work(
            f"metric {name}",
            "registry",
            ours.registered(name, metric.needs, metric.supports),
            targets=() if name in FREE_GROWTH else promise,
        )
        for name, metric in metrics_of().items()
    )


WORKS = (*_CORE, *_DISCRIMINATION, *_PROBABILITY, *_CAUSES, *_registry_works(), *_EVALUATE)
BY_NAME = {work.name: work for work in WORKS}
