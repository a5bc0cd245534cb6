"""survgauge: measuring survival models in the units people care about."""
