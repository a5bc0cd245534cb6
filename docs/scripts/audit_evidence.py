"""Does an audit's advice pay? Runs it on folds of a store and writes what every choice loses.

python docs/scripts/audit_evidence.py STORE OUT.jsonl --datasets a,b --draws 30 --repeats 1

A line per fold. Folds that are in the file already are left out, so it can be stopped at any time.
"""

from __future__ import annotations

import argparse
import json
from itertools import groupby
from pathlib import Path

from survgauge._tools.plain import plain
from survgauge.errors import SurvgaugeError
from survgauge.experiment.cells import fold_of, unpack
from survgauge.experiment.store import Store


def main() -> None:
    from audit_losses import audit_losses  # beside this script

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("out", type=Path)
    parser.add_argument("--datasets", default="")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--most", type=int, default=1000)
    args = parser.parse_args()
    store = Store(args.store)
    known = args.out.read_text().splitlines() if args.out.exists() else []
    done = {tuple(json.loads(line)["fold"]) for line in known}
    names, kinds = (set(filter(None, text.split(","))) for text in (args.datasets, args.kinds))
    for _, group in groupby(store.plan().cells(), key=lambda cell: cell.fold_key):
        cells = list(group)
        first = cells[0]
        place = (first.dataset.label, first.censoring.label, first.repeat, first.fold)
        if (
            place in done
            or first.repeat >= args.repeats
            or first.fold >= args.folds
            or (names and place[0] not in names)
            or (kinds and place[1] not in kinds)
        ):
            continue
        stored = {cell.model.label: store.predictions(cell) for cell in cells}
        predictions = {name: unpack(content) for name, content in stored.items() if content}
        if len(predictions) < 3:
            continue
        questions = fold_of(first).questions
        try:
            found = audit_losses(
                predictions,
                questions.y,
                questions.reference.y,
                questions.true_time,
                draws=args.draws,
                most=args.most,
            )
        except SurvgaugeError as error:
            print(*place, error, flush=True)
            continue
        with args.out.open("a") as file:
            file.write(json.dumps({"fold": place, **plain(found)}) + "\n")
        print(*place, found["advice"], found["losses"].get("audit"), flush=True)


if __name__ == "__main__":
    main()
