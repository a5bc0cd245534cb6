"""The command line: one file per command."""

from .main import main

__all__ = ["main"]
