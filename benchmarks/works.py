"""The registry: what is measured, our call, the peers' calls, and what we promise.

A new work is one entry of `WORKS`. Functions take the data, set up untimed, and return the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import peers
import targets
from data import Data
from targets import Target

Setup = Callable[[Data], Callable[[], Any]]


@dataclass(frozen=True)
class Work:
    """One thing that people compute."""

    name: str
    group: str
    ours: Setup
    peers: Mapping[str, Setup] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    #: Names of the package that the work needs; without them it is reported as not available.
    needs: tuple[str, ...] = ()
    #: Sizes that only ours is measured at, besides those asked for.
    more_sizes: tuple[int, ...] = ()
    #: Sizes for the peers where those asked for are out of reach.
    peer_sizes: tuple[int, ...] = ()
    #: Something elementary on the same data, to measure against.
    yardstick: Setup | None = None


def _po(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    return lambda: sg.mae(data.test, data.predicted, y_train=data.train, method="po")


def _argsort(data: Data) -> Callable[[], Any]:
    return lambda: np.argsort(data.train[0])


def _time_errors(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    reference = sg.Reference(data.train)
    sg.time_errors(data.test, data.predicted, y_train=reference)  # fits the reference
    return lambda: sg.time_errors(data.test, data.predicted, y_train=reference)["po"].value


def _curves(data: Data) -> Any:
    import survgauge as sg

    return sg.SurvivalCurves(data.grid, data.survival)


def _medians(data: Data) -> Callable[[], Any]:
    curves = _curves(data)
    return lambda: curves.median()


def _harrell(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    def with_standard_error() -> float:
        details = sg.concordance_index_details(data.test, data.risk)
        return details.value if details.stderr > 0 else float("nan")

    return with_standard_error


def _uno(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    return lambda: sg.concordance_index(data.test, data.risk, method="uno", y_train=data.train)


def _antolini(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    curves = _curves(data)
    return lambda: sg.concordance_td(data.test, curves)


def _curves_at_times(data: Data) -> Any:
    """Curves whose grid is the evaluation times, for peers that do not interpolate."""
    import survgauge as sg

    return sg.SurvivalCurves(data.times, data.survival_at_times)


def _ibs_of(predicted: Callable[[Data], Any]) -> Setup:
    def setup(data: Data) -> Callable[[], Any]:
        import survgauge as sg

        curves = predicted(data)
        return lambda: sg.integrated_brier_score(data.test, curves, data.times, y_train=data.train)

    return setup


def _auc_of(predicted: Callable[[Data], Any], **options: Any) -> Setup:
    def setup(data: Data) -> Callable[[], Any]:
        import survgauge as sg

        given, settings = predicted(data), {"y_train": data.train, **options}
        return lambda: sg.cumulative_dynamic_auc(data.test, given, data.times, **settings).mean

    return setup


def _risk(data: Data) -> Any:
    return data.risk


def _d_calibration(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    curves = _curves(data)
    return lambda: sg.d_calibration(data.test, curves).p_value


def _one_calibration(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    curves = _curves(data)
    return lambda: sg.one_calibration(data.test, curves, data.middle).p_value


def _ici(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    curves = _curves(data)
    return lambda: sg.integrated_calibration_index(data.test, curves, data.middle).ici


def _evaluate(data: Data) -> Callable[[], Any]:
    import survgauge as sg

    curves = _curves(data)

    def report() -> int:
        return len(sg.evaluate({"model": curves}, data.test, y_train=data.train).table)

    return report


WORKS = (
    Work(
        "po",
        "core",
        _po,
        {"SurvivalEVAL": peers.survival_eval_po},
        (
            targets.faster_than("SurvivalEVAL", 1000),
            targets.within_yardsticks(10, "argsort"),
            targets.growth(100_000, 1_000_000, 14),
        ),
        needs=("mae",),
        more_sizes=(1_000_000,),
        yardstick=_argsort,
    ),
    Work(
        "medians of curves",
        "core",
        _medians,
        {"SurvivalEVAL": peers.survival_eval_medians},
        (targets.faster_than("SurvivalEVAL", 40),),
        needs=("SurvivalCurves",),
    ),
    Work(
        "eight time errors",
        "core",
        _time_errors,
        {"SurvivalEVAL, four quick ones": peers.survival_eval_errors},
        (targets.subjects_per_second(4e6, 100_000), targets.subjects_per_second(4e6, 1_000_000)),
        needs=("time_errors", "Reference"),
        more_sizes=(1_000_000,),
    ),
    Work(
        "Harrell C, standard error",
        "metrics",
        _harrell,
        {
            "lifelines": peers.lifelines_harrell,
            "SurvivalEVAL": peers.survival_eval_harrell,
            "scikit-survival": peers.sksurv_harrell,
        },
        (targets.faster_than("lifelines", 12),),
        needs=("concordance_index_details",),
    ),
    Work(
        "Uno C",
        "metrics",
        _uno,
        {"SurvivalEVAL": peers.survival_eval_uno, "scikit-survival": peers.sksurv_uno},
        (targets.faster_than("SurvivalEVAL", 15),),
        needs=("concordance_index",),
    ),
    Work(
        "Antolini C",
        "metrics",
        _antolini,
        {"SurvivalEVAL": peers.survival_eval_antolini, "pycox, steps": peers.pycox_antolini},
        (targets.faster_than("SurvivalEVAL", 100), targets.memory(60)),
        needs=("concordance_td",),
    ),
    Work(
        "IBS, 100 times",
        "metrics",
        _ibs_of(_curves_at_times),
        {
            "SurvivalEVAL": peers.survival_eval_ibs,
            "scikit-survival": peers.sksurv_ibs,
            "hazardous": peers.hazardous_ibs,
        },
        (
            targets.faster_than("SurvivalEVAL", 3),
            targets.faster_than("scikit-survival", 3),
            targets.memory(20),
        ),
        needs=("integrated_brier_score",),
    ),
    Work(
        "IBS between grid points",
        "metrics",
        _ibs_of(_curves),
        {"SurvivalEVAL": peers.survival_eval_ibs_between},
        (targets.faster_than("SurvivalEVAL", 3), targets.memory(20)),
        needs=("integrated_brier_score",),
    ),
    Work(
        "AUC of risks, 100 times",
        "metrics",
        _auc_of(_risk),
        {"scikit-survival": peers.sksurv_auc},
        (targets.faster_than("scikit-survival", 10), targets.memory(100)),
        needs=("cumulative_dynamic_auc",),
    ),
    Work(
        "AUC of curves, 100 times",
        "metrics",
        _auc_of(_curves_at_times),
        {"scikit-survival": peers.sksurv_auc_curves},
        (targets.faster_than("scikit-survival", 3), targets.memory(100)),
        needs=("cumulative_dynamic_auc",),
    ),
    Work(
        "AUC of risks with interval",
        "metrics",
        _auc_of(_risk, stderr="fixed"),
        {"torchsurv, one time": peers.torchsurv_auc_interval},
        (targets.seconds(2),),
        needs=("cumulative_dynamic_auc",),
        peer_sizes=(200, 400, 800),
    ),
    Work(
        "D-calibration",
        "metrics",
        _d_calibration,
        {"SurvivalEVAL": peers.survival_eval_d_calibration},
        (targets.faster_than("SurvivalEVAL", 300),),
        needs=("d_calibration",),
    ),
    Work(
        "1-calibration",
        "metrics",
        _one_calibration,
        {"SurvivalEVAL": peers.survival_eval_one_calibration},
        (targets.faster_than("SurvivalEVAL", 300),),
        needs=("one_calibration",),
    ),
    Work(
        "ICI",
        "metrics",
        _ici,
        {"SurvivalEVAL": peers.survival_eval_ici},
        (targets.faster_than("SurvivalEVAL", 10),),
        needs=("integrated_calibration_index",),
    ),
    Work(
        "evaluate, one model",
        "metrics",
        _evaluate,
        {"SurvivalEVAL, no intervals": peers.survival_eval_report},
        (targets.seconds(10),),
        needs=("evaluate",),
    ),
)
BY_NAME = {work.name: work for work in WORKS}
