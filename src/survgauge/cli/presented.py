"""What a command leaves behind: files on request, and the result as text."""

from __future__ import annotations

import json
from typing import Any

from .._tools.writing import write_atomically


def present(result: Any, html: str | None, json_file: str | None, **options: Any) -> int:
    """Write a page and plain data where they are asked for, print the result; return 0.

    Plain data go to standard output, and nothing else does, where their file is ``-``. `options`
    are those of the page.
    """
    if html:
        result.to_html(html, **options)
    text = json.dumps(result.to_dict(), indent=2)
    if json_file == "-":
        print(text)
        return 0
    if json_file:
        write_atomically(json_file, text + "\n")
    print(result)
    if html:
        print(f"\nReport: {html}")
    return 0
