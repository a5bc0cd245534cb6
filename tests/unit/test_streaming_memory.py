"""A limit of memory is that of the process: it holds, or the work is refused and says why."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from streaming_data import COLUMNS, GRID, cut, differences, draw, in_memory

import survgauge as sg
from survgauge.sources import memory
from survgauge.sources.memory import Budget, Fit, parse_size
from survgauge.sources.resident import give_back, resident

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 3_000_000
#: Room besides what the process holds: far below the 17 bytes a row of the data.
ROOM = 48_000_000
PROGRAM = """
import json, re, sys
import numpy as np
import survgauge as sg
from survgauge.sources.call import reference_of
from survgauge.sources.resident import resident

folder, metrics, room = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(1)
y_train = sg.Reference((rng.exponential(10, 5000), rng.random(5000) < 0.7))
ask = dict(y_train=y_train, predictions={"m": "days"}, metrics=metrics)
# Once on few rows, so that all libraries are there.
sg.evaluate_stream(folder + "/few.parquet", **ask)
limit = resident() + room
ev = sg.evaluate_stream(folder + "/many.parquet", memory=limit, workers=2, **ask)
text = open("/proc/self/status").read()
peak = int(re.search(r"VmHWM:\\s+(\\d+)", text)[1]) * 1024
rows = [[r["value"], r["stderr"]] for r in ev.rows()]
print(json.dumps({"limit": limit, "peak": peak, "rows": rows}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Millions of (time, event, days), in one row group for the worst."""
    rng = np.random.default_rng(0)
    t, c = rng.weibull(1.2, ROWS) * 10, rng.exponential(15, ROWS)
    columns = {"time": np.minimum(t, c), "event": t <= c, "days": t * rng.lognormal(0, 0.5, ROWS)}
    place = tmp_path_factory.mktemp("rows")
    whole = pa.table(columns)
    options = {"use_dictionary": False, "compression": "none", "row_group_size": ROWS}
    pq.write_table(whole, place / "many.parquet", **options)
    pq.write_table(whole.slice(0, 100), place / "few.parquet")
    return place


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("metrics", [["mae_po", "mae_margin", "rmse_ipcw_t"], ["harrell"]])
def test_the_process_stays_below_the_limit(metrics, folder):
    words = [sys.executable, "-c", PROGRAM, str(folder), json.dumps(metrics), str(ROOM)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["peak"] <= found["limit"]
    data = pq.read_table(folder / "many.parquet")
    y = (data["time"].to_numpy(), data["event"].to_numpy())
    rng = np.random.default_rng(1)
    y_train = (rng.exponential(10, 5000), rng.random(5000) < 0.7)
    whole = sg.evaluate({"m": data["days"].to_numpy()}, y, y_train=y_train, metrics=metrics)
    expected = [[r["value"], r["stderr"]] for r in whole.rows()]
    np.testing.assert_allclose(found["rows"], expected, rtol=1e-10)


@pytest.fixture
def data():
    columns, y_train = draw(300, 1)
    return columns, y_train


@pytest.fixture
def small(monkeypatch):
    """A process that seems to hold 100 MB, whatever it does."""
    monkeypatch.setattr(memory, "resident", lambda: 100_000_000)


def stream(batches, y_train, **options):
    options = {"predictions": COLUMNS, "metrics": ["mae_po", "harrell"], **options}
    return sg.evaluate_stream(batches, y_train=y_train, **options)


def test_what_is_held_is_counted_and_the_least_that_would_do_is_said(small, data):
    columns, y_train = data
    for wrong in ("50MB", "100MB", "110MB"):
        with pytest.raises(sg.InputError, match=r"holds 100MB already .*; give \d+MB or more") as e:
            stream([columns], y_train, memory=wrong)
    least = re.search(r"give (\d+MB) or more", str(e.value))[1]
    assert 120_000_000 < parse_size(least) < 160_000_000
    expected = in_memory(columns, y_train, metrics=["mae_po", "harrell"]).to_dict()
    found = stream(cut(columns, [77]), y_train, memory=least, workers=8)
    assert differences(expected, found.to_dict()) == []


def test_little_room_means_fewer_rows_and_threads(small, data, monkeypatch):
    columns, y_train = data
    seen, fit = [], Budget.fit

    def noted(*args):
        seen.append(fit(*args))
        return seen[-1]

    monkeypatch.setattr(memory.Budget, "fit", noted)
    for limit in (130_000_000, 200_000_000, 4_000_000_000):
        stream([columns], y_train, memory=limit, workers=8)
    few, some, many = seen
    assert few.workers < some.workers <= many.workers == 8
    assert few.rows * few.workers < some.rows * some.workers < many.rows * many.workers
    assert many.rows == 65_536


def test_a_process_that_outgrows_its_limit_stops(monkeypatch, data):
    columns, y_train = data
    held = iter([100_000_000, 100_000_000, *[900_000_000] * 50])
    monkeypatch.setattr(memory, "resident", lambda: next(held))
    with pytest.raises(sg.InputError, match="holds 900MB, more than its limit of 500MB"):
        stream(cut(columns, [30, 60, 90]), y_train, memory="500MB", metrics=["mae_po"])


def test_what_cannot_go_to_disk_is_refused(small, data, monkeypatch):
    columns, y_train = data
    monkeypatch.setattr(memory, "end_bytes", lambda plan: 5_000_000)
    said = r"ici of 300 subjects take more than .*give \d+MB or more, or leave that out"
    with pytest.raises(sg.InputError, match=said):
        stream([columns], y_train, metrics=["ici", "harrell"], memory="1GB")
    stream([columns], y_train, metrics=["ici", "harrell"], memory="9GB")
    monkeypatch.setattr(memory, "_SLACK", 1e6)
    fit = Fit(10**9, 9 * 10**8, 1, 1024, 8 * 10**8)
    monkeypatch.setattr(memory.Budget, "fit", lambda *args: fit)
    with pytest.raises(sg.InputError, match="km_calibration of 300 subjects take more than"):
        stream([columns], y_train, metrics=["km_calibration"], memory="1GB")
    # One message tells what all of it takes: km_calibration 57 GB, ici 2 GB.
    with pytest.raises(sg.InputError, match=r"km_calibration, ici of 300 .*give 58\d\d\dMB or"):
        stream([columns], y_train, metrics=["ici", "km_calibration"], memory="1GB")
    monkeypatch.setattr(memory, "_PER_GROUP", 10**9)
    with pytest.raises(sg.InputError, match="2 groups of 300 subjects take more than the limit"):
        stream([{**columns, "g": np.arange(300) % 2}], y_train, metrics=["ibs"], by="g", memory=1)


def test_equal_times_that_do_not_fit_are_refused(small, data, monkeypatch):
    from survgauge.sources import external

    columns, y_train = data
    columns = {**columns, "time": np.where(np.arange(300) < 40, 3.0, 7.0)}
    monkeypatch.setattr(memory, "end_bytes", lambda plan: 10**9)
    for module in (memory, external):
        monkeypatch.setattr(module, "block_bytes", lambda plan: 10**8)
    monkeypatch.setattr(memory, "_FEWEST_ROWS", 1)
    with pytest.raises(sg.InputError, match=r"260 subjects have .* the same time, around 7, and"):
        stream([columns], y_train, metrics=["harrell"], memory="1GB")


def test_wide_curves_need_more_than_times(small):
    columns, y_train = draw(50, 2)
    wide = {**columns, "a": np.repeat(columns["a"], 400, axis=1)}
    grid = np.repeat(GRID, 400) + np.tile(np.linspace(0, 1, 400), 12)
    spec = {"a": sg.CurveColumns("a", np.sort(grid))}
    with pytest.raises(sg.InputError, match=r"the work takes 3\d\dMB at least"):
        stream([wide], y_train, predictions=spec, metrics=["mae_po"], memory="150MB")


def test_memory_of_this_process():
    before = resident()
    block = np.ones(30_000_000 // 8 * 8)
    assert resident() >= before + 100_000_000
    del block
    give_back()
    assert resident() < before + 100_000_000


def test_files_of_many_columns_need_more(small, tmp_path):
    rng = np.random.default_rng(0)
    columns = {"time": rng.exponential(10, 50_000), "event": np.ones(50_000, dtype=bool)}
    fall = np.sort(rng.random((50_000, 40)), axis=1)[:, ::-1]
    columns |= {f"a_{k + 0.5}": fall[:, k].copy() for k in range(40)}
    pq.write_table(pa.table(columns), tmp_path / "0.parquet")
    y_train = (columns["time"][:100], columns["event"][:100])
    said = []
    for name in ("a_*", "a_0.5"):
        with pytest.raises(sg.InputError, match="too little") as error:
            stream(tmp_path, y_train, predictions={"a": name}, metrics=["mae_po"], memory="101MB")
        said.append(parse_size(re.search(r"give (\d+MB)", str(error.value))[1]))
    assert said[0] > said[1] + 20_000_000
