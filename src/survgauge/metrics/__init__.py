"""Metrics: arithmetic on validated outcomes and predictions."""
