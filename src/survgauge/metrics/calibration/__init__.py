"""Whether predicted probabilities are what happens."""
