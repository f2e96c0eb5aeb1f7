"""Proofs of the 0-1 loss: the searches over boxes and over infeasible subsystems, and their race."""
