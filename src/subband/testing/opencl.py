"""Whether kernels can be tested with OpenCL on this machine; ``python -m subband.testing.opencl`` says why not."""

from __future__ import annotations

import sys

from subband.errors import SubbandError

__all__ = ["find_opencl_fault"]

_KERNEL = "__kernel void sweep(__global float *x) { x[get_global_id(0)] = 1; }"


def find_opencl_fault() -> str:
    """Return why the first OpenCL device does not compile a kernel; nothing if it does."""
    from subband.engines.opencl import OpenCLDevice, list_devices

    try:
        OpenCLDevice(list_devices()[0]).compile(_KERNEL)
    except SubbandError as error:
        return str(error).partition("\n")[0]
    return ""


if __name__ == "__main__":
    sys.exit(find_opencl_fault() or 0)
