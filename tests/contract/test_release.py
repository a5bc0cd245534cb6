"""The files of a release agree with each other and are well-formed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import survgauge as sg

ROOT = Path(__file__).parents[2]
if not (ROOT / ".github").is_dir():
    pytest.skip("the files of a release are not in a source distribution", allow_module_level=True)

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
YAML = [
    *WORKFLOWS,
    *sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")),
    ROOT / "conda" / "recipe.yaml",
    ROOT / "CITATION.cff",
]
#: Where the number of the version stands.
VERSIONS = {
    "CITATION.cff": r"^version: (\S+)$",
    "CHANGELOG.md": r"^## (\S+) \(",
    "conda/recipe.yaml": r'^  version: "(\S+)"$',
    "r/survgauge/DESCRIPTION": r"^Version: (\S+)$",
    "r/survgauge/NEWS.md": r"^# survgauge (\S+)$",
}
#: Hosts that these files may name.
PUBLIC = {"doi.org", "cran.r-project.org"}


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", VERSIONS)
def test_version_numbers_agree(name):
    found = re.search(VERSIONS[name], text(name), re.MULTILINE)
    assert found is not None
    assert found[1] == sg.__version__


@pytest.mark.parametrize("path", YAML, ids=lambda p: p.name)
def test_files_are_yaml(path):
    yaml = pytest.importorskip("yaml")
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_workflows_call_what_is_there(path):
    yaml = pytest.importorskip("yaml")
    targets = set(re.findall(r"^([\w-]+(?: [\w-]+)*):", text("Makefile"), re.MULTILINE))
    known = {word for line in targets for word in line.split()}
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    for job in jobs.values():
        assert job["runs-on"]
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])
        for step in job["steps"]:
            made = re.findall(r"\bmake ([\w-]+)", step.get("run", ""))
            assert set(made) <= known
            scripts = re.findall(r"\bbash (\S+)", step.get("run", ""))
            assert all((ROOT / script).is_file() for script in scripts)


def test_tests_run_on_every_system_and_python():
    yaml = pytest.importorskip("yaml")
    matrix = yaml.safe_load(text(".github/workflows/tests.yml"))["jobs"]["matrix"]["strategy"]
    assert matrix["matrix"]["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert matrix["matrix"]["python"] == [f"3.{minor}" for minor in range(10, 15)]


def test_the_recipe_needs_what_the_package_needs():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load(text("conda/recipe.yaml"))
    needed = re.search(r"^dependencies = \[(.*)\]$", text("pyproject.toml"), re.MULTILINE)[1]
    listed = [item.replace(" ", "") for item in recipe["requirements"]["run"]]
    assert listed[1:] == re.findall(r'"([^"]+)"', needed)
    python = re.search(r'^requires-python = ">=(.+)"$', text("pyproject.toml"), re.MULTILINE)[1]
    assert recipe["context"]["python_min"] == python


def test_the_changelog_for_users_is_short():
    part = re.search(r"^## .*?(?=^## )", text("CHANGELOG.md"), re.DOTALL | re.MULTILINE)[0]
    assert len(part.strip().splitlines()) <= 60


def test_the_paper_is_short_and_cites_what_its_bibliography_has():
    yaml = pytest.importorskip("yaml")
    begin, head, body = text("paper/paper.md").split("---\n", 2)
    assert begin == ""
    assert {"title", "tags", "authors", "affiliations", "date"} <= set(yaml.safe_load(head))
    assert (ROOT / "paper" / yaml.safe_load(head)["bibliography"]).is_file()
    assert len((head + body).split()) <= 1000
    cited = set(re.findall(r"@(\w+)", body))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", text("paper/paper.bib"), re.MULTILINE))


def test_no_file_of_a_release_names_a_machine_or_another_host():
    files = [
        *YAML,
        *(
            p
            for folder in ("r", "paper", "release")
            for p in (ROOT / folder).rglob("*")
            if p.is_file()
        ),
        *(ROOT / name for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "RELEASING.md")),
    ]
    for path in files:
        if path.suffix in {".gz", ".pyc"}:
            continue
        content = path.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(work|root|tmp|home)/", content), path
        assert set(re.findall(r"https?://([^/\s)\"'>]+)", content)) <= PUBLIC, path
