"""The cases of ``subband bench gpu`` and their speed targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from subband.arrays import find_owner
from subband.bench.cases import Case, Target
from subband.engines.dispatch import engine_for
from subband.plan import LevelPlan, level_plan
from subband.wavelets import Wavelet

__all__ = ["FULL_PRECISION", "DeviceCase", "list_device_cases"]

#: What half precision is compared with: the same transform of the same samples in float32.
FULL_PRECISION = "float32"

_IMAGE, _FULL_HD, _VOLUME = (8192, 8192), (1080, 1920), (512, 512, 512)

# Wherever these peers run.
_PEERS = {"PDWT": 3.0, "ptwt": 20.0, "pytorch_wavelets": 20.0}


@dataclass(frozen=True)
class DeviceCase(Case):
    """One transform of one array on a device.

    Attributes
    ----------
    goal : Target
        What is expected of it.
    is_bare : bool
        Whether an engine is called directly, and not one of the functions that users call; one level only.

    Examples
    --------
    >>> DeviceCase((3, 1080, 1920), "cdf97", "whole", 3, axes=(1, 2)).name
    '2-D 3x1080x1920 cdf97 whole 3-level forward planar'
    """

    goal: Target = field(default_factory=Target, compare=False)
    is_bare: bool = False

    @property
    def name(self) -> str:
        """The case in one line."""
        return super().name + (" engine" if self.is_bare else "")

    @property
    def target(self) -> Target:
        """What is expected of it."""
        return self.goal

    @property
    def plan(self) -> LevelPlan:
        """The plan of the first level."""
        count = self.dimensions
        return level_plan(self.shape, self.transformed, (Wavelet(self.wavelet),) * count, (self.mode,) * count)

    def _bind_forward(self, library: Any, samples: Any) -> Callable[[], Any]:
        if self.is_bare:
            return partial(engine_for(samples).forward, self.plan, samples)
        return super()._bind_forward(library, samples)

    def _bind_inverse(self, library: Any, coefficients: Any) -> Callable[[], Any]:
        if self.is_bare:
            owner = find_owner([("bands", coefficients)])
            assert owner is not None
            return partial(engine_for(owner.sample).inverse, self.plan, coefficients)
        return super()._bind_inverse(library, coefficients)


def list_device_cases(family: str) -> tuple[DeviceCase, ...]:
    """Return every case of ``subband bench gpu``, each followed by its inverse.

    Parameters
    ----------
    family : {"cuda", "opencl"}
        The targets of OpenCL are lower, because it has no means to fetch ahead.

    Examples
    --------
    >>> print(list_device_cases("cuda")[0].target.restrict([]))
    ≥ 0.92 of copy
    >>> print(list_device_cases("opencl")[0].target)
    ≥ 0.65 of copy
    """
    cases = _list_cuda_cases() if family == "cuda" else map(_lower_target, _list_cuda_cases())
    return tuple(case for forward in cases for case in (forward, replace(forward, inverse=True)))


def _list_cuda_cases() -> Iterable[DeviceCase]:
    """List the forward cases."""
    lifting = partial(DeviceCase, wavelet="cdf97", mode="whole")
    yield lifting(_IMAGE, goal=Target(_PEERS, bandwidth=0.92), is_quick=True)
    yield lifting(_IMAGE, goal=Target(bandwidth=0.92), is_bare=True, is_quick=True)
    yield lifting(_IMAGE, level=5, goal=Target(_PEERS, seconds=0.18e-3), is_quick=True)
    yield DeviceCase(_IMAGE, "haar", goal=Target(_PEERS, bandwidth=0.95), is_quick=True)
    for wavelet in ("db5", "sym5"):
        yield DeviceCase(_IMAGE, wavelet, goal=Target(_PEERS, bandwidth=0.75), is_quick=wavelet == "db5")
    yield lifting(_IMAGE, dtype="float16", goal=Target({FULL_PRECISION: 1.75}), is_quick=True)
    yield lifting(_VOLUME, goal=Target(_PEERS, bandwidth=0.78), is_quick=True)
    frame = Target(_PEERS, seconds=0.03e-3)
    yield lifting((3, *_FULL_HD), level=3, axes=(1, 2), goal=frame, is_quick=True)
    yield lifting((*_FULL_HD, 3), level=3, axes=(0, 1), goal=frame, is_quick=True)
    for level in (1, 3):
        yield lifting(_FULL_HD, level=level, goal=Target(_PEERS))
        # what PyWavelets' functions do, with the mode that all libraries have
        yield DeviceCase(_FULL_HD, "bior4.4", "symmetric", level, goal=Target(_PEERS))


def _lower_target(case: DeviceCase) -> DeviceCase:
    """Return a case with the target for OpenCL: a part of the copy's speed, for one level of a large image."""
    is_bound_by_memory = case.shape == _IMAGE and case.level == 1 and case.dtype == "float32"
    return replace(case, goal=Target(bandwidth=0.65) if is_bound_by_memory else Target())
