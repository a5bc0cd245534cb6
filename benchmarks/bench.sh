#!/usr/bin/env bash
# Speed and memory against the peers, in an environment of their own. Arguments go to run.py.
set -euo pipefail
cd "$(dirname "$0")/.."
bash benchmarks/environment.sh
mkdir -p benchmarks/output
exec .venv-bench/bin/python benchmarks/run.py --json benchmarks/output/latest.json "$@"
