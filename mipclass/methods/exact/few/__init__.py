"""Proofs of the 0-1 loss with few features: one proof for each set of features that is not contained in another one with a proof."""
