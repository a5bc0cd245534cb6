"""``.. command-help:: evaluate`` shows what ``survgauge evaluate --help`` prints."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class CommandHelp(SphinxDirective):
    optional_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        command = [sys.executable, "-m", "survgauge", *self.arguments, "--help"]
        environment = {**os.environ, "COLUMNS": "88", "NO_COLOR": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        block = nodes.literal_block(done.stdout, done.stdout)
        block["language"] = "text"
        return [block]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
