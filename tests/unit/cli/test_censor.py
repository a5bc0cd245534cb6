"""`survgauge censor`: what is written, and what is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from survgauge import InputError, Outcomes  # noqa: E402
from survgauge.bench.censoring import semisynthetic  # noqa: E402
from survgauge.cli.main import main  # noqa: E402


def run(*words):
    return main(["--debug", "censor", *map(str, words)])


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    n = 80
    frame = pd.DataFrame(
        {
            "id": [f"{i:03d}" for i in range(n)],
            "dose": np.where(rng.random(n) < 0.1, None, rng.integers(1, 9, n)),
            "days": rng.integers(1, 400, n),
            "dead": rng.integers(0, 2, n),
            "note": ['a, "b"' if i % 2 else "" for i in range(n)],
        }
    )
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


COLUMNS = ("--time-column", "days", "--event-column", "dead")


def test_csv_has_the_same_draw_as_the_function(data, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert run("--data", data, "--type", "exponential", "--seed", 3, "--out", out, *COLUMNS) == 0
    source, written = pd.read_csv(data), pd.read_csv(out)
    ss = semisynthetic(None, Outcomes(source["days"], source["dead"]), "exponential", 3)
    assert list(written.columns) == ["id", "dose", "note", "time", "event", "true_time"]
    assert written["time"].tolist() == ss.y.time.tolist()
    assert written["event"].tolist() == ss.y.event.astype(int).tolist()
    assert written["true_time"].tolist() == ss.true_time.tolist()
    assert written["time"].dtype == np.int64  # whole units stay whole units
    said = capsys.readouterr().out
    assert f"{len(ss)} subjects" in said
    assert f"{ss.dropped} dropped" in said
    # Other columns come through letter by letter.
    text = pd.read_csv(data, dtype=str, keep_default_na=False).iloc[ss.rows]
    again = pd.read_csv(out, dtype=str, keep_default_na=False)
    for name in ("id", "dose", "note"):
        assert again[name].tolist() == text[name].tolist()
    assert again["id"][0].startswith("0")


def test_the_same_seed_writes_the_same_bytes(data, tmp_path):
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        run("--data", data, "--type", "uniform", "--seed", seed, "--out", path, *COLUMNS)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].read_bytes() != paths[2].read_bytes()


def test_parquet_in_and_out(data, tmp_path):
    pytest.importorskip("pyarrow")
    source, out = tmp_path / "data.parquet", tmp_path / "out.parquet"
    pd.read_csv(data).to_parquet(source)
    run("--data", source, "--type", "uniform", "--out", out, *COLUMNS)
    run("--data", data, "--type", "uniform", "--out", tmp_path / "out.csv", *COLUMNS)
    typed, text = pd.read_parquet(out), pd.read_csv(tmp_path / "out.csv")
    assert typed["time"].tolist() == text["time"].tolist()
    assert typed["dose"].dtype == np.float64


def test_every_option_reaches_the_draw(data, tmp_path):
    out = tmp_path / "out.csv"
    run("--data", data, "--type", "external", "--external", data, "--out", out, *COLUMNS)
    assert (pd.read_csv(out)["event"] == 0).any()
    options = ("--rate", 0.3, "--kendall-tau", -0.4, "--copula", "frank")
    run("--data", data, "--type", "uniform", *options, "--out", out, *COLUMNS)
    frame = pd.read_csv(data)
    y = Outcomes(frame["days"], frame["dead"])
    expected = semisynthetic(None, y, "uniform", rate=0.3, kendall_tau=-0.4, copula="frank")
    assert pd.read_csv(out)["time"].tolist() == expected.y.time.tolist()


def test_original_dependent_encodes_and_refuses_identifiers(data, tmp_path):
    out = tmp_path / "out.csv"
    call = ("--type", "original_dependent", "--out", out, *COLUMNS)
    run("--data", data, *call)
    frame = pd.read_csv(data)
    frame["id"] = [f"p{i}" for i in range(len(frame))]
    named = tmp_path / "named.csv"
    frame.to_csv(named, index=False)
    with pytest.raises(InputError, match="column 'id' of X has 80 different texts"):
        run("--data", named, *call)


def test_a_failure_leaves_the_old_file_and_no_rubbish(data, tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    out.write_text("old")

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    with pytest.raises(InputError, match=r"cannot write .*out\.csv: disk full"):
        run("--data", data, "--type", "uniform", "--out", out, *COLUMNS)
    assert out.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "out.csv"]


def test_plot(data, tmp_path):
    pytest.importorskip("matplotlib")
    out, picture = tmp_path / "out.csv", tmp_path / "picture.png"
    run("--data", data, "--type", "uniform", "--out", out, "--plot", picture, *COLUMNS)
    assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"--plot .*picture\.xyz"):
        run(
            "--data", data, "--type", "uniform", "--out", out, *COLUMNS,
            "--plot", tmp_path / "picture.xyz",
        )  # fmt: skip


def test_refusals(data, tmp_path):
    out = tmp_path / "out.csv"
    with pytest.raises(InputError, match="no column 'time'"):
        run("--data", data, "--type", "uniform", "--out", out)
    with pytest.raises(InputError, match="no such file"):
        run("--data", tmp_path / "none.csv", "--type", "uniform", "--out", out)
    with pytest.raises(InputError, match=r"folder .* does not exist"):
        run("--data", data, "--type", "uniform", "--out", tmp_path / "no" / "out.csv", *COLUMNS)
    frame = pd.read_csv(data)
    frame["true_time"] = frame["days"] + 0.5
    frame.to_csv(data, index=False)
    with pytest.raises(InputError, match="true_time would be overwritten"):
        run("--data", data, "--type", "uniform", "--out", out, *COLUMNS)
    assert not out.exists()


def test_several_causes_are_written_with_the_true_ones(tmp_path, capsys):
    from survgauge.cli.main import main

    codes = [1, 0, 2, 1, 2, 1, 2, 1]
    frame = pd.DataFrame({"age": range(8), "time": [5, 8, 3, 9, 4, 7, 6, 2], "event": codes})
    frame.to_csv(tmp_path / "in.csv", index=False)
    call = ["censor", "--data", str(tmp_path / "in.csv"), "--type", "exponential", "--seed", "3"]
    call += ["--causes", "relapse,death", "--out", str(tmp_path / "out.csv")]
    assert main(call) == 0
    written = pd.read_csv(tmp_path / "out.csv")
    y = Outcomes(frame["time"], codes, causes=["relapse", "death"])
    ss = semisynthetic(frame[["age"]], y, "exponential", 3)
    assert written["event"].tolist() == ss.y.cause.tolist()
    assert written["true_cause"].tolist() == ss.true_cause.tolist()
    assert written["true_time"].tolist() == ss.true_time.tolist()
    assert main([*call, "--event-value", "2"]) != 0
    assert "--event-value is for one kind of event" in capsys.readouterr().err
    frame.rename(columns={"age": "true_cause"}).to_csv(tmp_path / "in.csv", index=False)
    assert main(call) != 0
    assert "true_cause would be overwritten" in capsys.readouterr().err
