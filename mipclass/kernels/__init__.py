"""Numba kernels: arrays in, arrays out. They validate nothing; the boundary did."""
