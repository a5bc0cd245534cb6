"""Scenarios with known truth: datasets, drawn censoring, models, and grids of experiments."""
