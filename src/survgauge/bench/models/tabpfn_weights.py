"""Where the weights of TabPFN's classifier are, and what to say when they are not there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ...errors import InputError

#: Where TabPFN keeps its weights, if not in the cache of the platform.
FOLDER_VARIABLE = "TABPFN_MODEL_CACHE_DIR"
_PATTERN = "*classifier*.ckpt"


def weights_folder() -> Path:
    """Folder in which TabPFN keeps its weights."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tabpfn"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", "~")).expanduser() / "tabpfn"
    cache = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(cache) if cache else Path.home() / ".cache") / "tabpfn"


def present_weights() -> Path | None:
    """Weights on this machine, of the newest version if there are several."""
    folder = weights_folder()
    found = sorted(folder.glob(_PATTERN)) if folder.is_dir() else []
    return found[-1] if found else None


def find_weights(path: str | os.PathLike[str] | None = None) -> Path:
    """Take the file that the user names, or the weights on this machine; nothing is downloaded."""
    if path is not None:
        named = Path(path).expanduser()
        if not named.is_file():
            raise InputError(f"weights must be a file with TabPFN's weights; {named} is none")
        return named
    found = present_weights()
    if found is None:
        raise InputError(
            f"model 'tabpfn' needs weights, and {weights_folder()} holds no {_PATTERN}; accept "
            "their licence and fetch them with TabPFN itself, then name the file (weights=...) or "
            f"its folder ({FOLDER_VARIABLE})"
        )
    return found
