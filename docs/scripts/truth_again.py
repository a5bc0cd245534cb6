"""Print the section of docs/results/truth.md on the cross-fitted blend, from a smaller run.

survgauge bench truth.toml --store runs/again --datasets A,B,... --censoring uniform,...
python docs/scripts/truth_again.py runs/again
"""

from __future__ import annotations

import sys

from truth_page import BLEND, KM, PO, TRUTHS, WORDS, answers_of, differences, means, outside_blend

from survgauge.experiment import Results

#: Metrics of the tables: the paper's best ones, and the doubly robust errors.
SHOWN = (
    PO,
    "mae_margin",
    "mae_ipcw_d",
    "mae_expected",
    KM,
    BLEND,
    "mae_dr(censoring=model, law=blend)",
)


def section(store: str) -> str:
    results = Results.load(store)
    pieces = []
    for who, part in (("All models", results), ("Without", outside_blend(results))):
        models = ", ".join(dict.fromkeys(part.metrics["model"]))
        for truth, words in TRUTHS.items():
            answers = answers_of(part, truth)
            answers = answers[answers["metric"].isin(SHOWN)]
            heading = f"{who} the families of the blend" if who == "Without" else who
            pieces += [f"{heading} ({models}), {words}:", "", means(answers), ""]
            pieces += [differences(answers), ""]
    return "\n".join(pieces)


if __name__ == "__main__":
    if any(name not in WORDS for name in (PO, KM, BLEND)):
        raise SystemExit("metrics have other names now")
    print(section(sys.argv[1]))
