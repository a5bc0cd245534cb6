#!/usr/bin/env bash
# R CMD build and check of the R package, and its numbers against those of Python. PYTHON has the
# command that it calls.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
command -v R >/dev/null || { echo "R is not installed, so the R package is not checked."; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
SURVGAUGE=$(dirname "$PYTHON")/survgauge
[ -x "$SURVGAUGE" ] || { echo "there is no command survgauge beside $PYTHON"; exit 1; }
export SURVGAUGE
source=$PWD/r/survgauge
(cd "$folder" && R CMD build "$source" && R CMD check --no-manual survgauge_*.tar.gz)
grep -q '^Status: OK' "$folder/survgauge.Rcheck/00check.log" || { echo "R CMD check is not clean"; exit 1; }
"$PYTHON" -m pytest -q tests/r
