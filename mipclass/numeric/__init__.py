"""Numerical building blocks that several families of methods share: vectors, Cholesky factors, hashes, random streams."""
