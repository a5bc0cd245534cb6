"""Other packages as black boxes."""

import warnings

import pytest


def peer(name: str):
    """Import a peer, or skip: their imports warn, and ours make warnings errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)
