"""The public names and where they live; `__init__.py` loads each when it is first used."""

from .bench import datasets as datasets
from .bench import experiment as experiment
from .bench import leaderboard as leaderboard
from .bench import models as models
from .bench.censoring import Entries as Entries
from .bench.censoring import SemiSynthetic as SemiSynthetic
from .bench.censoring import Visits as Visits
from .bench.censoring import delayed_entry as delayed_entry
from .bench.censoring import semisynthetic as semisynthetic
from .bench.censoring import visits as visits
from .data import preprocessing as preprocessing
from .data.adapters import as_curves as as_curves
from .data.adapters import as_incidence as as_incidence
from .data.adapters import curves_from_aft as curves_from_aft
from .data.adapters import curves_from_quantiles as curves_from_quantiles
from .data.curves import SurvivalCurves as SurvivalCurves
from .data.incidence import IncidenceCurves as IncidenceCurves
from .data.outcomes import IntervalOutcomes as IntervalOutcomes
from .data.outcomes import Outcomes as Outcomes
from .data.predictions import RiskScores as RiskScores
from .errors import InputError as InputError
from .errors import MissingExtraError as MissingExtraError
from .errors import SurvgaugeError as SurvgaugeError
from .errors import UndefinedMetricError as UndefinedMetricError
from .estimators.aalen_johansen import AalenJohansen as AalenJohansen
from .estimators.aalen_johansen import subdistribution_weights as subdistribution_weights
from .estimators.blending import conditional as conditional
from .estimators.conditional import Conditional as Conditional
from .estimators.kaplan_meier import KaplanMeier as KaplanMeier
from .estimators.reference import OutcomeCounts as OutcomeCounts
from .estimators.reference import Reference as Reference
from .estimators.reference import reference_curves as reference_curves
from .estimators.surrogates import Method as Method
from .estimators.surrogates import Surrogates as Surrogates
from .estimators.surrogates import pseudo_observations as pseudo_observations
from .estimators.surrogates import surrogate_times as surrogate_times
from .estimators.turnbull import Turnbull as Turnbull
from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .evaluation.audit import Audit as Audit
from .evaluation.audit import audit as audit
from .evaluation.boosters import booster_metric as booster_metric
from .evaluation.inference import compare_folds as compare_folds
from .evaluation.inference import holm as holm
from .evaluation.landmarks import Landmarks as Landmarks
from .evaluation.landmarks import landmarks as landmarks
from .evaluation.meta_analysis import MetaAnalysis as MetaAnalysis
from .evaluation.meta_analysis import meta_analysis as meta_analysis
from .evaluation.pooling import Pooled as Pooled
from .evaluation.pooling import pooled as pooled
from .evaluation.scorers import SurvivalKFold as SurvivalKFold
from .evaluation.scorers import scorer as scorer
from .evaluation.sources import CurveColumns as CurveColumns
from .evaluation.sources import Evaluator as Evaluator
from .evaluation.sources import IncidenceColumns as IncidenceColumns
from .evaluation.sources import RiskColumn as RiskColumn
from .evaluation.sources import TimeColumn as TimeColumn
from .evaluation.sources import evaluate_dask as evaluate_dask
from .evaluation.sources import evaluate_stream as evaluate_stream
from .evaluation.tipping import TippingPoint as TippingPoint
from .evaluation.tipping import tipping_point as tipping_point
from .metrics.calibration.d_calibration import CalibrationResult as CalibrationResult
from .metrics.calibration.d_calibration import a_calibration as a_calibration
from .metrics.calibration.d_calibration import d_calibration as d_calibration
from .metrics.calibration.ici import ICIResult as ICIResult
from .metrics.calibration.ici import (
    integrated_calibration_index as integrated_calibration_index,
)
from .metrics.calibration.ici import (
    integrated_calibration_index_cox as integrated_calibration_index_cox,
)
from .metrics.calibration.interval_calibration import IntervalCalibration as IntervalCalibration
from .metrics.calibration.interval_calibration import interval_calibration as interval_calibration
from .metrics.calibration.km_calibration import km_calibration as km_calibration
from .metrics.calibration.observed_expected import ObservedExpected as ObservedExpected
from .metrics.calibration.observed_expected import observed_expected as observed_expected
from .metrics.calibration.one_calibration import one_calibration as one_calibration
from .metrics.calibration.recalibration import Recalibration as Recalibration
from .metrics.calibration.recalibration import recalibrate as recalibrate
from .metrics.calibration.residuals import coverage as coverage
from .metrics.calibration.residuals import cox_snell_residuals as cox_snell_residuals
from .metrics.calibration.residuals import deviance_residuals as deviance_residuals
from .metrics.calibration.residuals import martingale_residuals as martingale_residuals
from .metrics.calibration.residuals import residual_details as residual_details
from .metrics.calibration.weak_calibration import WeakCalibration as WeakCalibration
from .metrics.calibration.weak_calibration import calibration_slope as calibration_slope
from .metrics.calibration.weak_calibration import calibration_slope_cox as calibration_slope_cox
from .metrics.calibration.weak_calibration import weak_calibration as weak_calibration
from .metrics.censoring_tests import CensoringTest as CensoringTest
from .metrics.censoring_tests import censoring_test as censoring_test
from .metrics.conventions import Convention as Convention
from .metrics.decision.net_benefit import NetBenefit as NetBenefit
from .metrics.decision.net_benefit import net_benefit as net_benefit
from .metrics.decision.risk_groups import RiskGroups as RiskGroups
from .metrics.decision.risk_groups import risk_groups as risk_groups
from .metrics.probability.brier import binomial_log_likelihood as binomial_log_likelihood
from .metrics.probability.brier import brier_score as brier_score
from .metrics.probability.brier import brier_skill as brier_skill
from .metrics.probability.brier import (
    integrated_binomial_log_likelihood as integrated_binomial_log_likelihood,
)
from .metrics.probability.brier import integrated_brier_score as integrated_brier_score
from .metrics.probability.crps import crps as crps
from .metrics.probability.log_likelihood import log_likelihood as log_likelihood
from .metrics.probability.multi_cause import (
    integrated_multi_cause_score as integrated_multi_cause_score,
)
from .metrics.probability.multi_cause import multi_cause_score as multi_cause_score
from .metrics.ranking.auc import cumulative_dynamic_auc as cumulative_dynamic_auc
from .metrics.ranking.by_package import ConcordanceByPackage as ConcordanceByPackage
from .metrics.ranking.by_package import concordance_by_package as concordance_by_package
from .metrics.ranking.concordance import ComparablePairs as ComparablePairs
from .metrics.ranking.concordance import comparable_pairs as comparable_pairs
from .metrics.ranking.concordance import concordance_index as concordance_index
from .metrics.ranking.concordance import concordance_td as concordance_td
from .metrics.ranking.royston import RoystonD as RoystonD
from .metrics.ranking.royston import royston_d as royston_d
from .metrics.registry import Metric as Metric
from .metrics.registry import available_metrics as available_metrics
from .metrics.registry import register_method as register_method
from .metrics.registry import register_metric as register_metric
from .metrics.score import CurveResult as CurveResult
from .metrics.score import Score as Score
from .metrics.score import Terms as Terms
from .metrics.skill import skill as skill
from .metrics.time.time_errors import mae as mae
from .metrics.time.time_errors import mse as mse
from .metrics.time.time_errors import rmse as rmse
from .metrics.time.time_errors import time_error as time_error
from .metrics.time.time_errors import time_errors as time_errors
from .metrics.training import TrainingTargets as TrainingTargets
from .metrics.training import training_targets as training_targets
from .report import displays as displays
from .report.study.result import Study as Study
from .report.study.validation import Validation as Validation
from .report.study.validation import validate as validate

__version__: str
__all__: list[str]
