"""Device source: one text for CUDA and OpenCL, rendered from plans.

Nothing here touches a device: a specification goes in, text comes out, and what the text needs to know of sizes and
borders is a table of numbers. `subband.engines.device_engine` compiles and launches it.
"""

from subband.kernels.dialects import CUDA, DIALECTS, OPENCL, Dialect
from subband.kernels.sweep import SweepSpec, render_sweep

__all__ = ["CUDA", "DIALECTS", "OPENCL", "Dialect", "SweepSpec", "render_sweep"]
