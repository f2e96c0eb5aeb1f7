"""Compiled loops of the direct 0-1 loss methods."""
