"""The model of a thesis of 2007: an upload, and then the longer of what is fetched and what is computed.

    T_total = T_overhead + N_upload / B_cpu + max(N_texture · O_texture / B_gpu, 4 N · O_arithmetic / R_gpu)
    speed-up = (N · O_cpu / R_cpu) / T_total

It counts every fetch as if there were no caches, one level only, and nothing for asking; `subband.bench.model` counts
what is moved and computed level by level. Here it stands to be compared with.

References
----------
Real-time wavelet filtering on the GPU, NTNU, 2007, equations 3.9 to 3.14.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["AS_CALCULATED", "PRINTED", "ClassicalModel"]


@dataclass(frozen=True)
class ClassicalModel:
    """The parameters of the equations, and their results in seconds.

    Attributes
    ----------
    elements : int
        Pixels, of four subelements each.
    upload_bandwidth, memory_bandwidth : float
        Bytes per second from the host to the device, and within it.
    arithmetic_rate : float
        Operations of the device in a second.
    arithmetic_operations, texture_operations : float
        For each element, forward and backward together.
    host_operations, host_rate : float
        For each element on the CPU, and operations of the CPU in a second.
    upload_bytes, texture_bytes, subelements : int
        Of an element.
    overhead : float
        Seconds that do not depend on the elements.

    Examples
    --------
    >>> model = ClassicalModel(512**2, 8e9, 86.4e9, 332e9, 30, 14, 240, 25e9)
    >>> f"{1e3 * model.upload:.2f} ms, {1e3 * model.computation:.2f} ms"
    '0.13 ms, 0.34 ms'
    """

    elements: int
    upload_bandwidth: float
    memory_bandwidth: float
    arithmetic_rate: float
    arithmetic_operations: float
    texture_operations: float
    host_operations: float
    host_rate: float
    upload_bytes: int = 4
    texture_bytes: int = 8
    subelements: int = 4
    overhead: float = 0.0

    @property
    def upload(self) -> float:
        """The way to the device (equation 3.11)."""
        return self.elements * self.upload_bytes / self.upload_bandwidth

    @property
    def arithmetic(self) -> float:
        """What is computed (equation 3.12)."""
        return self.subelements * self.elements * self.arithmetic_operations / self.arithmetic_rate

    @property
    def transfer(self) -> float:
        """What is fetched within the device (equation 3.12)."""
        return self.elements * self.texture_bytes * self.texture_operations / self.memory_bandwidth

    @property
    def computation(self) -> float:
        """The longer of both, as a device does both at a time."""
        return max(self.arithmetic, self.transfer)

    @property
    def ratio(self) -> float:
        """Arithmetic operations in the time of one fetch; equation 3.13 has it upside down, and its value does not."""
        return (self.texture_bytes / self.memory_bandwidth) / (self.subelements / self.arithmetic_rate)

    @property
    def total(self) -> float:
        """All on the device (equation 3.9)."""
        return self.overhead + self.upload + self.computation

    @property
    def host(self) -> float:
        """The same on the CPU (equation 3.14)."""
        return self.elements * self.host_operations / self.host_rate

    @property
    def speedup(self) -> float:
        """Times as fast as the CPU (equation 3.14)."""
        return self.host / self.total


#: The example of the thesis with the numbers that are printed: tables 3.1 to 3.3 and the text.
PRINTED = ClassicalModel(
    elements=512**2,
    upload_bandwidth=8e9,
    memory_bandwidth=86.4e9,
    arithmetic_rate=332e9,
    arithmetic_operations=30,
    texture_operations=14,
    host_operations=240,
    host_rate=25e9,
)

#: The numbers that its results follow from: 80 GB/s, and 20 operations of the CPU in a nanosecond.
AS_CALCULATED = replace(PRINTED, memory_bandwidth=80e9, host_rate=20e9)
