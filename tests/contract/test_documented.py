"""Everything public is documented: signatures, metrics, warnings, options of the command line."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import survgauge as sg
from survgauge.cli.main import _parser
from survgauge.evaluation.warning_kinds import KINDS, REASONS
from survgauge.evaluation.warnings import WEIGHTS

pytest.importorskip("sklearn", reason="the preprocessor is public and needs scikit-learn")

ROOT = Path(__file__).parents[2]
SOURCE = Path(sg.__file__).parent
DOCS = ROOT / "docs"
FUNCTIONS = [n for n in sg.__all__ if inspect.isroutine(getattr(sg, n, None))]
CLASSES = [
    n
    for n in sg.__all__
    if inspect.isclass(getattr(sg, n, None)) and not issubclass(getattr(sg, n), Exception)
]


def section(doc, title):
    """Text of a section of a numpydoc docstring."""
    lines = inspect.cleandoc(doc).splitlines()
    for k, line in enumerate(lines[:-1]):
        if line == title and set(lines[k + 1]) == {"-"}:
            rest = lines[k + 2 :]
            ends = (j for j in range(1, len(rest)) if rest[j] and set(rest[j]) == {"-"})
            return "\n".join(rest[: next(ends, len(rest) + 1) - 1])
    return None


def described(doc, titles=("Parameters",)):
    """Names that the sections describe."""
    text = "\n".join(section(doc, title) or "" for title in titles)
    heads = [line for line in text.splitlines() if line and not line.startswith(" ")]
    return {n.strip().lstrip("*") for head in heads for n in head.split(" : ")[0].split(",")}


def test_sections_are_read_as_meant():
    parameters = "Parameters\n----------\na, b : int\n    Two.\n**more\n    Rest.\n"
    doc = f"Head.\n\n{parameters}\nNotes\n-----\nx : y"
    assert described(doc) == {"a", "b", "more"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_public_function_is_described(name):
    function = getattr(sg, name)
    wanted = set(inspect.signature(function).parameters)
    assert function.__doc__
    assert wanted - described(function.__doc__) == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_public_function_describes_a_parameter_that_it_does_not_have(name):
    function = getattr(sg, name)
    assert described(function.__doc__) - set(inspect.signature(function).parameters) - {""} == set()


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_class_says_what_it_is_and_what_it_holds(name):
    found = getattr(sg, name)
    assert found.__doc__
    assert not found.__doc__.startswith(f"{name}(")  # what dataclasses write by themselves
    titles = ("Parameters", "Attributes")
    if inspect.signature(found).parameters:
        assert described(found.__doc__, titles) - {""}, "neither Parameters nor Attributes"


# -- warnings -----------------------------------------------------------------------------------


def calls_of(name):
    """Every call of that name in the source: (file, node)."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", None))
                if called == name:
                    yield path, node


def literal(node):
    """Text of a constant; the source of anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}, set()
    if isinstance(node, ast.IfExp):
        (a, b), (c, d) = literal(node.body), literal(node.orelse)
        return a | c, b | d
    return set(), {ast.unparse(node)}


@cache
def emitted():
    """Codes that the source can emit, and codes that are no constants there."""
    codes, others = set(), set()
    for _, node in [*calls_of("warned"), *calls_of("warn_of")]:
        code = node.args[0] if node.args else {k.arg: k.value for k in node.keywords}["code"]
        found = literal(code)
        codes |= found[0]
        others |= found[1]
    return codes | set(REASONS), others


def test_codes_of_warnings_are_constants_that_this_test_can_find():
    # `code` is the argument of `warn_of`, whose calls are read too; the reasons have a table.
    assert emitted()[1] == {"code", "task.horizon_reason"}


@pytest.mark.parametrize("code", sorted(emitted()[0]))
def test_every_warning_has_a_sentence_and_its_advice_stands_in_the_docs(code):
    kind = KINDS[code]
    assert kind.sentence
    assert kind.weight in WEIGHTS
    if DOCS.exists():
        page = (DOCS / "explanation" / "warnings.md").read_text(encoding="utf-8")
        [row] = [line for line in page.split("\n") if line.startswith(f"| `{code}` |")]
        assert row.split("|")[3].strip() == f"{kind.advice[0].upper()}{kind.advice[1:]}."


def test_nothing_but_the_table_makes_sentences_of_warnings():
    made = {path.name for path, _ in calls_of("EvaluationWarning")}
    assert made == {"warning_kinds.py"}


def test_no_kind_of_warning_is_never_given():
    assert set(KINDS) == emitted()[0]


# -- command line -------------------------------------------------------------------------------


def options():
    """(command, option) of everything that the command line takes."""
    commands = next(a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    for command, parser in commands.choices.items():
        for action in parser._actions:
            if not isinstance(action, argparse._SubParsersAction):
                yield command, action


@pytest.mark.parametrize(
    ("command", "action"), [pytest.param(c, a, id=f"{c} {a.dest}") for c, a in options()]
)
def test_every_option_of_the_command_line_says_what_it_does(command, action):
    assert action.help
    assert action.help is not argparse.SUPPRESS


def test_every_command_has_its_help_in_the_docs():
    if not DOCS.exists():
        pytest.skip("no docs beside these tests")
    page = (DOCS / "api" / "command_line.rst").read_text(encoding="utf-8")
    shown = set(re.findall(r"^   usage: survgauge ([a-z]+)", page, re.MULTILINE))
    assert shown == {command for command, _ in options()}
