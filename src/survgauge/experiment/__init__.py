"""Experiments on data whose truth is known: which metric ranks models, and which is close."""
