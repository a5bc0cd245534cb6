"""The public names and where they live; `__init__.py` loads each when it is first used."""

from . import datasets as datasets
from . import displays as displays
from . import experiment as experiment
from . import models as models
from . import preprocessing as preprocessing
from .auditing import Audit as Audit
from .auditing import audit as audit
from .blending import conditional as conditional
from .censoring import Entries as Entries
from .censoring import SemiSynthetic as SemiSynthetic
from .censoring import Visits as Visits
from .censoring import delayed_entry as delayed_entry
from .censoring import semisynthetic as semisynthetic
from .censoring import visits as visits
from .data.adapters import as_curves as as_curves
from .data.adapters import curves_from_aft as curves_from_aft
from .data.adapters import curves_from_quantiles as curves_from_quantiles
from .data.curves import SurvivalCurves as SurvivalCurves
from .data.folds import SurvivalKFold as SurvivalKFold
from .data.incidence import IncidenceCurves as IncidenceCurves
from .data.incidence_readers import as_incidence as as_incidence
from .data.intervals import IntervalOutcomes as IntervalOutcomes
from .data.outcomes import Outcomes as Outcomes
from .data.predictions import RiskScores as RiskScores
from .errors import InputError as InputError
from .errors import MissingExtraError as MissingExtraError
from .errors import SurvgaugeError as SurvgaugeError
from .errors import UndefinedMetricError as UndefinedMetricError
from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .evaluation.landmarks import Landmarks as Landmarks
from .evaluation.landmarks import landmarks as landmarks
from .evaluation.meta_analysis import MetaAnalysis as MetaAnalysis
from .evaluation.meta_analysis import meta_analysis as meta_analysis
from .evaluation.pooling import Pooled as Pooled
from .evaluation.pooling import pooled as pooled
from .evaluation.tipping import TippingPoint as TippingPoint
from .evaluation.tipping import tipping_point as tipping_point
from .inference import compare_folds as compare_folds
from .inference import holm as holm
from .metrics.calibration.a_calibration import a_calibration as a_calibration
from .metrics.calibration.calibration import d_calibration as d_calibration
from .metrics.calibration.calibration_measures import km_calibration as km_calibration
from .metrics.calibration.calibration_measures import (
    km_calibration_details as km_calibration_details,
)
from .metrics.calibration.coverage import coverage as coverage
from .metrics.calibration.coverage import coverage_details as coverage_details
from .metrics.calibration.cox_slope import calibration_slope_cox as calibration_slope_cox
from .metrics.calibration.cox_slope import (
    calibration_slope_cox_details as calibration_slope_cox_details,
)
from .metrics.calibration.interval_calibration import IntervalCalibration as IntervalCalibration
from .metrics.calibration.interval_calibration import interval_calibration as interval_calibration
from .metrics.calibration.interval_calibration import (
    interval_observed_expected as interval_observed_expected,
)
from .metrics.calibration.interval_calibration import turnbull_calibration as turnbull_calibration
from .metrics.calibration.interval_calibration import (
    turnbull_calibration_details as turnbull_calibration_details,
)
from .metrics.calibration.observed_expected import ObservedExpected as ObservedExpected
from .metrics.calibration.observed_expected import observed_expected as observed_expected
from .metrics.calibration.one_calibration import one_calibration as one_calibration
from .metrics.calibration.recalibration import Recalibration as Recalibration
from .metrics.calibration.recalibration import recalibrate as recalibrate
from .metrics.calibration.residuals import cox_snell_residuals as cox_snell_residuals
from .metrics.calibration.residuals import deviance_residuals as deviance_residuals
from .metrics.calibration.residuals import martingale_residuals as martingale_residuals
from .metrics.calibration.residuals import residual_details as residual_details
from .metrics.calibration.result import CalibrationResult as CalibrationResult
from .metrics.calibration.smooth_calibration import ICIResult as ICIResult
from .metrics.calibration.smooth_calibration import (
    integrated_calibration_index as integrated_calibration_index,
)
from .metrics.calibration.smooth_calibration import (
    integrated_calibration_index_cox as integrated_calibration_index_cox,
)
from .metrics.calibration.weak_calibration import WeakCalibration as WeakCalibration
from .metrics.calibration.weak_calibration import calibration_slope as calibration_slope
from .metrics.calibration.weak_calibration import (
    calibration_slope_details as calibration_slope_details,
)
from .metrics.calibration.weak_calibration import weak_calibration as weak_calibration
from .metrics.censoring_tests import CensoringTest as CensoringTest
from .metrics.censoring_tests import censoring_test as censoring_test
from .metrics.conventions import Convention as Convention
from .metrics.decision.net_benefit import NetBenefit as NetBenefit
from .metrics.decision.net_benefit import net_benefit as net_benefit
from .metrics.decision.risk_groups import RiskGroups as RiskGroups
from .metrics.decision.risk_groups import risk_groups as risk_groups
from .metrics.details import CurveResult as CurveResult
from .metrics.details import Details as Details
from .metrics.gray import GrayTest as GrayTest
from .metrics.gray import IncidenceByGroup as IncidenceByGroup
from .metrics.gray import gray_test as gray_test
from .metrics.gray import incidence_by_group as incidence_by_group
from .metrics.logrank import LogRankResult as LogRankResult
from .metrics.logrank import log_rank as log_rank
from .metrics.logrank import log_rank_test as log_rank_test
from .metrics.probability.accuracy import accuracy_in_time as accuracy_in_time
from .metrics.probability.brier_decomposition import brier_decomposition as brier_decomposition
from .metrics.probability.brier_skill import brier_skill as brier_skill
from .metrics.probability.densities import crps as crps
from .metrics.probability.densities import crps_details as crps_details
from .metrics.probability.densities import log_likelihood as log_likelihood
from .metrics.probability.densities import log_likelihood_details as log_likelihood_details
from .metrics.probability.interval_scores import interval_brier_score as interval_brier_score
from .metrics.probability.interval_scores import (
    interval_integrated_brier_score as interval_integrated_brier_score,
)
from .metrics.probability.interval_scores import (
    interval_integrated_brier_score_details as interval_integrated_brier_score_details,
)
from .metrics.probability.interval_scores import interval_log_likelihood as interval_log_likelihood
from .metrics.probability.interval_scores import (
    interval_log_likelihood_details as interval_log_likelihood_details,
)
from .metrics.probability.multi_cause import (
    integrated_multi_cause_score as integrated_multi_cause_score,
)
from .metrics.probability.multi_cause import (
    integrated_multi_cause_score_details as integrated_multi_cause_score_details,
)
from .metrics.probability.multi_cause import multi_cause_score as multi_cause_score
from .metrics.probability.probability import binomial_log_likelihood as binomial_log_likelihood
from .metrics.probability.probability import brier_score as brier_score
from .metrics.probability.probability import (
    integrated_binomial_log_likelihood as integrated_binomial_log_likelihood,
)
from .metrics.probability.probability import (
    integrated_binomial_log_likelihood_details as integrated_binomial_log_likelihood_details,
)
from .metrics.probability.probability import integrated_brier_score as integrated_brier_score
from .metrics.probability.probability import (
    integrated_brier_score_details as integrated_brier_score_details,
)
from .metrics.ranking.by_package import ConcordanceByPackage as ConcordanceByPackage
from .metrics.ranking.by_package import concordance_by_package as concordance_by_package
from .metrics.ranking.comparable import ComparablePairs as ComparablePairs
from .metrics.ranking.comparable import comparable_pairs as comparable_pairs
from .metrics.ranking.concordance_td import concordance_td as concordance_td
from .metrics.ranking.concordance_td import concordance_td_details as concordance_td_details
from .metrics.ranking.discrimination import concordance_index as concordance_index
from .metrics.ranking.discrimination import concordance_index_details as concordance_index_details
from .metrics.ranking.dynamic_auc import cumulative_dynamic_auc as cumulative_dynamic_auc
from .metrics.ranking.dynamic_auc import (
    cumulative_dynamic_auc_details as cumulative_dynamic_auc_details,
)
from .metrics.ranking.interval_concordance import interval_concordance as interval_concordance
from .metrics.ranking.interval_concordance import (
    interval_concordance_details as interval_concordance_details,
)
from .metrics.ranking.royston import RoystonD as RoystonD
from .metrics.ranking.royston import royston_d as royston_d
from .metrics.registry import Metric as Metric
from .metrics.registry import available_metrics as available_metrics
from .metrics.registry import register_method as register_method
from .metrics.registry import register_metric as register_metric
from .metrics.skill import skill as skill
from .metrics.skill import skill_details as skill_details
from .metrics.terms import Terms as Terms
from .metrics.time.interval_errors import interval_error as interval_error
from .metrics.time.interval_errors import interval_error_details as interval_error_details
from .metrics.time.mean_errors import mae as mae
from .metrics.time.mean_errors import mse as mse
from .metrics.time.mean_errors import rmse as rmse
from .metrics.time.terms import TimeErrorDetails as TimeErrorDetails
from .metrics.time.time_errors import time_error as time_error
from .metrics.time.time_errors import time_error_details as time_error_details
from .metrics.time.time_errors import time_errors as time_errors
from .reference.aalen_johansen import AalenJohansen as AalenJohansen
from .reference.conditional import Conditional as Conditional
from .reference.copula_graphic import CopulaGraphic as CopulaGraphic
from .reference.counts import OutcomeCounts as OutcomeCounts
from .reference.dependence import Dependence as Dependence
from .reference.kaplan_meier import KaplanMeier as KaplanMeier
from .reference.pseudo import pseudo_observations as pseudo_observations
from .reference.reference import Reference as Reference
from .reference.reference import reference_curves as reference_curves
from .reference.subdistribution import subdistribution_weights as subdistribution_weights
from .reference.surrogates import Method as Method
from .reference.surrogates import Surrogates as Surrogates
from .reference.surrogates import surrogate_times as surrogate_times
from .reference.turnbull import Turnbull as Turnbull
from .scorers import scorer as scorer
from .sources import CurveColumns as CurveColumns
from .sources import Evaluator as Evaluator
from .sources import IncidenceColumns as IncidenceColumns
from .sources import RiskColumn as RiskColumn
from .sources import TimeColumn as TimeColumn
from .sources import evaluate_dask as evaluate_dask
from .sources import evaluate_stream as evaluate_stream
from .study.result import Study as Study
from .study.validated import Validation as Validation
from .study.validation import validate as validate

__version__: str
__all__: list[str]
