"""Throughput and peak memory of streams: `python benchmarks/scale.py --rows 100000000`.

Data are generated in a temporary folder; each measurement runs in a process of its own, so that
its peak memory is its own. CPU time is what counts on a machine that is shared.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GROUP = 1_000_000
METHODS = ("uncensored", "hinge", "margin", "ipcw_d", "ipcw_t", "po", "pop_po", "expected")
EIGHT = [f"mae_{m}" for m in METHODS]
ALL = [f"{k}_{m}" for k in ("mae", "mse", "rmse") for m in METHODS]
#: Metrics of each work, and the options of the call; G is that of the test subjects by default.
WORKS = {
    "read only": (None, {}),
    "mae_po": (["mae_po"], {}),
    "eight mae, G of train, without baseline": (EIGHT, {"censoring": "train", "baseline": False}),
    "eight mae, G of train": (EIGHT, {"censoring": "train"}),
    "eight mae": (EIGHT, {}),
    "mae mse rmse, G of train": (ALL, {"censoring": "train"}),
    "mae mse rmse": (ALL, {}),
    "harrell": (["harrell"], {}),
}


def outcomes(rng: np.random.Generator, n: int):
    event_time, censoring = rng.weibull(1.2, n) * 800, rng.exponential(1200, n)
    return np.minimum(event_time, censoring), event_time <= censoring, event_time


def generate(folder: Path, rows: int, train: int) -> None:
    """Write test rows in files of ten row groups, and a reference set."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    (folder / "test").mkdir(parents=True)
    writer, number = None, 0
    for start in range(0, rows, GROUP):
        n = min(GROUP, rows - start)
        time_, event, true = outcomes(rng, n)
        predicted = true * rng.lognormal(0, 0.5, n)
        table = pa.table({"time": time_, "event": event, "predicted": predicted})
        if start % (10 * GROUP) == 0:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(
                folder / "test" / f"part{number:04d}.parquet",
                table.schema,
                use_dictionary=False,
                compression="none",
            )
            number += 1
        writer.write_table(table, row_group_size=GROUP)
    writer.close()
    time_, event, _ = outcomes(rng, train)
    pq.write_table(pa.table({"time": time_, "event": event}), folder / "train.parquet")


def measure(folder: Path, work: str, workers: int) -> dict:
    """Run one work in this process."""
    import survgauge as sg
    from survgauge.evaluation.sources.arrow import reference_of

    reference = reference_of(str(folder / "train.parquet"))
    metrics, options = WORKS[work]
    wall, cpu = time.perf_counter(), time.process_time()
    if metrics is None:
        rows = read_only(folder / "test")
        result = {}
    else:
        ev = sg.evaluate_stream(
            str(folder / "test"),
            y_train=reference,
            predictions={"model": "predicted"},
            metrics=metrics,
            workers=workers,
            **options,
        )
        rows = ev.support["subjects"]
        result = {r["metric"]: [r["value"], r["stderr"]] for r in ev.rows()}
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {
        "work": work,
        "rows": rows,
        "workers": workers,
        "seconds": round(wall, 2),
        "cpu": round(cpu, 2),
        "per_second": round(rows / wall),
        "per_cpu_second": round(rows / cpu),
        "peak_gb": round(peak, 3),
        "result": result,
    }


def read_only(folder: Path) -> int:
    from survgauge.evaluation.sources.arrow import ParquetSource

    rows = 0
    for item in ParquetSource(folder).items(None):
        for batch in item.batches(["time", "event", "predicted"]):
            rows += len(batch)
            for name in batch.names:
                batch.vector(name)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--train", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--works", default=";".join(list(WORKS)[:5]))
    parser.add_argument("--folder", help="keep or reuse the data here")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(Path(args.folder), args.one, args.workers)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.folder or Path(temporary, "data"))
        if not folder.exists():
            generate(folder, args.rows, args.train)
        for work in args.works.split(";"):
            command = [sys.executable, __file__, "--one", work.strip(), "--folder", str(folder),
                       "--workers", str(args.workers)]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            found.pop("result")
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
