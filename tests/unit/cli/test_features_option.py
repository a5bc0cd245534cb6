"""`survgauge evaluate --features`: columns of the outcome files, or files of their own."""

from __future__ import annotations

import json

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    t, c = rng.exponential(np.exp(X[:, 0])), rng.exponential(2.0, 120)
    rows = np.column_stack([np.minimum(t, c), t <= c, X])

    def save(name, array, header):
        np.savetxt(tmp_path / name, array, delimiter=",", header=header, comments="", fmt="%.17g")
        return str(tmp_path / name)

    return {
        "train": save("train.csv", rows[:80], "time,event,age,lab"),
        "test": save("test.csv", rows[80:], "time,event,age,lab"),
        "train_x": save("train_x.csv", X[:80], "age,lab"),
        "test_x": save("test_x.csv", X[80:], "age,lab"),
        "times": save("times.csv", np.exp(X[80:, 0]), "time"),
        "folder": tmp_path,
        "rows": rows,
    }


def evaluate(files, *more):
    return main(
        ["evaluate", "--test", files["test"], "--train", files["train"],
         "--pred", f"m={files['times']}", "--metrics", "mae_dr", "--json", "-", *more]
    )  # fmt: skip


def value(files, capsys, *more):
    assert evaluate(files, *more) == 0
    return json.loads(capsys.readouterr().out)["metrics"][0]["value"]


def expected(files, columns):
    train, test = files["rows"][:80], files["rows"][80:]
    cond = sg.conditional(
        train[:, columns], tuple(train[:, :2].T), test[:, columns], y_test=tuple(test[:, :2].T)
    )
    return sg.mae(
        tuple(test[:, :2].T), np.exp(test[:, 2]), y_train=tuple(train[:, :2].T), method="dr",
        conditional=cond,
    )  # fmt: skip


def test_all_columns_besides_the_outcomes(files, capsys):
    want = expected(files, [2, 3])
    assert value(files, capsys, "--features", "all") == pytest.approx(want, rel=1e-12)
    two = ("--features", files["train_x"], files["test_x"])
    assert value(files, capsys, *two) == pytest.approx(want, rel=1e-12)


def test_named_columns(files, capsys):
    assert value(files, capsys, "--features", "age") == pytest.approx(expected(files, [2]))


def test_one_file_asks_about_censoring_only(files, capsys):
    plain = value(files, capsys)
    assert value(files, capsys, "--features", files["test_x"]) == plain
    assert value(files, capsys, "--features", "all") != plain


def test_text_and_gaps(files, capsys):
    pytest.importorskip("sklearn")
    for name in ("train", "test"):
        lines = (files["folder"] / f"{name}.csv").read_text().splitlines()
        words = ["arm", *("a" if i % 2 else "" if i % 3 else "b" for i in range(len(lines) - 1))]
        text = "\n".join(f"{line},{word}" for line, word in zip(lines, words, strict=True))
        (files["folder"] / f"{name}.csv").write_text(text.replace(",NaN", ","))
    assert np.isfinite(value(files, capsys, "--features", "all"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["ag"], "neither a file nor a column"),
        (["a", "b", "c"], "got 3 words"),
        (["no.csv", "none.csv"], "no such file"),
        (["age,event"], "'event' is an outcome, not a feature"),
    ],
)
def test_errors_are_one_line(files, capsys, given, message):
    assert evaluate(files, "--features", *given) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_training_outcomes_are_needed(files, capsys):
    command = ["evaluate", "--test", files["test"], "--pred", f"m={files['times']}"]
    assert main([*command, "--features", "all"]) == 2
    assert "--features needs --train" in capsys.readouterr().err
