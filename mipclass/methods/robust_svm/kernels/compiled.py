"""The decorator of kernels that only other kernels call."""

from __future__ import annotations

from ....kernels.decorator import njit

# Without the two wrappers through which Python or C would call the function. They unpack every array of every argument, and
# compiling them takes longer than compiling a small kernel. Such a kernel must not be called from Python.
inner_kernel = njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
