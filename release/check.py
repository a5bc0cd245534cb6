"""`make release-check`: everything that a release needs, rehearsed on this machine.

Each step names itself and says in one line what failed; the others run all the same, unless they
need what it makes. `dist` has the files of the release afterwards, and `dist/licences.txt` the
licences of dependencies. The standard library is enough to run this.

    python release/check.py [--skip docs,notebooks] [--only build,metadata] [--tag v0.2.0]
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
#: Environments that are made anew for every check.
ENVIRONMENTS = ROOT / ".venv-release"
#: Versions of Python that the package supports, or that its tests run on in public.
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
#: What the examples of the README need besides NumPy and SciPy.
README_EXTRAS = "demo,word"
PERMISSIVE = re.compile(r"BSD|MIT|Apache|PSF|Python|ISC|0BSD", re.IGNORECASE)
COPYLEFT = re.compile(r"\bA?GPL|General Public", re.IGNORECASE)

#: Writes the files that the README's commands name.
EXAMPLE_FILES = """
import csv, math, random
random.seed(1)
def table(name, rows):
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows(rows)
def draw(n):
    x = [random.gauss(0, 1) for _ in range(n)]
    event = [random.expovariate(math.exp(a) / 1500) for a in x]
    end = [random.uniform(200, 3000) for _ in x]
    return x, [[min(t, c), int(t <= c)] for t, c in zip(event, end)]
for name, n in (("train", 200), ("test", 150)):
    x, rows = draw(n)
    table(name + ".csv", [["time", "event"], *rows])
grid = range(0, 3001, 100)
table("cox.csv", [grid, *([math.exp(-t * math.exp(a) / 1500) for t in grid] for a in x)])
table("lr.csv", [["time"], *([1000 * math.exp(-a)] for a in x)])
"""

SNIPPET = """
import survgauge as sg, sys
assert sys.prefix in sg.__file__, sg.__file__
y, y_train = ([2, 5, 7], [1, 0, 1]), ([1, 3, 4, 6, 9], [1, 1, 0, 1, 1])
assert round(sg.mae(y, [3, 5, 6], y_train=y_train, method="hinge"), 3) == 0.667
print(sg.__version__)
"""

LICENCES = """
from importlib.metadata import distributions
for dist in distributions():
    meta = dist.metadata
    told = meta.get("License-Expression") or ""
    classes = [c for c in meta.get_all("Classifier") or () if c.startswith("License :: ")]
    names = [c.rpartition(" :: ")[2] for c in classes if not c.endswith(":: OSI Approved")]
    free = [*(meta.get("License") or "").strip().splitlines(), "not stated"][0][:60]
    print(meta["Name"], dist.version, told or ", ".join(names) or free, sep="\\t")
"""


class Failure(Exception):  # noqa: N818
    """A step failed, for a reason that fits one line; what was printed may follow."""

    def __init__(self, reason: str, printed: str = "") -> None:
        super().__init__(reason)
        self.printed = "\n".join(printed.strip().splitlines()[-25:])


def run(words: Sequence[str | Path], what: str, **options: object) -> str:
    """Run a program; return what it prints, or fail with `what` it was meant to do."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    given: dict = {"cwd": ROOT, "env": environment, **options}
    found = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, **given
    )
    if found.returncode:
        raise Failure(f"{what} (exit status {found.returncode})", found.stdout + found.stderr)
    return found.stdout


def version() -> str:
    """Return the version of these sources."""
    text = (ROOT / "src" / "survgauge" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]


def pythons() -> dict[str, str]:
    """Return the interpreters that are here, by version: on the path, of pyenv, the running one."""
    found = {}
    ask = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for wanted in PYTHONS:
        candidates = [shutil.which(f"python{wanted}"), *sorted(home.glob(f"{wanted}.*/bin/python"))]
        for candidate in [*filter(None, candidates), sys.executable]:
            told = subprocess.run([candidate, "-c", ask], capture_output=True, text=True)
            if told.stdout.strip() == wanted:
                found[wanted] = str(candidate)
                break
    return found


def ends() -> list[str]:
    """Return the lowest and the newest version of Python here."""
    found = list(pythons())
    return list(dict.fromkeys([found[0], found[-1]]))


def environment(name: str, python: str, *install: str) -> Path:
    """Make an environment anew with packages; return the folder of its programs."""
    folder = ENVIRONMENTS / name
    shutil.rmtree(folder, ignore_errors=True)
    run([python, "-m", "venv", folder], f"no environment could be made with {python}")
    programs = programs_of(name)
    if install:
        words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *install]
        run([programs / "python", *words], f"could not install {' '.join(install)}")
    return programs


def programs_of(name: str) -> Path:
    """Return the folder of the programs of an environment."""
    return ENVIRONMENTS / name / ("Scripts" if os.name == "nt" else "bin")


