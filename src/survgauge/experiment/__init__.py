"""Experiments on data whose truth is known: does a metric rank models, and is it close?"""
