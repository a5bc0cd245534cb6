"""What is done with predicted risks: decisions by a threshold, and groups of subjects."""
