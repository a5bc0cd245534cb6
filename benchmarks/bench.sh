#!/usr/bin/env bash
# Speed and memory against the peers, in an environment of their own. Without arguments everything is
# measured, and tables and figure are written; with arguments, which go to run.py, nothing is written
# unless they say so.
set -euo pipefail
cd "$(dirname "$0")/.."
bash benchmarks/environment.sh
[ "$#" -gt 0 ] || set -- --json benchmarks/measured.json --write
export PYTHONPATH=src
exec .venv-bench/bin/python benchmarks/run.py "$@"
