"""Algorithms of other authors that the studies compare with, written here or called through their package."""
