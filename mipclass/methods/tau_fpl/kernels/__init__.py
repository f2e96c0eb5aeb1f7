"""Compiled loops of the top-k projection and of the top-k loss."""
