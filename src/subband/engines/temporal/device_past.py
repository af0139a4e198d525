"""What is known after a frame of video on a device: arrays that go to the next frame, and through recorded work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["DeviceMotion", "DevicePast"]


@dataclass(frozen=True)
class DeviceMotion:
    """Where blocks were before, and what only the device knows of that.

    Attributes
    ----------
    blocks : array of float32, of shape (blocks, blocks, 2)
        As `subband.engines.temporal.motion.find_motion` has them.
    summary : array of two float32
        After the frame: the mean of the ratios, and 1 if nothing of the past was of use, else 0.
    """

    blocks: Any
    summary: Any

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What it is made of."""
        return self.blocks, self.summary


@dataclass(frozen=True)
class DevicePast:
    """What is known after a frame: averages over time, and how noisy they are."""

    planes: Any
    ratios: Any
    noise: Any
    motion: DeviceMotion

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the averages."""
        return tuple(self.planes.shape)

    @property
    def known(self) -> tuple[Any, ...]:
        """What the next frame needs of it, for `from_known`."""
        return self.planes, self.ratios, self.motion.summary

    @classmethod
    def from_known(cls, planes: Any, ratios: Any, summary: Any) -> DevicePast:
        """Put together what the next frame needs."""
        return cls(planes, ratios, None, DeviceMotion(None, summary))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What it is made of, for `from_arrays`."""
        return self.planes, self.ratios, self.noise, *self.motion.arrays

    @classmethod
    def from_arrays(cls, arrays: Sequence[Any]) -> DevicePast:
        """Put together what is known."""
        planes, ratios, noise, *motion = arrays
        return cls(planes, ratios, noise, DeviceMotion(*motion))
