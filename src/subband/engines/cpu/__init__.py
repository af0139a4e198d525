"""The default engine: Numba on the CPU, everywhere.

One sweep of `subband.engines.cpu.kernels` transforms the last two axes of an array together, reading each sample
and writing each coefficient once; blocks of such sweeps do the same for the last three. Other axes are swept one by
one. Integers are swept in the order of the plan, because rounding makes the order matter: one axis after the other, or
the last two together where there is a loop for their steps.
"""

from __future__ import annotations

from subband.engines.cpu.engine import CpuEngine

__all__ = ["CpuEngine"]
