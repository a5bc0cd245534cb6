"""Files that pages show: a fenced block whose first line is ``# name.py`` is that file."""

from __future__ import annotations

import re
from pathlib import Path

BLOCK = re.compile(
    r"^```(?:python|toml)\n# (\w+\.(?:py|toml))\n(.*?)^```", re.DOTALL | re.MULTILINE
)


def write_files(page: Path, folder: Path) -> None:
    """Write the files that a page shows into a folder, for the page's own code to use."""
    for name, content in BLOCK.findall(page.read_text(encoding="utf-8")):
        (folder / name).write_text(content, encoding="utf-8")
