"""The golden file: numbers that must survive every change of the code that makes them.

``golden.json`` holds, for every kind of question in `golden.questions` and every call in
`golden.functions`, what the public API answered: value, standard error, limits and skill of each
model on each metric, differences between models (with limits and p-values), differences from the
baseline, and codes of warnings. `test_golden` compares to 1e-10.

Compare, and add a new metric, question or call, which leaves all other numbers as they are::

    PYTHONPATH=src:tests .venv/bin/python -m golden            # what differs, cell by cell
    PYTHONPATH=src:tests .venv/bin/python -m golden --write    # add what golden.json does not have

Enter an intended change in `golden.INTENDED`: a pattern of cells and the reason. A cell is called
``question/metric/model/column`` (``good-poor`` is the difference of two models, ``good-baseline``
that from Kaplan-Meier of the reference set; ``metric@4.0`` is the metric at that time,
``metric[a]`` in group a), ``question/warnings``, or ``functions/call/column``. Where a public
function or argument is renamed, `golden.questions` and `golden.functions` change in one place, and
golden.json does not.
"""

from __future__ import annotations

#: Changes that are intended: patterns of cells (as of `fnmatch`), each with the reason.
INTENDED: list[tuple[str, str]] = [
    ("functions/ici*/value", "the result is a Score, a float whose value is the ICI"),
    *(
        (f"*entry*/ipa*/{column}", "standard errors of IPA under delayed entry have G's estimation")
        for column in ("stderr", "low", "high", "p_value")
    ),
    *(
        (pattern, "O/E under delayed entry is that of mean pseudo-observations given entry")
        for pattern in ("*entry*/observed_expected*", "functions/observed_expected entry/*")
    ),
    *(
        (pattern, "ICI in clusters: the upper limit also takes gaps along what clusters share")
        for pattern in ("*clusters/ici@*/high", "*clusters/ici_cox@*/high")
    ),
    *(
        (f"convention_survivaleval/*_{method}/*", "the preset has SurvivalEVAL's areas and divisor")
        for method in ("margin", "ipcw_d", "po")
    ),
    (
        "convention_survivaleval/warnings/codes",
        "other pseudo-observations, none of them set to tau",
    ),
    ("*/accuracy_in_time*", "accuracy in time went (house.md, may go)"),
]
