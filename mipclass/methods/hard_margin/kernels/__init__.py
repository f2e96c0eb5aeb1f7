"""Compiled loops of the hard-margin loss."""
