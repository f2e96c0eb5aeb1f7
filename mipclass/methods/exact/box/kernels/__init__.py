"""Compiled loops of the search over boxes."""
