"""Reformulations of programs: one a file, forward and back together, and the chain that joins them."""
