#!/usr/bin/env bash
# Tests on other versions, each in an environment of its own.
#   tests/versions.sh lowest         the base group on the lowest NumPy and SciPy
#   tests/versions.sh lowest-extras  the tests of every extra on its lowest version
#   tests/versions.sh matrix         the fast group on Python 3.10 to 3.14
#   tests/versions.sh here           the same, with $PYTHON and what is installed there
# A Python that is not there is named and left out.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
unset PYTHONPATH
PIP=(-m pip install --quiet --disable-pip-version-check)

# What runs with NumPy and SciPy alone and counts: the kernels, the metrics, the contracts.
BASE=(
  tests/contract tests/property/test_pseudo_observations.py tests/property/test_time_errors.py
  tests/reference
  tests/unit/data/test_adapters.py tests/unit/metrics/ranking/test_every_pair.py
  tests/unit/metrics/ranking/test_auc_kernel.py tests/unit/metrics/calibration/test_calibration.py tests/unit/estimators/test_cox.py
  tests/unit/data/test_curves.py tests/unit/metrics/probability/test_densities.py tests/unit/metrics/ranking/test_concordance.py
  tests/unit/metrics/ranking/test_auc.py tests/unit/evaluation/test_evaluation.py tests/unit/evaluation/inference/test_inference.py
  tests/unit/metrics/test_group_tests.py tests/unit/estimators/test_kaplan_meier.py tests/unit/_tools/test_numbers.py
  tests/unit/data/test_outcomes.py tests/unit/metrics/ranking/test_pairs.py tests/unit/metrics/time/test_parts.py
  tests/unit/metrics/probability/test_probability.py tests/unit/_tools/test_random.py tests/unit/metrics/calibration/test_residuals.py
  tests/unit/metrics/calibration/test_smooth_calibration.py tests/unit/_tools/test_sorting.py tests/unit/evaluation/sources/test_streaming.py
  tests/unit/metrics/time/test_time_errors.py
)
# Tests that need an extra.
EXTRAS=(
  tests/contract tests/unit/data/test_adapters.py tests/unit/cli/test_censor.py
  tests/unit/bench/censoring/test_generate.py tests/unit/cli/test_evaluate.py tests/unit/bench/datasets/test_catalogue.py
  tests/unit/bench/datasets/test_readers.py tests/unit/report/displays/test_displays.py tests/unit/report/displays/test_displays_plots.py
  tests/unit/bench/experiment/test_cells.py tests/unit/bench/experiment/test_runner_dask.py
  tests/unit/bench/experiment/test_results.py tests/unit/bench/experiment/test_runner.py tests/unit/bench/datasets/test_mimic.py
  tests/unit/bench/models/test_classical.py tests/unit/bench/models/test_torch_models.py tests/unit/data/test_outcomes.py
  tests/unit/bench/datasets/test_preprocessing.py tests/unit/report/test_report.py tests/unit/evaluation/scorers/test_scorers.py
  tests/unit/cli/test_stream.py tests/unit/evaluation/sources/test_streaming_dask.py
  tests/unit/evaluation/sources/test_streaming_parity.py
)

# The first Python of one of these versions: the running one, on the path, or of pyenv.
find_python() {
  local version candidate
  for version in "$@"; do
    for candidate in "$PYTHON" "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
      if [ "$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$version" ]; then
        command -v "$candidate"
        return
      fi
    done
  done
}

# environment <folder> <python> <what to install ...>: made again when the declarations change.
environment() {
  local folder=$1 python=$2 stamp
  shift 2
  stamp=$(cat pyproject.toml constraints.txt constraints-lowest.txt | cksum; "$python" --version; echo "$@")
  [ "$(cat "$folder/.ready" 2>/dev/null)" = "$stamp" ] && return
  rm -rf "$folder"
  "$python" -m venv "$folder"
  "$folder/bin/python" "${PIP[@]}" "$@"
  echo "$stamp" >"$folder/.ready"
}

run() {
  local folder=$1
  shift
  "$folder/bin/python" -c 'import sys, numpy, scipy; print("Python %d.%d," % sys.version_info[:2], "NumPy", numpy.__version__ + ", SciPy", scipy.__version__)'
  "$folder/bin/python" -m pytest -q -n 2 -p no:cacheprovider -m "not slow and not peer" "$@"
}

case ${1:?lowest, lowest-extras, matrix or here} in
  lowest)
    python=$(find_python 3.11 3.10)
    if [ -z "$python" ]; then
      echo "The tests on the lowest versions are left out: NumPy 1.24 needs Python 3.10 or 3.11, and none is installed."
      exit 0
    fi
    environment .venv-lowest "$python" -c constraints-lowest.txt -e . pytest pytest-xdist hypothesis
    SURVGAUGE_TESTS=base run .venv-lowest "${BASE[@]}"
    ;;
  lowest-extras)
    python=$(find_python 3.11)
    if [ -z "$python" ]; then
      echo "The tests of the lowest extras are left out: they need Python 3.11, which is not installed."
      exit 0
    fi
    environment .venv-lowest-extras "$python" -c constraints-lowest.txt -e ".[all]" polars xgboost-cpu lightgbm pytest pytest-xdist hypothesis
    # NumPy 1.24.0 warns when NaN becomes text, which pandas does to write CSV; 1.24.4 does not.
    run .venv-lowest-extras "${EXTRAS[@]}" \
      -W "ignore:invalid value encountered in cast:RuntimeWarning:pandas.core.internals.blocks"
    ;;
  matrix)
    missing=() failed=()
    for version in 3.10 3.11 3.12 3.13 3.14; do
      python=$(find_python "$version")
      if [ -z "$python" ]; then
        missing+=("$version")
        continue
      fi
      # Without torch, whose build for processors exists for one Python only.
      environment ".venv-matrix/$version" "$python" -c constraints.txt \
        -e ".[pandas,parquet,plot,sklearn,datasets,lifelines,sksurv,experiment,dask]" pytest pytest-xdist hypothesis
      run ".venv-matrix/$version" "${BASE[@]}" "${EXTRAS[@]}" || failed+=("$version")
    done
    [ ${#missing[@]} -eq 0 ] || echo "Not installed, so not tried: Python ${missing[*]}."
    [ ${#failed[@]} -eq 0 ] || { echo "Failed: Python ${failed[*]}."; exit 1; }
    ;;
  here)
    "$PYTHON" -m pytest -q -n 2 -p no:cacheprovider -m "not slow and not peer" "${BASE[@]}" "${EXTRAS[@]}"
    ;;
  *)
    echo "lowest, lowest-extras, matrix or here; got $1" >&2
    exit 2
    ;;
esac
