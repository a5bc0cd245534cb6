"""Which modules are mutated, and the tests among which those that run a changed line are taken."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "survgauge"

#: Patterns of the modules of the numerical core.
CORE = (
    "estimators/reference.py",
    "estimators/pseudo.py",
    "estimators/surrogates.py",
    "estimators/residual.py",
    "estimators/estimated_g.py",
    "evaluation/inference.py",
    "metrics/ipcw.py",
    "metrics/ranking/_every_pair.py",
    "metrics/ranking/auc.py",
    "metrics/ranking/concordance.py",
    "metrics/probability/status_scores.py",
    "metrics/calibration/*calibration*.py",
    "metrics/calibration/ici.py",
    "metrics/calibration/risk_rates.py",
    "metrics/calibration/inputs.py",
    "metrics/calibration/distance_intervals.py",
)
#: Tests of numbers, all collected once; those that take longer than SECONDS are left out.
TESTS = (
    "fuzz/test_short_run.py",
    "unit/**/test_*_exact.py",
    "unit/metrics/time/test_time_errors.py",
    "unit/metrics/ranking/test_concordance.py",
    "unit/metrics/ranking/test_pairs.py",
    "unit/metrics/probability/test_probability.py",
    "unit/metrics/test_past_curve.py",
    "unit/evaluation/inference/test_intervals.py",
    "unit/metrics/ranking/test_auc.py",
    "unit/metrics/ranking/test_every_pair.py",
    "unit/metrics/test_g_of_test_subjects.py",
    "unit/evaluation/test_sampling.py",
    "unit/evaluation/test_awkward_input.py",
    "unit/metrics/ranking/test_auc_kernel.py",
    "unit/metrics/calibration/test_calibration.py",
    "unit/metrics/calibration/test_calibration_absent.py",
    "unit/metrics/calibration/test_smooth_calibration.py",
    "unit/evaluation/inference/test_inference.py",
    "unit/_tools/test_numbers.py",
    "unit/evaluation/test_refused_by_name.py",
    "unit/estimators/test_kaplan_meier.py",
    "unit/metrics/calibration/test_residuals.py",
    "unit/metrics/test_group_tests.py",
    "contract/test_bad_arguments.py",
    "contract/test_forms_of_curves.py",
    "property/test_absent.py",
    "property/test_theorems.py",
    "property/test_time_errors.py",
    "reference/test_r_*.py",
)
#: Longest test that is run for a mutant.
SECONDS = 1.5
#: Kinds of fuzz that say nothing about the core.
LEFT_OUT = (
    "base_install",
    "subprocess",
    "large",
    "memory",
    "many_threads",
    "damaged_files",
    "evaluations",
    "groups",
    "are_found",
    "readers",
)


def modules():
    """{name of a module: path} of everything that is mutated."""
    found = {}
    for pattern in CORE:
        paths = sorted(PACKAGE.glob(pattern))
        if not paths:
            raise SystemExit(f"no module matches {pattern}")
        for path in paths:
            found[".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)] = path
    return found


def words():
    """Arguments of pytest: the tests, and the doctests of the modules themselves."""
    files = []
    for pattern in TESTS:
        paths = sorted((ROOT / "tests").glob(pattern))
        if not paths:
            raise SystemExit(f"no test matches {pattern}")
        files += [str(path) for path in paths]
    doctests = [str(path) for path in modules().values()]
    return [*files, "--doctest-modules", *doctests, "-k", f"not ({' or '.join(LEFT_OUT)})"]
