"""Tests of what all compiled kernels share."""
