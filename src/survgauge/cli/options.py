"""Every option and every command in one table each; nothing here imports what a command needs."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

#: What the files look like, for the help of commands that read them.
FILES = """\
Outcome files (CSV or Parquet) have the columns time and event (1: event, 0: censored) and one row
per subject, or the columns lower and upper: the event lies between them (where upper is inf, it
had not been seen by lower). A prediction file has one row per subject of --test, in the same
order, and one of:
  time        one column: a predicted time
  risk        one column: a score, higher meaning sooner
  0,30,60,... curves: the header holds the times, a row the probabilities of
              being event-free at these times
Curves may also have their times in the first column and one column per subject, as the frames of
lifelines and pycox do when they are written by to_csv(); these are read as steps."""


def _risk(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be one risk between 0 and 1, such as 0.2; got {text!r}"
        ) from None


def _option(help: str, metavar: str | None = None, **more: Any) -> dict[str, Any]:
    return {"help": help, "metavar": metavar, **more}


def _flag(help: str) -> dict[str, Any]:
    return {"help": help, "action": "store_true"}


_MANY: dict[str, Any] = {"action": "append", "default": []}
_LEADERBOARD = ("tasks", "submit", "page")
_COPULAS = ("clayton", "frank", "gumbel", "gaussian")

#: What `argparse` has to know of each option that several commands share.
OPTIONS: dict[str, dict[str, Any]] = {
    # -- files --
    "--test": _option("test outcomes", "FILE", required=True),
    "--train": _option("training outcomes: the reference set (default: the test outcomes)", "FILE"),
    "--pred": _option(
        "predictions of a model; repeat for each", "NAME=FILE", action="append", required=True
    ),
    "--id": _option("column that pairs the rows of --test and of prediction files", "COLUMN"),
    "--time-column": _option("column of the times (default: time)", "COLUMN", default="time"),
    "--event-column": _option("column of the events (default: event)", "COLUMN", default="event"),
    "--event-value": _option("the value that means an event, such as dead (default: 1)", "VALUE"),
    "--weight-column": _option("column of frequencies: how many subjects a row counts", "COLUMN"),
    "--entry": _option(
        "delayed entry: column that says from when on a subject was observed (default: entry, if "
        "there is one)",
        "COLUMN",
    ),
    "--outcomes": _option(
        "what to read where a file has both time and event (right), and lower and upper (interval)",
        choices=("right", "interval"),
    ),
    "--interpolation": _option(
        "how curves are read between their times: linear, step or pchip; NAME=RULE is for one "
        "model (default: linear where a subject is a row of its file, step where it is a column)",
        "[NAME=]RULE",
        **_MANY,
    ),
    "--tail": _option(
        "how curves go on past their end: linear (default), exponential, hold or nan",
        default="linear",
    ),
    "--repair": _option(
        "how to mend curves that rise here and there, or incidence that falls (running_maximum)",
        choices=("running_minimum", "isotonic", "running_maximum"),
    ),
    # -- what to measure --
    "--metrics": _option(
        "metrics by name ('survgauge metrics' lists them), or 'study': those of a validation study",
        "A,B,...",
    ),
    "--tau": _option(
        "horizon: metrics that have one stop there; also --time, unless given", type=float
    ),
    "--threshold": _option(
        "also the net benefit of treating everybody with at least this risk, e.g. 0.2",
        "RISK",
        type=_risk,
    ),
    "--time": _option(
        "times at which these metrics are read: auc, brier, ipa, brier_dr, one_calibration, ici, "
        "calibration_slope, observed_expected, calibration_intercept, ici_cox, "
        "calibration_slope_cox and net_benefit",
        "T,...",
    ),
    "--landmark": _option(
        "evaluate those at risk at S, with times counted from S; several landmarks give a table, "
        "and --pred NAME@S=FILE predictions that were updated at S",
        "S,...",
        action="append",
    ),
    "--unit": _option("unit of time, e.g. days", "WORD", default=""),
    "--by": _option(
        "columns of --test whose groups are evaluated too", "COLUMN,...", action="append"
    ),
    "--confidence": _option("level of the intervals (default: 0.95)", type=float, default=0.95),
    "--no-intervals": _flag("values only, which is faster"),
    "--seed": _option("seed: the same gives the same (default: 0)", type=int, default=0),
    # -- who the subjects are --
    "--sample-weight": _option("column of --test with sampling weights", "COLUMN"),
    "--cluster": _option(
        "column of --test such as hospital or patient, for cluster-robust intervals", "COLUMN"
    ),
    "--features": _option(
        "features of the subjects: 'all' or COLUMN,... of --train and --test, or two files TRAIN "
        "TEST, for metrics that use distributions given the features. One file (of the test "
        "subjects) only tests whether censoring depends on them",
        "WHAT",
        nargs="+",
    ),
    # -- competing risks --
    "--cause": _option("competing risks: code or name of the cause to evaluate", "NAME"),
    "--causes": _option(
        "names of the causes in the order of their codes (default: 1,2,...); needed where the "
        "event column has names",
        "A,B,...",
    ),
    # -- conventions --
    "--convention": _option(
        "definitions of another source: paper, riskregression, sksurv, torchsurv, survivaleval, "
        "pycox or hazardous",
        "NAME",
    ),
    "--censoring": _option(
        "outcomes that estimate the weights 1/G (default: the convention's, test)",
        choices=("test", "train"),
    ),
    "--unweighted": _flag("estimated times of censored subjects weigh 1, not 1 - S(c)"),
    "--area": _option("area under Kaplan-Meier: step (default) or trapezoid", default="step"),
    "--normalize": _option("what ipcw_d divides by: n (default), weights or events", default="n"),
    "--floor": _option(
        "least G of the doubly robust errors (default: 0.1)", type=float, default=0.1
    ),
    # -- more data than memory --
    "--engine": _option("work on this machine (default) or on Dask", choices=("local", "dask")),
    "--scheduler": _option("address of a Dask cluster, e.g. tcp://HOST:8786", "ADDRESS"),
    "--batch-rows": _option("number of subjects that a thread scores together", "N", type=int),
    "--workers": _option("number of threads (default: one per core)", "N", type=int),
    "--grid": _option(
        "times of a model's curves, where a column holds them as lists: 0,10,20 or a CSV file with "
        "a column time",
        "NAME=TIMES",
        **_MANY,
    ),
    # -- scenarios --
    "--draws": _option(
        "number of draws for each kind of scenario (default: 200)", type=int, default=200
    ),
    "--dependence": _option(
        "Kendall's tau of dependent censoring (default: 0.2,0.5)", "A,B,...", default="0.2,0.5"
    ),
    "--copula": _option(
        "kind of dependence: clayton (default), frank or gumbel", default="clayton"
    ),
    "--max-bias": _option(
        "relative bias from which on a metric is said to be off (default: 0.15)",
        type=float,
        default=0.15,
    ),
    # -- output --
    "--all": _flag("print everything, not only the first screen"),
    "--html": _option("write a report to open in a browser", "FILE"),
    "--title": _option("heading of the report"),
    "--json": _option("write everything as JSON ('-': print it)", "FILE"),
    "--quiet": _flag("do not report progress"),
}

#: Of the groups, options that `--help` shows; `--help-all` shows the others, too.
_FIRST = (
    "--test", "--train", "--pred", "--metrics", "--time", "--tau", "--unit", "--by", "--cause",
    "--all", "--html", "--json",
)  # fmt: skip
#: Options of single commands that only `--help-all` shows.
_LATER = (
    "--figures", "--jobs", "--retry-failed", "--keep-predictions", "--engine",
    "--scheduler", "--quiet", "--overwrite", "--force", "--settings", "--tune", "--truth",
    "--repeats", "--max-rows", "--timeout",
)  # fmt: skip

#: Options by what they are about, with a description where one is needed.
_GROUPS: dict[str, tuple[str | None, str]] = {
    "files": (
        None,
        "--test --train --pred --id --time-column --event-column --event-value --weight-column "
        "--entry --outcomes --interpolation --tail --repair",
    ),
    "what to measure": (
        None,
        "--metrics --time --tau --unit --by --threshold --landmark --confidence --no-intervals "
        "--seed",
    ),
    "who the subjects are": (None, "--sample-weight --cluster --features"),
    "competing risks": (
        "The event column has 0 for censored and 1, 2, ... for the causes, or their names. A model "
        "has one file per cause: --pred cox:relapse=a.csv --pred cox:death=b.csv, with the "
        "cumulative incidence at the times in the header.",
        "--cause --causes",
    ),
    "conventions": (None, "--convention --censoring --unweighted --area --normalize --floor"),
    "more data than memory": (
        "Where --test is a folder of Parquet files, they are read in parts. --pred then names a "
        "column of these files (times, or curves as lists; prefix* where a curve has a column for "
        "each time; risk:COLUMN for scores), or another folder with the same rows. --train is "
        "required.",
        "--engine --scheduler --batch-rows --workers --grid",
    ),
    "what to audit": (
        None,
        "--metrics --tau --time --unit --sample-weight --max-bias --features",
    ),
    "scenarios": (None, "--draws --seed --dependence --copula"),
    "output": (None, "--all --html --title --json"),
}


@dataclass(frozen=True)
class Command:
    """What the shell has of a command before it imports what runs it.

    What it does, in a line and in full, and examples stand in the docstring of its module, or of
    its function where a module has several commands.
    """

    #: Module of this folder and its function.
    run: str
    usage: str | None = None
    #: Options and arguments of its own, and those that it shares.
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shared: str = ""
    groups: tuple[str, ...] = ()
    #: Other words for the help of shared options, and values of options that it does not take.
    helps: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def add_to(self, parser: Any, everything: bool) -> None:
        """Register the arguments; without `everything` the help shows only the first of them."""
        own = {**self.own, **{name: OPTIONS[name] for name in self.shared.split()}}
        for name, option in own.items():
            self._add(parser, name, option, everything or name not in _LATER)
        for title in self.groups:
            about, names = _GROUPS[title]
            group = parser.add_argument_group(title, about if everything else None)
            for name in names.split():
                self._add(group, name, OPTIONS[name], everything or name in _FIRST)
        parser.set_defaults(run=self.run, **self.defaults)

    def _add(self, group: Any, name: str, option: Mapping[str, Any], shown: bool) -> None:
        told = self.helps.get(name, option["help"]) if shown else argparse.SUPPRESS
        group.add_argument(name, **{**option, "help": told})

    def words(self, everything: bool) -> dict[str, Any]:
        """Read help, description and epilog; without `everything` with two examples at most."""
        module, _, function = self.run.partition(":")
        source = files(__package__).joinpath(f"{module}.py").read_text(encoding="utf-8")
        tree = ast.parse(source)
        own = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function]
        text = ast.get_docstring(tree if function == "run" else own[0]) or ""
        head, _, examples = text.partition("\n\nExamples\n--------\n")
        line, _, about = head.partition("\n\n")
        examples, _, after = examples.partition("\n\n")
        lines = examples.split("\n")
        if "files" in self.groups:
            about += f"\n\n{FILES}"
            starts = [k for k, line in enumerate(lines) if not line.startswith(" ")]
            if not everything:
                lines = lines[: [*starts, None, None][2]]
                after = f"More options and examples: --help-all.\n\n{after}"
        told = "\n".join(["examples:", *(f"  {line}" for line in lines), "", after])
        return {"help": line.partition(": ")[2].rstrip("."), "description": about, "epilog": told}


def _search(what: str) -> dict[str, dict[str, Any]]:
    return {
        "search": _option(f"only those of {what}", "WORD", nargs="?"),
        "--json": _flag("print the list as JSON"),
    }


COMMANDS: dict[str, Command] = {
    "evaluate": Command(
        "evaluate:run",
        "survgauge evaluate --test FILE [--train FILE] --pred NAME=FILE ... [options]",
        groups=(
            "files",
            "what to measure",
            "who the subjects are",
            "competing risks",
            "conventions",
            "output",
            "more data than memory",
        ),
        helps={"--test": "test outcomes (or a folder of Parquet files)"},
    ),
    "study": Command(
        "study:run",
        "survgauge study --test FILE [--train FILE] --pred NAME=FILE ... --out DIR [options]",
        own={
            "--out": _option("folder for all files", "DIR", required=True),
            "--overwrite": _flag("replace files of an earlier study in DIR"),
            "--reference": _option("tell differences of the others from this model", "MODEL"),
            "--describe": _option(
                "columns of --test and --train for Table 1, or 'all' (default: those of "
                "--features)",
                "COLUMN,...",
            ),
        },
        shared="--title",
        groups=(
            "files",
            "what to measure",
            "who the subjects are",
            "competing risks",
            "conventions",
        ),
        helps={"--title": "heading of the study"},
        defaults={"title": "Validation of survival models"},
    ),
    "audit": Command(
        "audit:run",
        "survgauge audit --test FILE [--train FILE] --pred NAME=FILE ... [options]",
        groups=("files", "what to audit", "scenarios", "output"),
        helps={
            "--metrics": "names of metrics (default: all time errors)",
            "--time": "times of interest of brier and auc",
            "--features": "features of the subjects: 'all' or COLUMN,... of --train and --test, or "
            "two files TRAIN TEST. They give one more scenario, and distributions given the "
            "features for metrics that support them",
        },
        defaults={"cause": None, "causes": None},
    ),
    "report": Command(
        "bench:report",
        own={
            "results": _option("folder of a run, or a JSON file", "RESULTS"),
            "--html": _option("the page to write", "FILE", required=True),
        },
        shared="--title",
        helps={"--title": "heading of the page"},
    ),
    "metrics": Command(
        "lists:list_metrics",
        own=_search("a family (time, ranking, probability, calibration), or part of a name"),
    ),
    "models": Command(
        "lists:list_models",
        own=_search("a name, a kind of model or an extra"),
    ),
    "datasets": Command(
        "lists:list_datasets",
        "survgauge datasets [--search WORD] [--json] | fetch NAME [--force] [--quiet]",
        own={
            "action": _option(
                "get the dataset NAME onto this machine", "fetch", nargs="?", choices=("fetch",)
            ),
            "name": _option("a name of the list", "NAME", nargs="?"),
            "--search": _option("only those of a name or a package", "WORD"),
            "--json": _flag("print the list as JSON"),
            "--force": _flag("download again"),
        },
        shared="--quiet",
    ),
    "censor": Command(
        "censor:run",
        own={
            "--data": _option("CSV or Parquet to read", "FILE", required=True),
            "--type": _option(
                "how censoring is drawn",
                required=True,
                choices=(
                    "uniform",
                    "uniform_admin",
                    "exponential",
                    "original_independent",
                    "original_dependent",
                    "feature_dependent",
                    "external",
                ),
            ),
            "--out": _option("CSV or Parquet to write", "FILE", required=True),
            "--external": _option("outcomes to draw from (external)", "FILE"),
            "--rate": _option("target share of censored subjects", type=float),
            "--kendall-tau": _option(
                "dependence of event and censoring time", type=float, default=0.0
            ),
            "--copula": _option("kind of dependence", choices=_COPULAS, default="clayton"),
            "--plot": _option("also draw before and after (PNG, SVG, PDF)", "FILE"),
        },
        shared="--seed --time-column --event-column --event-value --causes",
        helps={
            "--causes": "names of several causes in the order of their codes; the output has codes"
        },
    ),
    "bench": Command(
        "bench:run",
        own={
            "plan": _option("TOML file, or demo, paper, wide, truth; or leaderboard", "PLAN"),
            "--store": _option("folder of the run (default: bench-NAME)", "DIR"),
            "--resume": _flag("go on with the run in the store"),
            "--list": _flag("show what would run and how much, run nothing"),
            **{
                f"--{axis}": _option(f"only these {what} of the plan", "A,B,...")
                for axis, what in (
                    ("datasets", "datasets"),
                    ("censoring", "kinds of censoring"),
                    ("models", "models"),
                )
            },
            "--out": _option("also write tables (Markdown, CSV, LaTeX) and figures", "DIR"),
            "--figures": _option(
                "formats of the figures in --out: png, svg, pdf (default: png)", "A,B,..."
            ),
            "--jobs": _option("number of processes (default: one per core)", "N", type=int),
            "--retry-failed": _flag("resume, and run failed cells again"),
            "--keep-predictions": _flag("store predictions for later metrics"),
            "--all": _flag("print all tables; with --list, each cell"),
            "--settings": _option(
                "leaderboard: default, tuned-ibs, tuned-mae (default: default)", "A,B,..."
            ),
            "--tune": _option(
                "leaderboard: models that tuned settings apply to (default: all)", "A,B,..."
            ),
            "--truth": _option(
                "leaderboard: datasets that are also censored anew, or none", "A,B,..."
            ),
            "--repeats": _option(
                "leaderboard: how often folds are drawn (default: 1)", "N", type=int
            ),
            "--max-rows": _option(
                "leaderboard: most subjects of a dataset (default: 2000)", "N", type=int
            ),
            "--timeout": _option(
                "leaderboard: seconds until a fit fails (default: no limit)", "S", type=float
            ),
            "--seed": _option("leaderboard: seed (default: 0)", "N", type=int),
        },
        shared="--engine --scheduler --quiet",
        defaults={"engine": "local"},
    ),
    "leaderboard": Command(
        "leaderboard:run",
        "survgauge leaderboard tasks --out DIR | submit --name NAME --pred DIR --store DIR | "
        "page --store DIR --out DIR",
        own={
            "action": _option("what to do", "tasks|submit|page", choices=_LEADERBOARD),
            "--store": _option("folder of the run (survgauge bench leaderboard)", "DIR"),
            "--out": _option("folder to write into", "DIR"),
            "--name": _option("submit: what tables call the model", "NAME"),
            "--pred": _option("submit: folder of predictions and card.toml", "DIR"),
            "--datasets": _option("tasks: only these datasets", "A,B,..."),
            "--truth": _option("tasks: datasets that are also censored anew, or none", "A,B,..."),
            "--repeats": _option("tasks: how often folds are drawn", "N", type=int),
            "--max-rows": _option("tasks: most subjects of a dataset", "N", type=int),
            "--seed": _option("tasks: seed (default: 0)", "N", type=int),
            "--format": _option("tasks: kind of files (default: csv)", choices=("csv", "parquet")),
        },
        shared="--quiet",
    ),
}

#: Arguments that are options of the same name.
_SAME = (
    "repair", "tail", "interpolation", "landmark", "threshold", "cause", "causes", "outcomes",
    "censoring", "convention", "tau", "time",
)  # fmt: skip
#: An argument with its value in quotes, a number, or none, where a sentence names it.
_NAMED = re.compile(
    rf"(?<![\w'\"(\[-])({'|'.join(_SAME)})="
    r"(?:'(\w+)'(?: or '(\w+)')?|(\d+(?:\.\d+)?)(?![\w.])|(?=[,;) ]|$))"
)


def for_shell(text: str) -> str:
    """Name options instead of arguments, where a message tells what to give.

    >>> for_shell("pass repair='running_maximum' to mend it, or give landmark=, or tau=5")
    'pass --repair running_maximum to mend it, or give --landmark, or --tau 5'
    >>> for_shell("--pred must be NAME=FILE; got 'time=3.csv'")
    "--pred must be NAME=FILE; got 'time=3.csv'"
    """

    def option(found: re.Match[str]) -> str:
        value = found[2] or found[4]
        other = f" or {found[3]}" if found[3] else ""
        return f"--{found[1]} {value}{other}" if value else f"--{found[1]}"

    return _NAMED.sub(option, text).replace(" (--repair on the command line)", "")
