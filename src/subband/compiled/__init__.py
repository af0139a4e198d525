"""Compiled loops of the processor: found in what was compiled when the package was built, or compiled by Numba."""

from subband.compiled.kernel import Kernel, Kernels

__all__ = ["Kernel", "Kernels"]
