"""Compiled loops of the logistic family."""
