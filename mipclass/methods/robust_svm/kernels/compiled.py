"""The decorator of kernels that only other kernels call."""

from __future__ import annotations

from ....kernels.decorator import njit

# Without the two wrappers through which Python or C would call the function. They unpack every array of every argument, and
# compiling them takes longer than compiling a small kernel. Such a kernel must not be called from Python.
inner_kernel = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# The same without the test of every division for a divisor of zero.
plain_kernel = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")
# The same for kernels that are called from one place: they become part of the caller, which alone is compiled.
folded_kernel = njit(cache=True, inline="always", error_model="numpy")
