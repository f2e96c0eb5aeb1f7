"""Slow, obvious truths that tests compare with."""
