"""`survgauge evaluate --cause`: one file per model and cause."""

import json

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main

CAUSES = ("relapse", "death")
GRID = np.linspace(1.0, 40.0, 14)


def draw(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    rates = np.stack([0.1 * np.exp(x), 0.05 * np.exp(-0.5 * x)], axis=1)
    total = rates.sum(axis=1)
    time = np.ceil(rng.exponential(1 / total))
    cause = np.where(rng.random(n) < rates[:, 0] / total, 1, 2)
    limit = np.ceil(rng.exponential(15, size=n))
    values = (1 - np.exp(-total[:, None] * GRID))[:, None] * (rates / total[:, None])[:, :, None]
    codes = np.where(time <= limit, cause, 0)
    return sg.Outcomes(np.minimum(time, limit), codes, causes=CAUSES), values


def write_outcomes(path, y, names):
    words = np.array(["censored", *CAUSES])[y.cause] if names else y.cause
    rows = [f"{k},{t:g},{w}" for k, (t, w) in enumerate(zip(y.time, words, strict=True))]
    path.write_text("\n".join(["patient,time,event", *rows]))


def write_curves(path, values, order=None):
    rows = range(len(values)) if order is None else order
    lines = [",".join(map(repr, [int(k), *values[k].tolist()])) for k in rows]
    path.write_text("\n".join([",".join(["patient", *map(repr, GRID.tolist())]), *lines]))


@pytest.fixture
def files(tmp_path):
    train, _ = draw(120, 1)
    y, values = draw(150, 2)
    write_outcomes(tmp_path / "train.csv", train, names=False)
    write_outcomes(tmp_path / "test.csv", y, names=False)
    for k in (0, 1):
        order = np.random.default_rng(k).permutation(len(y))  # paired by --id
        write_curves(tmp_path / f"cox_{k + 1}.csv", values[:, k], order)
    (tmp_path / "lr.csv").write_text("\n".join(["patient,risk", *(
        f"{k},{r}" for k, r in enumerate(values[:, 0, 5]))]))  # fmt: skip
    return tmp_path, train, y, values


def arguments(folder, *more):
    return [
        "evaluate", "--test", str(folder / "test.csv"), "--train", str(folder / "train.csv"),
        "--id", "patient", "--pred", f"lr={folder / 'lr.csv'}", *more,
    ]  # fmt: skip


def test_numbers_are_those_of_python(files, capsys):
    folder, train, y, values = files
    out = folder / "out.json"
    code = main(arguments(
        folder, "--pred", f"cox:death={folder / 'cox_2.csv'}", "--pred",
        f"cox:1={folder / 'cox_1.csv'}", "--cause", "relapse", "--causes", "relapse,death",
        "--json", str(out),
    ))  # fmt: skip
    assert code == 0, capsys.readouterr().err
    found = {(r["model"], r["metric"]): r["value"] for r in json.loads(out.read_text())["metrics"]}
    models = {
        "lr": sg.RiskScores(values[:, 0, 5]),
        "cox": sg.IncidenceCurves(GRID, values, causes=CAUSES),
    }
    ev = sg.evaluate(models, y, y_train=train, cause="relapse")
    expected = {(s.model, s.metric.name): s.value for s in ev.scores if s.time is None}
    assert {("lr", "harrell"), ("cox", "ibs")} <= expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-12), key


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--pred", "cox:1={}", "--cause", "1"], "has no predictions of '2'"),
        (["--pred", "cox={}", "--cause", "1"], "cumulative incidence per cause: --pred cox:1=FILE"),
        (["--pred", "cox:gout={}", "--cause", "1"], "must be the code or the name of a cause"),
        (["--causes", "relapse,death"], "--causes goes with --cause"),
        (["--cause", "gout"], "cause must be the code or the name of a cause"),
        (["--cause", "1", "--causes", "relapse"], "event must be 0"),
        (["--cause", "1", "--event-value", "2"], "--event-value is for one kind of event"),
        ([], "give --cause"),
        (["--pred", "cox={}", "--pred", "cox:1={}", "--cause", "1"], "with causes and without"),
    ],
)
def test_bad_input_is_one_line(files, capsys, more, message):
    folder = files[0]
    given = [word.format(folder / "cox_1.csv") for word in more]
    assert main(arguments(folder, *given)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_taking_other_causes_for_censored_is_said(files, capsys):
    folder = files[0]
    assert main(arguments(folder, "--event-value", "1", "--json", str(folder / "o.json"))) == 0
    capsys.readouterr()
    said = {
        w["code"]: w["message"] for w in json.loads((folder / "o.json").read_text())["warnings"]
    }
    assert "holds 3 values" in said["other-values"]
    assert "all but 1 count as censored" in said["other-values"]


def test_a_stream_of_causes(files, capsys):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder, train, y, values = files
    table = {"time": y.time, "event": np.array(["censored", *CAUSES])[y.cause]}
    for k, name in enumerate(CAUSES):
        table |= {f"cox_{name}_{t!r}": values[:, k, j] for j, t in enumerate(GRID.tolist())}
    (folder / "parts").mkdir()
    parquet.write_table(pa.table(table), folder / "parts" / "a.parquet", row_group_size=40)
    out = folder / "out.json"
    code = main([
        "evaluate", "--test", str(folder / "parts"), "--train", str(folder / "train.csv"),
        "--pred", "cox:relapse=cox_relapse_*", "--pred", "cox:death=cox_death_*",
        "--cause", "relapse", "--causes", "relapse,death", "--metrics", "ibs,harrell",
        "--json", str(out),
    ])  # fmt: skip
    assert code == 0, capsys.readouterr().err
    found = {r["metric"]: r["value"] for r in json.loads(out.read_text())["metrics"]}
    curves = sg.IncidenceCurves(GRID, values, causes=CAUSES)
    ev = sg.evaluate(curves, y, y_train=train, cause=1, metrics=["ibs", "harrell"])
    for score in ev.scores:
        assert found[score.metric.name] == pytest.approx(score.value, rel=1e-10)


def test_words_that_are_neither_cause_nor_censored_are_explained(files, capsys):
    folder = files[0]
    (folder / "words.csv").write_text("time,event\n1,alive\n2,relapse\n3,death\n")
    given = ["evaluate", "--test", str(folder / "words.csv"), "--cause", "relapse"]
    assert main([*given, "--pred", f"cox={folder / 'cox_1.csv'}"]) == 2
    error = capsys.readouterr().err
    assert "--causes relapse,death; subjects without any of them must be 'censored'" in error
