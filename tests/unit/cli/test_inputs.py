"""Files as other programs write them: read, or refused with what to do about it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg
from survgauge.cli.main import main

N = 60
GRID = np.arange(0, 700, 50.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Outcomes in days with ids and words, and the curves of the same subjects."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    scale = rng.uniform(100, 600, N)
    t, c = rng.exponential(scale), rng.uniform(50, 700, N)
    time, event = np.minimum(t, c).round(1), t <= c
    survival = np.exp(-GRID / scale[:, None]).round(6)
    write("test.csv", ["patient", "time", "event"], zip(ids(), time, event * 1, strict=True))
    write("curves.csv", GRID, survival)
    write("times.csv", ["time"], scale[:, None])
    return {"time": time, "event": event, "survival": survival, "scale": scale}


def ids():
    return [f"{k:03d}" for k in range(7, 7 + N)]


def write(name, header, rows, sep=","):
    lines = [sep.join(map(str, row)) for row in [header, *rows]]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def values(capsys, *words, metrics="mae_hinge,ibs"):
    """Return the numbers of one model in a file called by `words`."""
    capsys.readouterr()
    status = main(["evaluate", "--metrics", metrics, "--json", "-", *words])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    return [row["value"] for row in json.loads(printed.out)["metrics"]]


def refusal(capsys, *words):
    capsys.readouterr()
    assert main(["evaluate", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


PLAIN = ("--test", "test.csv", "--pred", "m=curves.csv")


# -- who had the event ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("yes", "no", "value"),
    [("dead", "alive", "dead"), ("2", "1", "2"), ("1", "2", "1"), ("2.0", "1.0", "2"),
     (" dead ", "alive", "dead"), ("True", "False", "True"), ("TRUE", "FALSE", None),
     ("1", "0", None), ("yes", "no", None), ("no", "yes", "no")],
)  # fmt: skip
def test_what_means_an_event(folder, capsys, yes, no, value):
    expected = values(capsys, *PLAIN)
    words = [yes if event else no for event in folder["event"]]
    write("coded.csv", ["time", "event"], zip(folder["time"], words, strict=True))
    given = [] if value is None else ["--event-value", value]
    assert values(capsys, "--test", "coded.csv", "--pred", "m=curves.csv", *given) == expected


def test_several_values_may_mean_that_a_subject_was_censored(folder, capsys):
    expected = values(capsys, *PLAIN)
    words = ["dead" if e else ("alive", "lost")[k % 2] for k, e in enumerate(folder["event"])]
    write("coded.csv", ["time", "event"], zip(folder["time"], words, strict=True))
    coded = ("--test", "coded.csv", "--pred", "m=curves.csv")
    assert values(capsys, *coded, "--event-value", "dead") == expected
    said = refusal(capsys, *coded)
    assert "say which value means an event, such as --event-value dead" in said
    assert f"'dead' ({sum(folder['event'])} rows)" in said
    said = refusal(capsys, *coded, "--event-value", "Dead")
    assert "has the --event-value 'Dead' (did you mean 'dead'?); it holds" in said


def test_a_column_of_something_else_is_not_taken_for_codes(folder, capsys):
    write("coded.csv", ["time", "event"], zip(folder["time"], range(N), strict=True))
    said = refusal(capsys, "--test", "coded.csv", "--pred", "m=curves.csv")
    assert "and 56 other values" in said
    assert "name it with --event-column" in said


def test_a_gap_is_named_with_its_row(folder, capsys):
    words = ["dead"] * N
    words[3] = ""
    write("coded.csv", ["time", "event"], zip(folder["time"], words, strict=True))
    said = refusal(capsys, "--test", "coded.csv", "--pred", "m=curves.csv", "--event-value", "dead")
    assert "column 'event' has no value in row 4" in said


# -- which rows belong together ------------------------------------------------------------------


def test_rows_are_paired_by_id(folder, capsys):
    expected = values(capsys, *PLAIN)
    order = np.random.default_rng(0).permutation(N)
    # A program that reads ids as numbers drops their zeros.
    rows = [[int(ids()[k]), *folder["survival"][k]] for k in order]
    write("shuffled.csv", ["patient", *GRID], rows)
    paired = ("--test", "test.csv", "--pred", "m=shuffled.csv", "--id", "patient")
    assert values(capsys, *paired) == expected
    write("times_by_id.csv", ["time", "patient"], [[folder["scale"][k], ids()[k]] for k in order])
    plain = values(capsys, *PLAIN[:3], "m=times.csv", metrics="mae_hinge")
    words = (*PLAIN[:3], "m=times_by_id.csv", "--id", "patient")
    assert values(capsys, *words, metrics="mae_hinge") == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[:-2], "no row for 2 ids ('065', '066') of test.csv (--id patient)"),
        (lambda rows: [*rows, ["x", *rows[0][1:]]], "1 id ('x') not in test.csv"),
        (lambda rows: [*rows, rows[4]], "the id '011' appears twice, in rows 5 and 61"),
        (lambda rows: [["", *rows[0][1:]], *rows[1:]], "column 'patient' has no value in row 1"),
    ],
)
def test_ids_that_do_not_match_are_refused(folder, capsys, change, said):
    rows = [[name, *row] for name, row in zip(ids(), folder["survival"], strict=True)]
    write("ids.csv", ["patient", *GRID], change(rows))
    words = ("--test", "test.csv", "--pred", "m=ids.csv", "--id", "patient")
    assert f"ids.csv: {said}" in refusal(capsys, *words)


def test_a_file_without_the_ids_is_refused(folder, capsys):
    assert "curves.csv: no column 'patient'" in refusal(capsys, *PLAIN, "--id", "patient")
    write("only.csv", ["patient"], [[name] for name in ids()])
    said = refusal(capsys, "--test", "test.csv", "--pred", "m=only.csv", "--id", "patient")
    assert "there are no predictions beside the names of the rows" in said
    write("only.csv", ['""'], [[name] for name in ids()])
    assert "no predictions beside the names" in refusal(capsys, *PLAIN[:3], "m=only.csv")
    for header in (["patient", "time"], ["risk", "patient"]):
        write("two.csv", header, [[1, 2]] * N)
        assert "give --id patient" in refusal(capsys, *PLAIN[:3], "m=two.csv")
    rows = [[name, *row] for name, row in zip(ids(), folder["survival"], strict=True)]
    write("ids.csv", ["patient", *GRID], rows)
    said = refusal(capsys, "--test", "test.csv", "--pred", "m=ids.csv")
    assert "if column 'patient' says who the subjects are, give --id patient" in said


def test_features_are_paired_by_id(folder, capsys):
    pytest.importorskip("sklearn")
    rows = [[name, x] for name, x in zip(ids(), folder["scale"], strict=True)]
    write("x.csv", ["patient", "x"], rows)
    write("x_reversed.csv", ["patient", "x"], rows[::-1])
    words = (*PLAIN, "--train", "test.csv", "--id", "patient", "--features")
    write("curves.csv", ["patient", *GRID],
          [[name, *row] for name, row in zip(ids(), folder["survival"], strict=True)])  # fmt: skip
    expected = values(capsys, *words, "x.csv", "x.csv", metrics="mae_dr")
    assert values(capsys, *words, "x_reversed.csv", "x.csv", metrics="mae_dr") == expected
    assert values(capsys, *words, "x_reversed.csv", "x_reversed.csv", metrics="mae_dr") == expected


# -- other forms of tables -----------------------------------------------------------------------


@pytest.mark.parametrize("sep", [";", "\t"])
@pytest.mark.parametrize("decimal", [",", "."])
def test_separators_and_decimal_commas(folder, capsys, sep, decimal):
    folder["survival"][:, -1] = np.linspace(1e-7, 2e-6, N)  # written with exponents
    write("curves.csv", GRID, folder["survival"])
    expected = values(capsys, *PLAIN)

    def cells(row):
        return [f"{cell:.17g}".replace(".", decimal) for cell in row]

    outcomes = zip(folder["time"], folder["event"] * 1, strict=True)
    write("t.csv", ["time", "event"], map(cells, outcomes), sep)
    write("c.csv", cells(GRID), map(cells, folder["survival"]), sep)
    assert values(capsys, "--test", "t.csv", "--pred", "m=c.csv") == expected


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('time,event\n"5,5",1\n', "row 1 has '5,5'; write decimals with points"),
        ("time,event\n5,5,1\n", "row 1 has 3 fields, the header has 2; write decimals with points"),
        ("time;event\n5,5;1\n6.5;1\n", "mixes decimal commas (row 1: '5,5') and points (row 2"),
    ],
)
def test_decimals_that_cannot_be_told_are_refused(folder, capsys, content, said):
    Path("t.csv").write_text(content, encoding="utf-8")
    assert said in refusal(capsys, "--test", "t.csv", "--pred", "m=curves.csv")


def test_a_semicolon_in_a_name_separates_nothing(folder, capsys):
    rows = zip(folder["time"], folder["event"] * 1, ["a;b"] * N, strict=True)
    write("t.csv", ["time", "event", "x;y"], rows)
    assert values(capsys, "--test", "t.csv", *PLAIN[2:]) == values(capsys, *PLAIN)


def test_censor_reads_semicolons(folder, capsys):
    pytest.importorskip("pandas")
    rows = [[str(t).replace(".", ","), "dead" if e else "alive", "0,5"]
            for t, e in zip(folder["time"], folder["event"], strict=True)]  # fmt: skip
    write("t.csv", ["time", "event", "x"], rows, ";")
    rows = [[t, e * 1, 0.5] for t, e in zip(folder["time"], folder["event"], strict=True)]
    write("plain.csv", ["time", "event", "x"], rows)
    for name in ("t", "plain"):
        words = ["censor", "--data", f"{name}.csv", "--type", "uniform", "--out", f"{name}_out.csv"]
        assert main([*words, "--event-value", "dead" if name == "t" else "1"]) == 0
    assert (
        Path("t_out.csv").read_text().replace('"0,5"', "0.5") == Path("plain_out.csv").read_text()
    )


def test_headers_of_r(folder, capsys):
    expected = values(capsys, *PLAIN)
    write("r.csv", [f"X{t:g}" for t in GRID], folder["survival"])
    assert values(capsys, *PLAIN[:3], "m=r.csv") == expected
    # write.csv without row.names = FALSE
    rows = [[f'"{k + 1}"', *row] for k, row in enumerate(folder["survival"])]
    write("r.csv", ['""', *(f'"X{t:g}"' for t in GRID)], rows)
    assert values(capsys, *PLAIN[:3], "m=r.csv") == expected
    write("r.csv", [f"V{k}" for k, _ in enumerate(GRID)], folder["survival"])
    assert "colnames(S) <- times" in refusal(capsys, *PLAIN[:3], "m=r.csv")
    write("r.csv", [*(f"X{t:g}" for t in GRID[:-1]), "X1e.05"], folder["survival"])
    assert "without exponents" in refusal(capsys, *PLAIN[:3], "m=r.csv")
    write("r.csv", ["median"], folder["scale"][:, None])
    assert "call it time (a predicted time) or risk" in refusal(capsys, *PLAIN[:3], "m=r.csv")


def test_row_numbers_of_r_are_no_times(folder, capsys):
    """write.csv(summary(survfit(...), times = times)$surv): times down, but not in the file."""
    rows = [[f'"{k + 1}"', *column] for k, column in enumerate(folder["survival"].T)]
    write("r.csv", ['""', *(f'"{k + 1}"' for k in range(N))], rows)
    said = refusal(capsys, *PLAIN[:3], "m=r.csv")
    assert "r.csv: there is one column per subject, but no times: the first column" in said
    assert f"row numbers 1 to {len(GRID)}" in said
    write("r.csv", ["time", *range(N)], [[k + 1, *row[1:]] for k, row in enumerate(rows)])
    assert len(values(capsys, *PLAIN[:3], "m=r.csv", metrics="ibs")) == 1  # they are times here


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "duration"])
def test_frames_of_lifelines_are_read_as_steps(folder, capsys, name):
    expected = values(capsys, *PLAIN, "--interpolation", "step")
    rows = [[t, *column] for t, column in zip(GRID, folder["survival"].T, strict=True)]
    write("frame.csv", [name, *range(N)], rows)
    assert values(capsys, *PLAIN[:3], "m=frame.csv") == expected
    lines = values(capsys, *PLAIN[:3], "m=frame.csv", "--interpolation", "linear")
    assert lines == values(capsys, *PLAIN)
    assert lines != expected
    # Its columns are named as the rows of the test set: these are the ids.
    write("frame.csv", [name, *ids()[::-1]], [[row[0], *row[:0:-1]] for row in rows])
    assert values(capsys, *PLAIN[:3], "m=frame.csv", "--id", "patient") == expected


def test_lifelines_itself(folder, capsys):
    pd = pytest.importorskip("pandas")
    lifelines = pytest.importorskip("lifelines")
    x = pd.DataFrame({"x": folder["scale"] / 100, "t": folder["time"], "e": folder["event"]})
    cox = lifelines.CoxPHFitter().fit(x, "t", "e")
    predicted = cox.predict_survival_function(x)
    predicted.to_csv("cox.csv")
    predicted.T.to_csv("rows.csv", index=False)
    found = values(capsys, *PLAIN[:3], "m=cox.csv")
    assert found == values(capsys, *PLAIN[:3], "m=rows.csv", "--interpolation", "m=step")
    y = (folder["time"], folder["event"])
    ev = sg.evaluate({"m": predicted}, y, metrics=["mae_hinge", "ibs"])
    assert found == pytest.approx([row["value"] for row in ev.rows()], rel=1e-9)


def test_a_square_that_falls_both_ways_is_refused(folder, capsys):
    write("t.csv", ["time", "event"], [[5, 1], [6, 0]])
    write("frame.csv", ["", 10, 20], [[10, 0.9, 0.8], [20, 0.7, 0.6]])
    said = refusal(capsys, "--test", "t.csv", "--pred", "m=frame.csv")
    assert "it cannot be seen which are the subjects" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: 100 * s, "these look like percentages: pass value / 100"),
        (lambda s: 100 - 100 * s, "these look like percentages: pass 1 - value / 100"),
        (lambda s: np.log(s / (1.001 - s)), "negative numbers look like logits"),
        (lambda s: -np.log(s), "look like cumulative hazards: pass exp(-hazard)"),
        (lambda s: 1 - s, "if these are probabilities of the event, pass 1 - probability"),
        (lambda s: np.random.default_rng(0).uniform(0, 0.3, s.shape), "look like hazards or"),
        (lambda s: s + 0.3 * (GRID == 300), "pass --repair running_minimum or isotonic"),
    ],
)
def test_what_is_no_survival_is_recognised(folder, capsys, change, said):
    write("odd.csv", GRID, change(folder["survival"]))
    told = refusal(capsys, *PLAIN[:3], "m=odd.csv")
    assert said in told
    assert "in rows 1, 2, 3, 4, 5 and 55 more (counting from 1);" in told


def test_curves_are_repaired_on_request(folder, capsys):
    survival = folder["survival"].copy()
    survival[4, 3] += 0.2
    write("odd.csv", GRID, survival)
    assert "in row 5 (counting from 1);" in refusal(capsys, *PLAIN[:3], "m=odd.csv")
    write("frame.csv", ["", *range(N)], [[t, *c] for t, c in zip(GRID, survival.T, strict=True)])
    told = refusal(capsys, *PLAIN[:3], "m=frame.csv")
    assert "in row 5 (counting from 1);" in told
    assert "each subject is a column of this file, not a row" in told
    repaired = sg.SurvivalCurves(GRID, survival, repair="running_minimum")
    ev = sg.evaluate({"m": repaired}, (folder["time"], folder["event"]), metrics=["ibs"])
    words = (*PLAIN[:3], "m=odd.csv", "--repair", "running_minimum")
    assert values(capsys, *words, metrics="ibs") == pytest.approx([ev.rows()[0]["value"]])


# -- years against days --------------------------------------------------------------------------


def units_warned(capsys, *words):
    capsys.readouterr()
    assert main(["evaluate", "--metrics", "harrell", "--json", "-", *words]) == 0
    found = json.loads(capsys.readouterr().out)["warnings"]
    units = [warning for warning in found if warning["code"] == "time-units"]
    return [case["model"] for warning in units for case in warning["cases"]]


@pytest.mark.parametrize("factor", [12.0, 30.4, 365.25])
def test_times_in_other_units_are_noticed(folder, capsys, factor):
    write("short.csv", ["time"], folder["scale"][:, None] / factor)
    write("long.csv", ["time"], folder["scale"][:, None] * factor)
    write("short_curves.csv", GRID / factor, folder["survival"])
    write("long_curves.csv", GRID * factor, folder["survival"])
    models = ["short", "long", "short_curves", "long_curves", "curves", "times"]
    words = [word for name in models for word in ("--pred", f"{name}={name}.csv")]
    assert units_warned(capsys, "--test", "test.csv", *words) == models[:4]
    outcomes = zip(folder["time"] / factor, folder["event"] * 1, strict=True)
    write("train.csv", ["time", "event"], outcomes)
    trained = ("--train", "train.csv", "--pred", "m=curves.csv")
    assert units_warned(capsys, "--test", "test.csv", *trained) == [None]


def test_late_medians_under_heavy_censoring_are_no_other_unit(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    t, c = rng.exponential(5000, 400), rng.uniform(0, 200, 400)  # 98 % are censored
    write("t.csv", ["time", "event"], zip(np.minimum(t, c), (t <= c) * 1, strict=True))
    write("p.csv", ["time"], rng.uniform(2000, 6000, 400)[:, None])
    write("r.csv", ["risk"], rng.normal(size=400)[:, None])
    words = ("--pred", "late=p.csv", "--pred", "risk=r.csv")
    assert units_warned(capsys, "--test", "t.csv", *words) == []


def test_streams_say_what_they_do_not_take(folder, capsys):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"time": [1.0, 2.0], "event": [1, 0], "m": [1.0, 1.0]}), "t.parquet")
    stream = ("--test", "t.parquet", "--train", "test.csv", "--pred", "m=m")
    for option in ("--id", "--event-value"):
        assert f"{option} is not available in a stream" in refusal(capsys, *stream, option, "m")
