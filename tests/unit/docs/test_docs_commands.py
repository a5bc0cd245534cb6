"""Commands on pages (```console) print what the page says, after the page's Python has run."""

from __future__ import annotations

import doctest
import re
import shlex
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytest.importorskip("lifelines")

from docs_files import write_files

from survgauge.cli.main import main

DOCS = Path(__file__).parents[3] / "docs"
if not DOCS.is_dir():
    pytest.skip("the pages are not in a source distribution", allow_module_level=True)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
#: Commands that a page shows but that need more than a machine of its own.
ELSEWHERE = ("pip", "make", "dask", "export", "sbatch", "srun", "cat", "git", "cd", "python")


def commands(text: str) -> list[tuple[list[str], str]]:
    """Return the commands of a page, split into words, each with the output that is shown."""
    found = []
    for block in CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            found.append((shlex.split(line), output))
    return found


PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "_build" not in page.parts]
WITH_COMMANDS = [page for page in PAGES if commands(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_commands_print_what_the_page_shows(page, tmp_path, monkeypatch, capsys):
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    write_files(page, tmp_path)
    python = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(python)
    for words, shown in commands(text):
        if words[0] in ELSEWHERE:
            continue
        assert words[0] == "survgauge"
        capsys.readouterr()
        status = main(words[1:])
        printed = capsys.readouterr()
        assert status == 0, printed.err
        if shown:
            assert doctest.OutputChecker().check_output(shown, printed.out, FLAGS), printed.out


def test_the_page_of_the_command_line_is_what_help_prints():
    spec = spec_from_file_location("command_line", DOCS / "scripts" / "command_line.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    written = module.PAGE.read_text(encoding="utf-8")
    # Versions of Python break the lines of their help differently.
    assert written.split() == module.page().split(), "run python docs/scripts/command_line.py"
