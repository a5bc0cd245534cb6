"""Errors in the unit of time."""
