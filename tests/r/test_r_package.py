"""The R package in r/survgauge: its numbers are those of Python, and its page's code runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import survgauge as sg

pd = pytest.importorskip("pandas")

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "r" / "survgauge"
RSCRIPT = shutil.which("Rscript")
if RSCRIPT is None or not PACKAGE.is_dir():
    pytest.skip("Rscript or the R package is not here", allow_module_level=True)

#: Rounding of sums; the files have every digit.
SAME = 1e-10
GRID = np.array([0.0, 0.1, 1 / 3, 1, 2.5, 4, 7])


@pytest.fixture(scope="module")
def run_r(tmp_path_factory):
    """Run R code with the package and the command of these sources; return its folder."""
    library = tmp_path_factory.mktemp("library")
    needs = 'for (p in c("jsonlite", "survival")) if (!requireNamespace(p)) quit(status = 3)'
    if subprocess.run([RSCRIPT, "-e", needs], capture_output=True).returncode:
        pytest.skip("the R packages jsonlite and survival are not installed")
    install = ["R", "CMD", "INSTALL", "--no-docs", f"--library={library}", str(PACKAGE)]
    subprocess.run(install, check=True, capture_output=True)
    known = os.environ.get("PYTHONPATH", "")
    paths = [str(ROOT / "src"), *filter(None, [known])]
    environment = os.environ | {"R_LIBS": str(library), "PYTHONPATH": os.pathsep.join(paths)}
    command = f'options(survgauge.command = c("{sys.executable}", "-m", "survgauge"))\n'

    def run(code, folder):
        script = folder / "script.R"
        script.write_text(f"{command}library(survgauge); library(survival)\n{code}")
        found = subprocess.run(
            [RSCRIPT, script.name], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert found.returncode == 0, found.stderr
        return found.stdout

    return run


def draw(n, seed):
    """Times, causes (0: censored) and a covariate of subjects."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    event, lost = rng.exponential(3 * np.exp(-x)), rng.uniform(0.5, 8, n)
    cause = np.where(event <= lost, rng.integers(1, 3, n), 0)
    return pd.DataFrame({"time": np.minimum(event, lost), "cause": cause, "x": x})


def same_rows(path, ev, columns=("value", "low", "high", "stderr")):
    """Compare the metrics of R with the rows of an evaluation; return how many values."""
    table = pd.read_csv(path, float_precision="round_trip").astype(object).to_dict("records")
    ours = {(r["model"], r["metric"], r["time"]): r for r in ev.rows()}
    assert len(table) == len(ours) > 0
    compared = 0
    for row in table:
        key = row["model"], row["metric"], None if np.isnan(row["time"]) else row["time"]
        for name in columns:
            mine = np.nan if ours[key][name] is None else ours[key][name]
            assert row[name] == pytest.approx(mine, rel=SAME, abs=SAME, nan_ok=True), (key, name)
            compared += bool(np.isfinite(mine))
    return compared


def write(folder, **tables):
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, float_format="%.17g")


READ = """
test <- read.csv("test.csv"); train <- read.csv("train.csv")
matrix_of <- function(path) as.matrix(read.csv(path, check.names = FALSE))
save <- function(ev) survgauge:::write_table(ev$metrics, "r.csv")
"""


def test_one_kind_of_event_by_r_and_by_python(run_r, tmp_path):
    train, test = draw(150, 1), draw(120, 2)
    survival = np.exp(-GRID / 3 * np.exp(test["x"].to_numpy())[:, None])
    a = pd.DataFrame(survival, columns=GRID)
    b = pd.DataFrame(survival**0.7, columns=GRID)
    site = np.arange(len(test)) // 6
    write(tmp_path, test=test, train=train, a=a, b=b)
    code = f"""{READ}
    save(sg_evaluate(
      list(a = matrix_of("a.csv"), b = matrix_of("b.csv"), t = 3 * exp(-test$x)),
      Surv(test$time, test$cause > 0), train = Surv(train$time, train$cause > 0), tau = 5,
      time = c(1, 1 / 3), cluster = (seq_along(test$x) - 1) %/% 6, report = NULL,
      interpolation = c(b = "step"), folder = "files"
    ))"""
    run_r(code, tmp_path)
    ev = sg.evaluate(
        {
            "a": sg.SurvivalCurves(GRID, a),
            "b": sg.SurvivalCurves(GRID, b, "step"),
            "t": 3 * np.exp(-test["x"].to_numpy()),
        },
        (test["time"], test["cause"] > 0),
        y_train=(train["time"], train["cause"] > 0),
        tau=5,
        time=[1, 1 / 3],
        cluster=site,
    )
    assert same_rows(tmp_path / "r.csv", ev) > 150
    # What R wrote is what Python has, to the last digit.
    written = pd.read_csv(tmp_path / "files" / "test.csv", float_precision="round_trip")
    np.testing.assert_array_equal(written["time"], test["time"])


def test_several_causes_by_r_and_by_python(run_r, tmp_path):
    train, test = draw(150, 3), draw(120, 4)
    event = 1 - np.exp(-GRID / 3 * np.exp(test["x"].to_numpy())[:, None])
    parts = {"relapse": 0.5 * event, "death": 0.4 * event}
    frames = {name: pd.DataFrame(values, columns=GRID) for name, values in parts.items()}
    write(tmp_path, test=test, train=train, **frames)
    code = f"""{READ}
    outcome <- function(d) Surv(d$time, factor(d$cause, 0:2, c("alive", "relapse", "death")))
    save(sg_evaluate(
      list(m = list(death = matrix_of("death.csv"), relapse = matrix_of("relapse.csv"))),
      outcome(test), train = outcome(train), cause = "death", time = 2, tau = 5, report = NULL
    ))"""
    run_r(code, tmp_path)
    causes = list(parts)
    ev = sg.evaluate(
        {"m": sg.IncidenceCurves(GRID, np.stack(list(parts.values()), axis=1), causes=causes)},
        sg.Outcomes(test["time"], test["cause"], causes=causes),
        y_train=sg.Outcomes(train["time"], train["cause"], causes=causes),
        cause="death",
        time=2,
        tau=5,
    )
    assert same_rows(tmp_path / "r.csv", ev) > 40


def test_an_error_has_the_sentence_of_python(run_r, tmp_path):
    test = draw(20, 5)
    write(tmp_path, test=test, train=test)
    code = f"""{READ}
    found <- tryCatch(
      sg_evaluate(list(a = test$x^2), Surv(test$time, test$cause > 0), metrics = "mae_witin"),
      survgauge_error = conditionMessage
    )
    cat(found)"""
    with pytest.raises(sg.InputError) as error:
        sg.evaluate(test["x"] ** 2, (test["time"], test["cause"] > 0), metrics=["mae_witin"])
    told = run_r(code, tmp_path)
    assert "mae_within" in told
    assert told.split("; ")[0] == str(error.value).split("; ")[0]


def test_the_code_of_the_page_prints_what_it_shows(run_r, tmp_path):
    text = (ROOT / "docs" / "howto" / "csv.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```r\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    code = "\n".join(block for block in blocks if not block.startswith("install"))
    printed = run_r("options(width = 100)\n" + code, tmp_path)
    shown = re.findall(r"^#> ?(.*)$", code, re.MULTILINE)
    assert len(shown) > 10
    for line in shown:
        if line != "...":
            assert line.rstrip() in printed
