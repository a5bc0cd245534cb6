"""Run the notebooks of the documentation and keep what they print and draw.

`python docs/scripts/notebooks.py` runs all of them, or those that are named.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with new outputs; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata.pop("execution", None)  # times of the day
    language = {"name": "python", "pygments_lexer": "ipython3"}
    kernel = {"name": "python3", "display_name": "Python 3"}
    notebook.metadata = {"kernelspec": kernel, "language_info": language}
    return notebook


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """What the cells print, as text."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                found.append(output.text)
            elif "text/plain" in output.get("data", ()) and "image/png" not in output.data:
                found.append(output.data["text/plain"])
    return found


def main(names: list[str]) -> None:
    """Run notebooks and write them."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            nbformat.write(executed(path), path)


if __name__ == "__main__":
    main(sys.argv[1:])
