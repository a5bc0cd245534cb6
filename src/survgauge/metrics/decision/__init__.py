"""Decisions by predicted risk: net benefit."""
