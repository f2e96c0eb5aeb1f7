"""Compiled loops of the search over whole-number weights."""
