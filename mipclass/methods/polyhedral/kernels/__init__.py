"""Compiled loops of the polyhedral interior point."""
