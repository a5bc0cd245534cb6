"""Random valid and invalid calls of everything public, against loops and rules that must hold.

`make fuzz` (SEED, MINUTES, CALLS, KIND, CASE) runs it; `tests/fuzz/test_short_run.py` is a short
run in `make test`. A case is made from (seed, kind, number) alone, so that a failure names itself.
"""