def wheel() -> Path:
    """Return the wheel that was built."""
    found = sorted(DIST.glob(f"survgauge-{version()}-*.whl"))
    if not found:
        raise Failure("there is no wheel in dist: run the step build first")
    return found[-1]


# -- steps -------------------------------------------------------------------------------------


def versions() -> str:
    """Version numbers agree, workflow files are well-formed."""
    python = os.environ.get("PYTHON", sys.executable)
    run(
        [python, "-m", "pytest", "-q", "tests/contract/test_release.py"],
        "the files of a release disagree",
    )
    return f"version {version()}"


def build() -> str:
    """Sdist from the sources, wheel from the sdist."""
    shutil.rmtree(DIST, ignore_errors=True)
    tools = environment("tools", sys.executable, "build", "twine")
    run(
        [tools / "python", "-m", "build", "--outdir", DIST],
        "the sdist or the wheel could not be built",
    )
    return ", ".join(
        f"{path.name} ({path.stat().st_size // 1024} KB)" for path in sorted(DIST.iterdir())
    )


def metadata() -> str:
    """Twine accepts the metadata."""
    tools = programs_of("tools")
    files = [wheel(), *DIST.glob(f"survgauge-{version()}.tar.gz")]  # not those of another version
    told = run(
        [tools / "python", "-m", "twine", "check", "--strict", *files], "twine refuses the metadata"
    )
    if told.count("PASSED") != 2:
        raise Failure("twine did not check the sdist and the wheel", told)
    return "sdist and wheel pass twine check --strict"


def contents() -> str:
    """The wheel has the package and nothing else; the sdist has the tests too."""
    with zipfile.ZipFile(wheel()) as archive:
        names = set(archive.namelist())
    with tarfile.open(next(DIST.glob("*.tar.gz"))) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    tracked = run(["git", "ls-files", "src/survgauge"], "git does not list the sources").split()
    missing = [name for name in tracked if name.removeprefix("src/") not in names]
    if missing:
        raise Failure(f"the wheel lacks {missing[0]} and {len(missing) - 1} other files")
    foreign = [
        name for name in names if not name.startswith(("survgauge/", f"survgauge-{version()}"))
    ]
    if foreign:
        raise Failure(f"the wheel has {foreign[0]}, which is not of the package")
    wanted = {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "tests/conftest.py"}
    if not wanted <= inside:
        raise Failure(f"the sdist lacks {', '.join(sorted(wanted - inside))}")
    return f"{len(names)} files in the wheel, {len(inside)} in the sdist"


def install() -> str:
    """The wheel alone, with NumPy and SciPy, on the lowest and the newest Python."""
    told = []
    for wanted in ends():
        programs = environment(f"base-{wanted}", pythons()[wanted], str(wheel()))
        run(
            [programs / "python", "-m", "pip", "check"], f"Python {wanted}: requirements do not fit"
        )
        folder = example_folder(f"files-{wanted}")
        found = run(
            [programs / "python", "-c", SNIPPET], f"Python {wanted}: the example failed", cwd=folder
        )
        if found.strip() != version():
            raise Failure(f"Python {wanted}: the wheel is version {found.strip()}, not {version()}")
        for words in (["--version"], ["metrics"], ["evaluate", "--help"]):
            run(
                [programs / "survgauge", *words],
                f"Python {wanted}: survgauge {words[0]} failed",
                cwd=folder,
            )
        command = next(c for c in commands() if " evaluate " in c)
        run_command(command, programs, folder, f"Python {wanted}")
        listed = run(
            [programs / "python", "-m", "pip", "list", "--format=freeze"], "pip list failed"
        )
        kept = [line for line in listed.split() if line.startswith(("numpy", "scipy"))]
        told.append(f"Python {wanted} ({', '.join(kept)})")
    missing = [v for v in PYTHONS if v not in pythons()]
    return "; ".join(told) + (f"; not here: Python {', '.join(missing)}" if missing else "")


def readme() -> str:
    """The README's examples and commands, by the installed wheel."""
    told = []
    for wanted in ends():
        # The sources' constraints keep torch small; nothing else is pinned.
        programs = environment(f"readme-{wanted}", pythons()[wanted], f"{wheel()}[{README_EXTRAS}]")
        folder = example_folder(f"readme-{wanted}-files")
        shutil.copy(ROOT / "README.md", folder)
        options = ["-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS", "README.md"]
        run(
            [programs / "python", "-m", "doctest", *options],
            f"Python {wanted}: README.md prints something else",
            cwd=folder,
        )
        for command in commands():
            run_command(command, programs, folder, f"Python {wanted}")
        told.append(wanted)
    return f"examples and {len(commands())} commands on Python {' and '.join(told)}"


