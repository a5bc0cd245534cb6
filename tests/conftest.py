"""Settings shared by all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# No test fails because the machine was busy.
settings.register_profile("here", deadline=None)
settings.load_profile("here")
# In CI the same examples every time, so that a change is judged by what it changes; elsewhere new
# ones on every run, so that rare cases are found.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
