"""Scores of predicted probabilities: Brier, log-likelihood, CRPS."""
