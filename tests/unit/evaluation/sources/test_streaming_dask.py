"""A real Dask cluster of two processes: same numbers, and a killed worker costs only time."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from streaming_data import COLUMNS, GRID, NAMES, cut, differences, draw, in_memory

import survgauge as sg
from survgauge.cli.main import main

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def cluster():
    # Port 0, any that is free: without an address all clusters of a machine want the same one, and
    # that it is taken is a warning, which is an error here.
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        pytest.MonkeyPatch.context() as patch,
        dask.config.set({"distributed.worker.daemon": False}),
    ):
        # Workers inherit the path and must find the classes of this file: if they cannot read what
        # they are sent they die, and everybody waits for them.
        patch.syspath_prepend(str(Path(__file__).parents[3]))
        with (
            distributed.LocalCluster(processes=True, host="127.0.0.1", **options) as started,
            distributed.Client(started, set_as_default=False) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def data():
    columns, y_train = draw(400, 2)
    return columns, y_train, in_memory(columns, y_train, n_boot=12).to_dict()


def wide(columns):
    """Curves as columns of their own, as Dask frames like them."""
    plain = {name: columns[name] for name in ("time", "event", "lr", "risk")}
    for name in ("a", "b"):
        plain |= {f"{name}_{t}": columns[name][:, k] for k, t in enumerate(GRID)}
    return pd.DataFrame(plain)


SPECS = {**COLUMNS, "a": "a_*", "b": "b_*"}
OPTIONS = {"metrics": NAMES, "n_boot": 12}


def test_partitions_give_what_the_whole_gives(cluster, data):
    columns, y_train, expected = data
    frame = dd.from_pandas(wide(columns), npartitions=5)
    found = sg.evaluate_dask(frame, y_train=y_train, predictions=SPECS, client=cluster, **OPTIONS)
    assert differences(expected, found.to_dict()) == []


def test_groups(cluster, data):
    columns, y_train, _ = data
    labels = np.array(["north", "south"])[np.arange(400) % 5 % 2]
    names = ["mae_po", "ibs", "harrell", "km_calibration"]
    expected = in_memory(columns, y_train, n_boot=12, metrics=names, by=labels).to_dict()
    frame = dd.from_pandas(wide(columns).assign(site=labels), npartitions=5)
    options = {**OPTIONS, "metrics": names, "by": "site", "predictions": SPECS}
    found = sg.evaluate_dask(frame, y_train=y_train, client=cluster, **options)
    assert differences(expected, found.to_dict()) == []


def test_empty_partitions_and_threads(data):
    columns, y_train, expected = data
    frame = wide(columns)
    parts = [dask.delayed(frame[i:j]) for i, j in ((0, 0), (0, 90), (90, 90), (90, 400))]
    found = sg.evaluate_dask(parts, y_train=y_train, predictions=SPECS, **OPTIONS)
    assert differences(expected, found.to_dict()) == []


def write(folder, columns, group=50):
    folder.mkdir()
    for k, part in enumerate(cut(columns, [150, 300])):
        lists = {n: list(c) if c.ndim == 2 else c for n, c in part.items()}
        pq.write_table(pa.table(lists), folder / f"{k}.parquet", row_group_size=group)
    return folder


def test_row_groups_of_files(cluster, data, tmp_path):
    columns, y_train, expected = data
    folder = write(tmp_path / "test", columns)
    options = {"predictions": COLUMNS, "client": cluster, **OPTIONS}
    found = sg.evaluate_dask(str(folder), y_train=y_train, **options)
    assert differences(expected, found.to_dict()) == []


@dataclass(frozen=True)
class Fatal(sg.TimeColumn):
    """Predictions that kill the worker that reads them, the first time."""

    marker: str = ""

    def of(self, batch):
        if batch.vector("time")[0] == 77.0 and not os.path.exists(self.marker):
            with open(self.marker, "w") as stream:
                stream.write(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().of(batch)


def test_a_killed_worker_costs_only_time(cluster, data, tmp_path):
    columns, y_train, _ = data
    columns = {**columns, "time": columns["time"].copy()}
    columns["time"][200] = 77.0
    frame = wide(columns)
    parts = [dask.delayed(frame[i : i + 100]) for i in range(0, 400, 100)]
    spec = {"lr": Fatal("lr", str(tmp_path / "killed"))}
    options = {"metrics": ["mae_po", "harrell"], "client": cluster}
    found = sg.evaluate_dask(parts, y_train=y_train, predictions=spec, **options)
    assert (tmp_path / "killed").exists()
    y = (columns["time"], columns["event"])
    expected = sg.evaluate(
        {"lr": columns["lr"]}, y, y_train=y_train, metrics=options["metrics"]
    ).to_dict()
    assert differences(expected, found.to_dict()) == []


def test_errors_come_home(cluster, data, tmp_path):
    columns, y_train, _ = data
    options = {"y_train": y_train, "client": cluster, "metrics": ["mae_po"]}
    frame = wide(columns)
    frame.loc[250, "lr"] = np.nan
    parts = dd.from_pandas(frame, npartitions=4)
    with pytest.raises(sg.InputError, match=r"partition 2: .*must be finite"):
        sg.evaluate_dask(parts, predictions={"m": "lr"}, **options)
    with pytest.raises(sg.InputError, match="no column 'gone'"):
        sg.evaluate_dask(parts, predictions={"m": "gone"}, **options)
    with pytest.raises(sg.InputError, match="frame must be a Dask frame"):
        sg.evaluate_dask(frame, predictions={"m": "lr"}, **options)
    folder = write(tmp_path / "test", columns)
    path = folder / "1.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(sg.InputError, match=r"1\.parquet: cannot be read as Parquet"):
        sg.evaluate_dask(str(folder), predictions={"m": "lr"}, **options)


def test_the_command_line(cluster, data, tmp_path, capsys):
    columns, y_train, expected = data
    write(tmp_path / "test", columns)
    train = pa.table({"time": y_train[0], "event": y_train[1]})
    pq.write_table(train, tmp_path / "train.parquet")
    grid = ",".join(map(str, GRID))
    words = [
        "evaluate",
        "--test",
        str(tmp_path / "test"),
        "--train",
        str(tmp_path / "train.parquet"),
    ]
    words += ["--pred", "a=a", "--pred", "b=b", "--grid", f"a={grid}", "--grid", f"b={grid}"]
    words += ["--pred", "lr=lr", "--pred", "risk=risk:risk", "--metrics", "mae_po,harrell,ibs"]
    words += ["--json", "-"]
    address = cluster.scheduler.address
    found = []
    for engine in (["--workers", "2"], ["--engine", "dask", "--scheduler", address]):
        assert main([*words, *engine]) == 0
        found.append(json.loads(capsys.readouterr().out))
    kept = [r for r in expected["metrics"] if r["metric"] in ("mae_po", "ibs", "harrell")]
    for one in found:
        wrong = [text for text in differences(kept, one["metrics"]) if "reference" not in text]
        assert wrong == []
    assert main([*words, "--engine", "dask"]) == 2
    assert "--scheduler tcp://HOST:8786" in capsys.readouterr().err
