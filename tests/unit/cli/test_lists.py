"""Lists with their totals and filters, names that are nearly right, and the help."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys

import pytest

import survgauge as sg
from survgauge.cli.main import _parser, main
from survgauge.cli.options import COMMANDS, OPTIONS
from survgauge.metrics.registry import REGISTRY


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def printed(capsys, *words):
    capsys.readouterr()
    assert main(list(words)) == 0
    return capsys.readouterr().out


def refusal(capsys, *words):
    capsys.readouterr()
    assert main(list(words)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def names(text):
    lines = text.split("\n")
    start = next(k for k, line in enumerate(lines) if line.startswith("---")) + 1
    return [line.split()[0] for line in lines[start : lines.index("", start)] if line[:1] != " "]


@pytest.mark.parametrize("command", ["metrics", "models", "datasets"])
def test_lists_fit_and_have_totals(capsys, command):
    shown = printed(capsys, command)
    total = {"metrics": len(REGISTRY), "models": len(sg.models.available()),
             "datasets": len(sg.datasets.available())}[command]  # fmt: skip
    assert re.search(rf"^{total} (metrics|models|datasets)", shown, flags=re.MULTILINE)
    assert len(names(shown)) == total
    assert max(map(len, shown.split("\n"))) <= 80
    assert len(json.loads(printed(capsys, command, "--json"))) == total


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("metrics", "c-index"), {"harrell", "uno"}),
        (("metrics", "Brier-Score"), {"brier", "ibs", "brier_dr", "ibs_dr"}),
        (("models", "boosting"), {"gbm_c", "gbm_tree"}),
        (("models", "torch"), {"mtlr", "deephit", "sca", "smdn"}),
        (("datasets", "--search", "GBSG2"), {"GBSG2", "lifelines_gbsg2", "sksurv_gbsg2"}),
    ],
)
def test_lists_are_filtered(capsys, words, found):
    shown = printed(capsys, *words)
    assert found <= set(names(shown))
    assert re.search(rf"^{len(names(shown))} of \d+ ", shown, flags=re.MULTILINE)
    data = json.loads(printed(capsys, *words, "--json"))
    assert {entry["name"] for entry in data} == set(names(shown))


def test_a_family_is_a_filter(capsys):
    shown = set(names(printed(capsys, "metrics", "calibration")))
    assert shown == {m.name for m in REGISTRY.values() if m.family == "calibration"}


def test_a_filter_that_finds_nothing_says_what_is_close(capsys):
    assert "is about 'cancr' (did you mean 'cancer'" in refusal(
        capsys, "datasets", "--search", "cancr"
    )
    assert f"none of the {len(sg.models.available())} models is about 'zzz'\n" in refusal(
        capsys, "models", "zzz"
    )


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("cindex", ["harrell", "uno"]),
        ("c-index", ["harrell", "uno"]),
        ("concordance", ["harrell", "uno"]),
        ("brier_score", ["brier"]),
        ("integrated_brier_score", ["ibs"]),
        ("IBS", ["ibs"]),
        ("mae-po", ["mae_po"]),
        ("mean_absolute_error", ["mae_within"]),
        ("mse", ["mse_dr"]),
        ("rmse", ["rmse_dr"]),
        ("harell", ["harrell"]),
        ("ctd", ["antolini"]),
    ],
)
def test_wrong_metrics_lead_to_the_right_ones(capsys, wrong, meant):
    with pytest.raises(sg.InputError) as error:
        sg.evaluate([1.0, 2.0], ([1, 2], [1, 1]), metrics=[wrong])
    said = str(error.value)
    assert f"got {wrong!r} (did you mean {' or '.join(map(repr, meant))}?)" in said
    assert len(said) < 200  # no list of all names
    with pytest.raises(sg.InputError, match=re.escape(f"mean {meant[0]!r}")):
        sg.scorer(wrong)


def test_scorers_take_the_name_of_the_function_that_evaluate_explains():
    with pytest.raises(sg.InputError, match=r"got 'mae' \(did you mean 'mae_within'\?\)"):
        sg.evaluate([1.0, 2.0], ([1, 2], [1, 1]), metrics=["mae"])
    assert sg.scorer("mae").metric.name == "mae_within"


def test_a_metric_of_ones_own_may_have_other_names():
    metric = sg.Metric(name="pinball_80", title="Pinball", terms=lambda task, prediction: 0.0,
                       other_names=("quantile_loss",))  # fmt: skip
    sg.register_metric(metric)
    try:
        with pytest.raises(sg.InputError, match="did you mean 'pinball_80'"):
            sg.evaluate([1.0], ([1], [1]), metrics="Quantile loss")
    finally:
        del REGISTRY["pinball_80"]
    with pytest.raises(sg.InputError, match="other_names must be a tuple"):
        sg.Metric(name="x", title="x", terms=lambda p, q: 0.0, other_names="y")


def test_models_are_known_by_their_titles(capsys):
    with pytest.raises(sg.InputError, match="did you mean 'rsf'"):
        sg.models.build("random survival forest")
    with pytest.raises(sg.InputError, match="did you mean 'coxph'"):
        sg.models.build("cox")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evalute"], "got 'evalute' (did you mean 'evaluate'?)"),
        (["evaluate", "--test", "x", "--pred", "a=b", "--hmtl", "y"], "did you mean '--html'?"),
        (["evaluate", "--test", "x", "--pred", "a=b", "--censoring", "tset"], "mean 'test'?"),
        (["evaluate", "--test", "x", "--pred", "cox=b", "--interpolation", "cx=step"], "'cox'?"),
        (["evaluate", "--test", "x", "--pred", "a=b", "word"], "unknown argument word;"),
        (["bench", "demo", "--lst"], "unknown argument --lst (did you mean '--list'?)"),
    ],
)
def test_wrong_options_lead_to_the_right_ones(capsys, words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text("time,event\n1,1\n")
    assert said in refusal(capsys, *words)


@pytest.mark.parametrize(
    "words", [[], ["evaluate"], ["audit"], ["metrics"], ["models"], ["datasets"], ["bench"]]
)
def test_help_has_examples_and_fits(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "examples:" in shown
    assert max(map(len, shown.split("\n"))) <= 84  # the usage is one line
    assert shown.count("\n") <= 55
    if words in (["evaluate"], ["audit"]):
        for group in ("files:", "what to ", "output:"):
            assert f"\n{group}" in shown
        assert "--max-bias" not in shown
        assert "--tail" not in shown
        with pytest.raises(SystemExit):
            main([*words, "--help-all"])
        assert "--tail" in capsys.readouterr().out


def test_alone_it_shows_what_it_can_do_and_one_example(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert shown.count("\n") <= 30
    assert max(map(len, shown.split("\n"))) <= 80
    assert shown.count("--test") == 1
    for command in COMMANDS:
        assert f"\n  {command:9} " in shown


def test_help_imports_nothing_that_takes_time():
    code = (
        "import sys\nfrom survgauge.cli.main import main\ntry:\n    main(['evaluate', '--help'])\n"
        "except SystemExit:\n    print(sorted({'numpy', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_words_of_the_help_are_those_of_the_registries():
    from survgauge.bench.censoring import COPULAS, KINDS
    from survgauge.data.curves import REPAIRS
    from survgauge.metrics.conventions import CONVENTIONS

    censor = COMMANDS["censor"].own
    assert censor["--type"]["choices"] == list(KINDS)
    assert censor["--copula"]["choices"] == list(COPULAS)
    assert OPTIONS["--repair"]["choices"] == [*REPAIRS, "running_maximum"]
    for name in CONVENTIONS:
        assert name == "survgauge" or name in OPTIONS["--convention"]["help"]


def _options():
    """Return every option of every command, with its help."""
    parsers = [("", _parser())]
    for command, parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += [(f"{command} {name}", one) for name, one in action.choices.items()]
            elif action.help and action.option_strings:
                yield pytest.param(action.help, id=f"{command} {action.option_strings[-1]}")


@pytest.mark.parametrize("told", list(_options()))
def test_the_help_of_an_option_says_what_it_is(told):
    # "of the bootstrap" and "(default: time)" leave out the word that matters.
    assert not told.startswith(("of ", "for ", "in ", "("))


@pytest.mark.parametrize("command", ["metrics", "models", "datasets"])
def test_lists_need_numpy_and_scipy_alone(command):
    extras = ("pandas", "sklearn", "pyarrow", "matplotlib", "lifelines", "sksurv", "torch")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({extras!r}))\n"
        f"from survgauge.cli.main import main; raise SystemExit(main([{command!r}]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert f" {command}" in found.stdout
