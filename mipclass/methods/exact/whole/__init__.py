"""Proofs of the 0-1 loss with whole-number weights: branch and bound over boxes of the lattice."""
