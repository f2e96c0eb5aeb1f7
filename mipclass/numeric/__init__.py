"""Numerical building blocks that several families of methods share."""
