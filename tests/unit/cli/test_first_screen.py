"""What a command prints: the first screen, everything with --all, in colour or plain."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from survgauge.cli.main import main

N, ESCAPE = 80, "\x1b"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*3\d(?:;\d+)*m")
CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Outcomes with groups, and twelve models: curves that are more and more wrong, and times."""
    folder = tmp_path_factory.mktemp("screens")
    rng = np.random.default_rng(0)
    scale = rng.uniform(100, 600, 2 * N)
    t, c = rng.exponential(scale), rng.uniform(50, 900, 2 * N)
    rows = np.column_stack([np.minimum(t, c), t <= c])
    site = rng.choice(["north", "south", "east"], N)
    grid = np.arange(0, 901, 30.0)
    save(folder / "train.csv", ["time", "event"], rows[N:])
    save(
        folder / "test.csv",
        ["time", "event", "site"],
        [[*r, s] for r, s in zip(rows, site, strict=False)],
    )
    for k in range(11):
        wrong = scale[:N] * np.exp(0.1 * k * rng.normal(size=N))
        save(folder / f"m{k}.csv", grid, np.exp(-grid / wrong[:, None]))
    save(folder / "m11.csv", ["time"], scale[:N, None])
    return folder


def save(path, header, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")


@pytest.fixture
def folder(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.delenv("COLUMNS", raising=False)
    return place


def words(models, *more, command="evaluate"):
    named = [word for k in models for word in ("--pred", f"m{k}=m{k}.csv")]
    return [command, "--test", "test.csv", "--train", "train.csv", *named, *more]


def printed(capsys, *arguments):
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def in_a_terminal(*arguments, columns=80, rows=40, **environment):
    """Run the command in a terminal of that size; return what it wrote."""
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    known = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-m", "survgauge", *arguments],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env={**known, "TERM": "xterm-256color", **environment},
    )  # fmt: skip
    os.close(theirs)
    found = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        found += part
    os.close(ours)
    assert process.wait() == 0, found
    return found.decode().replace("\r\n", "\n")


def test_four_models_fit_a_screen(folder):
    pytest.importorskip("rich")
    shown = in_a_terminal(*words((0, 3, 9, 11), "--unit", "days"))
    assert "\x1b[1m" in shown  # the verdict is bold
    lines = CODES.sub("", shown).rstrip("\n").split("\n")
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    # The verdict comes first, then metrics with their intervals, and how to see more.
    assert re.match(r"m\d", lines[0])
    rows = [k for k, line in enumerate(lines) if re.match(r"m\d+ .*\d \[[\d.]+, [\d.]+\]", line)]
    # What speaks about other metrics is counted, and told by --all.
    assert "Warnings (" not in shown
    assert "none about the metrics above; everything: --all" in " ".join(lines[-3:])
    assert {lines[k].split()[0] for k in rows} == {"m0", "m3", "m9", "m11"}


def test_colour_is_left_out_where_nobody_wants_it(folder):
    pytest.importorskip("rich")
    asked = words((0, 11), "--metrics", "mae_within,uno")
    plain = in_a_terminal(*asked, NO_COLOR="1")
    assert not COLOUR.search(plain)
    assert ESCAPE not in in_a_terminal(*asked, TERM="dumb")
    piped = subprocess.run(
        [sys.executable, "-m", "survgauge", *asked], capture_output=True, text=True, check=True
    ).stdout
    assert ESCAPE not in piped
    assert CODES.sub("", plain) == piped


def test_without_rich_the_text_is_the_same(folder):
    asked = words((0, 11), "--metrics", "mae_within,uno")
    hidden = folder / "hidden"
    hidden.mkdir(exist_ok=True)
    (hidden / "rich.py").write_text("raise ImportError\n")
    path = os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", "")])
    shown = in_a_terminal(*asked, PYTHONPATH=path)
    assert ESCAPE not in shown
    assert "mae_within" in shown


def test_a_name_cannot_steer_the_terminal(folder):
    pytest.importorskip("rich")
    shown = in_a_terminal(*words((0,), "--pred", f"{ESCAPE}[2J[red]x=m11.csv"))
    assert "\\x1b[2J[red]x" in shown
    assert f"{ESCAPE}[2J" not in shown


def test_twelve_models_are_rows(folder, capsys):
    shown = printed(capsys, *words(range(12)))
    lines = shown.rstrip("\n").split("\n")
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 40
    rows = [line.split()[0] for line in lines if re.match(r"m\d+ +\d", line)]
    assert sorted(rows) == sorted(f"m{k}" for k in range(12))
    # The best by the first metric is on top.
    errors = [float(line.split()[1]) for line in lines if re.match(r"m\d+ +\d", line)]
    assert errors == sorted(errors)


def test_more_models_than_a_screen_are_counted(folder, capsys):
    names = [f"{k}{'x' * 60}" for k in range(23)]
    named = [word for name in names for word in ("--pred", f"{name}=m{names.index(name) % 11}.csv")]
    outcomes = ["--test", "test.csv", "--train", "train.csv"]
    shown = printed(capsys, "evaluate", *outcomes, *named, "--metrics", "mae_within,uno")
    assert "\n3 more models: --all\n" in shown
    table = [line for line in shown.split("\n") if "xxx... " in line]
    assert len(table) == 20
    assert max(map(len, table)) <= 80


def test_a_wide_screen_has_a_line_per_metric(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    shown = printed(capsys, *words((0, 3, 11)))
    assert re.search(r"MAE within the horizon .*\d \[[\d.]+, [\d.]+\]", shown)
    assert max(map(len, shown.split("\n"))) <= 160


def test_everything_ends_with_the_verdict(folder, capsys):
    shown = printed(capsys, *words(range(12), "--all"))
    lines = shown.rstrip("\n").split("\n")
    assert max(map(len, lines)) <= 80
    verdict = printed(capsys, *words(range(12))).partition("\n\n")[0]
    assert shown.rstrip("\n").endswith(f"Verdict\n{verdict}")
    assert shown.count(verdict) == 1
    for part in (
        "Metrics with 95 % intervals",
        "\nDifferences of",
        "\nSupport\n",
        "km_calibration",
    ):
        assert part in shown
    # Tables are cut into parts that fit, each with the names of the metrics.
    assert len(re.findall(r"^.*mae_within .*\[", shown, flags=re.MULTILINE)) > 2


def test_times_that_were_asked_for_are_on_the_screen(folder, capsys):
    shown = printed(capsys, *words((0, 3, 9, 11), "--time", "200,400", "--unit", "days"))
    for metric in ("brier", "auc", "ici"):
        assert len(re.findall(rf"\b{metric}(?= )|\b{metric}$", shown, flags=re.MULTILINE)) == 2
    assert shown.count("at 200") == shown.count("at 400") == 3
    many = printed(capsys, *words((0, 3), "--time", "100,200,300,400"))
    assert all(many.count(f"at {time}00") == 2 for time in (1, 2, 3, 4))
    assert "ICI" not in many


def test_columns_of_groups_may_stand_between_commas(folder, capsys):
    metrics = ["--metrics", "mae_within"]
    head, *rows = (folder / "test.csv").read_text().splitlines()
    rows = [f"{row},{k % 2},{k % 2}" for k, row in enumerate(rows)]
    (folder / "more.csv").write_text("\n".join([f'{head},arm,"a,b"', *rows]) + "\n")
    given = words((0, 3), *metrics, "--test", "more.csv")
    comma = printed(capsys, *given, "--by", "site,arm")
    assert comma == printed(capsys, *given, "--by", "site", "--by", "arm")
    assert "site=north" in comma
    assert "arm=1" in comma
    assert "between groups of a,b (p" in " ".join(printed(capsys, *given, "--by", "a,b").split())
    assert main([*given, "--by", "site,site"]) == 2
    assert "--by must name each column once; got site, site" in capsys.readouterr().err


def test_groups_have_rows(folder, capsys):
    shown = printed(capsys, *words((0, 3, 9, 11), "--by", "site"))
    assert max(map(len, shown.split("\n"))) <= 80
    # Everybody together comes first, and groups come below.
    assert shown.index("Metrics with 95 % intervals") < shown.index(" in 3 groups; best: ")
    assert "no clear difference" in shown.split("\n")[0]
    for site in ("east", "north", "south"):
        row = rf"^{site} +\d+ +\d+( +[\d.]+\*?){{4}}$"
        [line] = [line for line in shown.split("\n") if re.match(row, line)]
        assert line.count("*") == 1
    best = r"^MAE within the horizon up to [\d.]+ in 3 groups; best: m\d+ in \d"
    assert re.search(best, shown, flags=re.MULTILINE)
    two = printed(capsys, *words((0, 3), "--by", "site"))
    assert re.search(r"^east .*\d \[[\d.]+, [\d.]+\]", two, flags=re.MULTILINE)


def test_groups_that_differ_are_named(folder, capsys):
    rows = np.loadtxt("test.csv", delimiter=",", skiprows=1, usecols=(0, 1))
    off = np.abs(rows[:, 0] - np.loadtxt("m11.csv", skiprows=1))
    halves = np.where(off > np.median(off), "far", "near")
    listed = [[*row, half] for row, half in zip(rows, halves, strict=True)]
    save(folder / "halves.csv", ["time", "event", "half"], listed)
    arguments = words((11,), "--by", "half", "--metrics", "mae_within", "--test", "halves.csv")
    shown = " ".join(printed(capsys, *arguments).split())
    assert re.search(r"differs between groups of half \(p [<=] .*\(near\) to .*\(far\)", shown)


def test_many_groups_are_cut(folder, capsys):
    rows = np.loadtxt("test.csv", delimiter=",", skiprows=1, usecols=(0, 1))
    save(folder / "many.csv", ["time", "event", "site"],
         [[*row, f"site{k % 20:02d}"] for k, row in enumerate(rows)])  # fmt: skip
    arguments = words((0,), "--by", "site", "--metrics", "mae_hinge", "--test", "many.csv")
    assert "\n8 smaller groups: --all\n" in printed(capsys, *arguments)


def test_chosen_metrics_are_shown_as_they_are_named(folder, capsys):
    shown = printed(capsys, *words((0, 3), "--metrics", "uno,brier,mae_po"))
    places = [shown.index(f"\n{name}") for name in ("uno ", "brier ", "mae_po ")]
    assert places == sorted(places)
    shown = printed(capsys, *words((0, 3), "--metrics", "uno", "--no-intervals"))
    assert "intervals;" not in shown


def test_the_first_warnings_are_told(folder, capsys):
    save(folder / "negative.csv", ["time"], -np.ones((N, 1)))
    arguments = words((0, 3), "--pred", "odd=negative.csv")
    arguments = [word for word in arguments if word not in ("--train", "train.csv")]
    shown = printed(capsys, *arguments)
    listed = shown.partition("Warnings (")[2].partition("\n\n")[0].split("\n")
    assert re.match(r"1 of \d+\)", listed[0])
    assert sum(line.startswith("  [") for line in listed) == 1
    assert all(len(line) <= 80 for line in listed)
    whole = printed(capsys, *arguments, "--all")
    assert "[negative-times] mae_po (odd): 80 of the predicted times are" in whole
    assert "[in-sample-reference] no training outcomes were given" in whole


def test_no_warning_is_told_too(folder, capsys):
    shown = printed(capsys, *words((0,), "--metrics", "harrell"))
    assert "no warnings" in shown
    assert "Warnings (" not in shown


def test_an_audit_has_a_first_screen(folder, capsys):
    asked = words((0, 9, 11), "--draws", "20", "--tau", "600", command="audit")
    shown = printed(capsys, *asked)
    lines = shown.rstrip("\n").split("\n")
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Recommended: ")
    assert "more metrics: --all" in shown
    assert "scenario by scenario" not in shown
    whole = printed(capsys, *asked, "--all")
    assert "scenario by scenario" in whole
    assert max(map(len, whole.split("\n"))) <= 80
    head = whole.partition("\n\n")[0]
    assert whole.rstrip("\n").endswith(head)


def test_a_report_is_named_last(folder, capsys):
    shown = printed(capsys, *words((0,), "--metrics", "mae_hinge", "--html", "page.html"))
    assert shown.endswith("\nReport: page.html\n")
    assert "--html FILE" not in shown
    assert "--html FILE" in printed(capsys, *words((0,), "--metrics", "mae_hinge"))
    assert Path("page.html").is_file()
