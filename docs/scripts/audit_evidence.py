"""Does it pay to heed an audit? Fits models on sets of known truth; says what every choice loses.

python docs/scripts/audit_evidence.py OUT.jsonl            # about 15 minutes; goes on where it was
python docs/scripts/audit_evidence.py OUT.jsonl --table    # the table of docs/howto/audit.md

The sets are those of the plan `truth`, first draw and first fold, with at most 600 training and 500
test subjects. The first eight datasets of the plan are those on which choices were made.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from survgauge._tools.random import stream
from survgauge._tools.text import plain
from survgauge.bench.experiment.cells import fold_of
from survgauge.bench.experiment.plan import Plan
from survgauge.bench.experiment.scoring import said
from survgauge.errors import SurvgaugeError

MODELS = ("lr", "km", "coxph", "aft", "gbm_c", "gbm_tree", "rsf")
KINDS = ("uniform", "uniform_admin", "exponential", "feature_dependent")
CHOICE = ("Aids2", "Dialysis", "Framingham", "LeukSurv", "phpl04K8a", "rhc", "TRACE", "whas500")
_TRAIN, _TEST = 600, 500
#: Losses above this share are counted.
_MUCH = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--draws", type=int, default=30)
    args = parser.parse_args()
    known = args.out.read_text().splitlines() if args.out.exists() else []
    rows = [json.loads(line) for line in known]
    if args.table:
        print(table(rows))
        return
    warnings.simplefilter("ignore")
    done = {tuple(row["set"]) for row in rows}
    plan = Plan.of("truth").present()[0].only(censoring=KINDS, models=MODELS)
    for _, group in groupby(plan.cells(), key=lambda cell: cell.fold_key):
        cells = list(group)
        first = cells[0]
        place = (first.dataset.label, first.censoring.label)
        if first.repeat or first.fold or place in done:
            continue
        try:
            found = {"set": place, **losses_of(cells, args.draws)}
        except SurvgaugeError as error:
            print(*place, error, flush=True)
            continue
        with args.out.open("a") as file:
            file.write(json.dumps(plain(found)) + "\n")
        print(*place, found["advice"], flush=True)


def losses_of(cells: list[Any], draws: int) -> dict[str, Any]:
    """Fit the models of a fold on some of its subjects, and tell what every choice loses."""
    from audit_losses import audit_losses  # beside this script

    fold, rng = fold_of(cells[0]), stream(0, "audit evidence")
    train, test = _some(len(fold.y_train), _TRAIN, rng), _some(len(fold.questions.y), _TEST, rng)
    predictions = {}
    for cell in cells:
        model = cell.model.build(cell.model_seed).fit(fold.X_train[train], fold.y_train[train])
        predictions[cell.model.label] = said(model, fold.X_test[test], fold.questions)
    y, true_time = fold.questions.y[test], fold.questions.true_time[test]
    return audit_losses(predictions, y, fold.y_train[train], true_time, draws=draws)


def _some(n: int, most: int, rng: np.random.Generator) -> Any:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def table(rows: list[dict[str, Any]]) -> str:
    """Mean loss within the horizon by choice, and how often much is lost without one."""
    chosen = [row for row in rows if row["set"][0] in CHOICE]
    held = [row for row in rows if row["set"][0] not in CHOICE]
    counts = [f"{_bases(part)} datasets, {len(part)} sets" for part in (chosen, held)]
    lines = [
        f"| picked by | choice ({counts[0]}) | held out ({counts[1]}) | mae_within less this one, "
        "held out (95 % interval over datasets) | above 5 % without a horizon, held out |",
        "|---|---|---|---|---|",
    ]
    choices = sorted(rows[0]["within"], key=lambda name: _mean(held, name)[0])
    for name in choices:
        gap, low, high = _mean(held, "mae_within", name)
        beside = "" if name == "mae_within" else f"{gap:.2f} ({low:.2f} to {high:.2f})"
        much = np.mean([float(row["free"][name]) > _MUCH for row in held])
        means = [f"{_mean(part, name)[0]:.2f} %" for part in (chosen, held)]
        lines.append(f"| {name} | {' | '.join(means)} | {beside} | {100 * much:.0f} % |")
    departed = {
        rule: sum(row["advice"][rule] != "mae_within" for row in rows) for rule in rows[0]["advice"]
    }
    return "\n".join([*lines, "", f"Departed from mae_within, of {len(rows)} sets: {departed}"])


def _bases(rows: Iterable[dict[str, Any]]) -> int:
    return len({row["set"][0] for row in rows})


def _mean(rows: list[dict[str, Any]], name: str, less: str = "") -> tuple[float, float, float]:
    """Mean over datasets of their mean loss in percent, with a 95 % interval; `less` another's."""
    found: dict[str, list[float]] = {}
    for row in rows:
        loss = row["within"][name] - (row["within"][less] if less else 0.0)
        found.setdefault(row["set"][0], []).append(100 * loss)
    means = np.array([np.mean(part) for part in found.values()])
    drawn = stream(0, "audit evidence", name).choice(means, (4000, means.size)).mean(axis=1)
    return float(means.mean()), *map(float, np.quantile(drawn, [0.025, 0.975]))


if __name__ == "__main__":
    main()