def commands() -> list[str]:
    """Return the commands of the README that begin with survgauge."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    found = [line for line in blocks.splitlines() if line.startswith("survgauge ")]
    if not found:
        raise Failure("the README has no command that begins with survgauge")
    return found


def run_command(command: str, programs: Path, folder: Path, where: str) -> None:
    """Run a command of the README in a folder with its files."""
    words = shlex.split(command)
    run([programs / words[0], *words[1:]], f"{where}: '{command}' failed", cwd=folder)


def example_folder(name: str) -> Path:
    """Make a folder with the files that the README's commands name."""
    folder = ENVIRONMENTS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run([sys.executable, "-c", EXAMPLE_FILES], "the example files could not be written", cwd=folder)
    return folder


def docs() -> str:
    """The pages, without a warning and with links that lead somewhere."""
    run(["make", "docs", *virtual()], "make docs failed", env=dict(os.environ))
    return "pages in docs/_build/html"


def notebooks() -> str:
    """The notebooks print what they show."""
    python = os.environ.get("PYTHON", sys.executable)
    told = run(
        [python, "-m", "pytest", "-q", "tests/notebooks"],
        "a notebook prints something else",
        env=dict(os.environ),
    )
    return told.strip().splitlines()[-1]


def virtual() -> list[str]:
    """Return the environment that make is to use."""
    return [f"VENV={os.environ['VENV']}"] if os.environ.get("VENV") else []


def licences() -> str:
    """Licences of what is installed with the wheel; those of NumPy and SciPy must be permissive."""
    wanted = ends()[-1]
    programs = programs_of(f"readme-{wanted}")
    if not programs.is_dir():
        environment(f"readme-{wanted}", pythons()[wanted], f"{wheel()}[{README_EXTRAS}]")
    found = run([programs / "python", "-c", LICENCES], "licences could not be read")
    rows = sorted(line.split("\t") for line in found.splitlines())
    text = "".join(f"{name:24} {number:14} {licence}\n" for name, number, licence in rows)
    (DIST / "licences.txt").write_text(text, encoding="utf-8")
    print(text, end="")
    by_name = {name.lower(): licence for name, _, licence in rows}
    for name in ("numpy", "scipy"):
        if not PERMISSIVE.search(by_name[name]):
            raise Failure(
                f"the licence of {name} is '{by_name[name]}', which is not known as permissive"
            )
    copyleft = [name for name, _, licence in rows if COPYLEFT.search(licence)]
    shown = f"; GPL, in extras only: {', '.join(copyleft)}" if copyleft else ""
    return f"{len(rows)} packages in dist/licences.txt{shown}"


STEPS: dict[str, Callable[[], str]] = {
    step.__name__: step
    for step in (versions, build, metadata, contents, install, readme, licences, docs, notebooks)
}


def ready_for(tag: str) -> None:
    """Fail unless the sources are those of a tag: its number, and dates instead of 'not yet'."""
    if tag != f"v{version()}":
        raise Failure(f"the tag is {tag}, and the version of the sources v{version()}")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version())} \(\d{{4}}-\d\d-\d\d\)$", changes, re.MULTILINE):
        raise Failure(f"CHANGELOG.md has no heading '## {version()} (YYYY-MM-DD)'")
    if not re.search(
        r"^date-released: ", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    ):
        raise Failure("CITATION.cff has no date-released")


def main() -> int:
    """Run the steps; return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skip", default="", help=f"steps to leave out, of {', '.join(STEPS)}")
    parser.add_argument("--only", default="", help="the only steps to run")
    parser.add_argument("--tag", help="also check that the sources are ready for this tag")
    args = parser.parse_args()
    skipped, only = (list(filter(None, re.split("[, ]", text))) for text in (args.skip, args.only))
    unknown = [name for name in [*skipped, *only] if name not in STEPS]
    if unknown:
        parser.error(f"there is no step {unknown[0]}; the steps are {', '.join(STEPS)}")
    chosen = {k: v for k, v in STEPS.items() if k not in skipped and (not only or k in only)}
    if args.tag:
        chosen = {"tag": lambda: ready_for(args.tag) or args.tag, **chosen}
    failed = []
    for name, step in chosen.items():
        began = time.monotonic()
        print(
            f"{name}: {(step.__doc__ or 'the sources are those of the tag').splitlines()[0]}",
            flush=True,
        )
        try:
            told = step()
        except (Failure, OSError) as error:
            failed.append(name)
            print(f"{getattr(error, 'printed', '')}\n{name}: FAILED: {error}", flush=True)
        else:
            print(f"{name}: ok, {told} ({time.monotonic() - began:.0f} s)", flush=True)
    left = [name for name in STEPS if name not in chosen]
    print(f"left out: {', '.join(left)}" if left else "every step ran")
    print(f"FAILED: {', '.join(failed)}" if failed else "ready")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
