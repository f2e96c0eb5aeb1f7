"""Proofs of the ramp loss: trees over points whose nodes confine the rules to balls, in float64 with error bounds and in whole numbers."""
