"""What comes in: outcomes, curves, predictions and files, validated once."""
