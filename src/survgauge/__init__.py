"""survgauge: measuring survival models in days, not only in C-indices.

Names are loaded when first used, so that ``import survgauge`` costs no more than NumPy. The names
stand in ``__init__.pyi``, which editors and type checkers read too.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from importlib.resources import files
from typing import Any

from ._old_names import NAMES, OldModules, old_name

__version__ = "0.2.0"


def _public_names() -> dict[str, str]:
    """Home of each public name, relative to the package."""
    stub = ast.parse((files(__name__) / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


_HOME_OF = _public_names()

__all__ = [*sorted(_HOME_OF), "__version__"]

# First: a package that moved would else load its modules a second time by its path.
sys.meta_path.insert(0, OldModules())


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return old_name(name)
    if name not in _HOME_OF:
        raise AttributeError(f"module 'survgauge' has no attribute {name!r}")
    home = import_module(f".{_HOME_OF[name]}", __name__)
    try:
        value = getattr(home, name)
    except AttributeError:  # a module of that package
        value = import_module(f"{home.__name__}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
