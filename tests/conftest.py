"""Settings shared by all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# Results have the same date, so that they can be compared.
os.environ["SOURCE_DATE_EPOCH"] = "1700000000"
# No test fails because the machine was busy.
settings.register_profile("here", deadline=None)
settings.load_profile("here")
# In CI the same examples every time, so that a change is judged by what it changes; elsewhere new
# ones on every run, so that rare cases are found.
settings.register_profile("ci", derandomize=True, deadline=None)
# On other versions of the dependencies the question is whether the code runs there at all.
settings.register_profile("few", derandomize=True, deadline=None, max_examples=20)
#: Only NumPy and SciPy are installed (tests/versions.sh).
BASE_ONLY = os.environ.get("SURVGAUGE_TESTS") == "base"
if BASE_ONLY:
    settings.load_profile("few")
elif os.environ.get("CI"):
    settings.load_profile("ci")


def _skip_without_extra():
    """Skip a test that asks for an extra, where none is meant to be installed."""
    try:
        return (yield)
    except ImportError as error:
        if not BASE_ONLY:
            raise
        pytest.skip(str(error))


@pytest.fixture
def registry():
    """Metrics and methods as they were, after the test."""
    from survgauge.estimators.surrogates import METHODS
    from survgauge.metrics.registry import REGISTRY

    saved = dict(REGISTRY), dict(METHODS)
    yield
    for known, before in zip((REGISTRY, METHODS), saved, strict=True):
        known.clear()
        known.update(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from _skip_without_extra())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _skip_without_extra())
