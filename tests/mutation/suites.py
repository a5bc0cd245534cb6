"""Which modules are mutated, and which quick tests concern each."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "survgauge"

#: Patterns of modules below the package, and the tests that concern them, the quickest first.
#: "fuzz:a,b" are kinds of the fuzz.
SUITES = {
    ("reference.py", "surrogates.py", "residual.py", "losses.py"): (
        "fuzz:time_errors,surrogates,pseudo,many_methods,kaplan_meier,contributions",
        "tests/unit/test_time_errors.py",
        "tests/unit/test_time_errors_exact.py",
    ),
    ("metrics/_tally.py",): (
        "fuzz:concordance,concordance_td,contributions",
        "tests/unit/test_pairs.py",
        "tests/unit/test_discrimination.py",
        "tests/unit/test_discrimination_exact.py",
    ),
    ("metrics/ipcw.py",): (
        "fuzz:brier,auc,concordance,time_errors,contributions",
        "tests/unit/test_probability.py",
        "tests/unit/test_probability_exact.py",
        "tests/unit/test_dynamic_auc.py",
    ),
    ("metrics/_brier.py",): (
        "fuzz:brier,brier_forms,contributions",
        "tests/unit/test_probability.py",
        "tests/unit/test_probability_exact.py",
    ),
    ("metrics/_auc*.py",): (
        "fuzz:auc,auc_of_curves,contributions",
        "tests/unit/test_dynamic_auc.py",
        "tests/unit/test_auc_kernel.py",
        "tests/unit/test_auc_exact.py",
    ),
    ("metrics/*calibration*.py",): (
        "fuzz:calibration,grouped_calibration,contributions",
        "tests/unit/test_calibration.py",
        "tests/unit/test_smooth_calibration.py",
        "tests/unit/test_calibration_exact.py",
    ),
    ("inference.py",): (
        "tests/unit/test_inference.py",
        "tests/unit/test_inference_exact.py",
        "fuzz:small_helpers",
    ),
}


#: Tests that start interpreters or take seconds, and that the others make up for.
SLOW = ("base_install", "subprocess", "large", "memory", "many_threads")


def modules():
    """{name of a module: (path, tests)} of everything that is mutated."""
    found = {}
    for patterns, tests in SUITES.items():
        for pattern in patterns:
            paths = sorted(PACKAGE.glob(pattern))
            if not paths:
                raise SystemExit(f"no module matches {pattern}")
            for path in paths:
                name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
                found.setdefault(name, (path, tests))
    return found


def words_of(tests, path):
    """Arguments of pytest for these tests, and the doctests of the module itself."""
    words = []
    for test in tests:
        kind, _, names = test.partition(":")
        if kind == "fuzz":
            file = ROOT / "tests" / "fuzz" / "test_short_run.py"
            words += [f"{file}::test_nothing_is_found[{name}]" for name in names.split(",")]
        elif (ROOT / test).exists():
            words.append(str(ROOT / test))
    return [*words, "--doctest-modules", str(path), "-k", f"not ({' or '.join(SLOW)})"]
