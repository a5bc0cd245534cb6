"""Every figure of an evaluation, drawn from the models of the demo.

Run ``examples/demo.py`` first: it fits the models and writes their predictions.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import survgauge as sg


def read_predictions(path: Path) -> sg.SurvivalCurves | np.ndarray:
    """Curves (header = times) or one time per subject."""
    frame = pd.read_csv(path)
    if list(frame.columns) == ["time"]:
        return frame["time"].to_numpy()
    return sg.SurvivalCurves(frame.columns.astype(float), frame.to_numpy())


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", type=Path, default=Path("demo-output"))
    parser.add_argument("--output", type=Path, default=Path("demo-output/figures"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    models = ("cox", "weibull", "km", "linear")
    predictions = {name: read_predictions(arguments.input / f"{name}.csv") for name in models}
    test, train = (pd.read_csv(arguments.input / f"{part}.csv") for part in ("test", "train"))
    ev = sg.evaluate(predictions, test, y_train=train, unit="days", tau=1825)
    for kind in sg.displays.DISPLAYS:
        path = arguments.output / f"{kind}.svg"
        ev.plot(kind).savefig(path)
        print(path)
    # The numbers behind a figure, as a table:
    print(sg.displays.display(ev, "errors").frame().round(1))
    return 0


if __name__ == "__main__":
    raise SystemExit(run())
