"""The records of all metrics, one module per family."""
