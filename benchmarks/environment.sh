#!/usr/bin/env bash
# Create .venv-bench with the pinned peers. Peers that cannot be installed are skipped and named.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv-bench
list=benchmarks/requirements.txt
stamp=$venv/.installed
wanted=$(cat "$list" constraints.txt | cksum)

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt "$@"; }

skipped=()
if ! install -r "$list"; then
    echo "The peers do not install together; trying them one by one." >&2
    while read -r line; do
        case $line in '' | '#'*) continue ;; esac
        install "$line" || skipped+=("$line")
    done < "$list"
fi
if [ "${#skipped[@]}" -gt 0 ]; then
    echo "Not installed, so not measured: ${skipped[*]}" >&2  # no stamp: tried again next time
else
    echo "$wanted" > "$stamp"
fi
